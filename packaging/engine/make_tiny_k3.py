#!/usr/bin/env python3
"""Writes a small random-weight Kimi-K3 GGUF, or a set of shards, that the real llama-server loads and serves.

Architecture name, metadata keys and tensor names are the real model's: layers of linear attention (KDA) with
every fourth one MLA, a latent mixture of experts, one leading dense layer. Every dimension is small, and the
vocabulary is the 256 bytes and some control tokens, so that tokenizing, chat templates, streaming and expert
placement all work. What it says is noise.

A tensor's values depend on the seed and its name alone: two files that differ only in --expert-type are the
same model in two precisions.

Needs python3-gguf and numpy, both in the demo engine image: make_tiny_model.sh runs this file there.
"""
import argparse
import zlib
from dataclasses import dataclass
from typing import Callable, Iterator

import numpy as np
from gguf import ExpertGatingFuncType, GGMLQuantizationType, GGUFWriter, TokenType
from gguf.quants import quant_shape_to_byte_shape, quantize

ROPE_DIM = 32
Q_LORA = 96
CONV_KERNEL = 4
CONTROL_TOKENS = ("[BOS]", "[EOS]", "<|end_of_msg|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>")
BOS, END_OF_MESSAGE = 256, 258

CHAT_TEMPLATE = """\
{%- for message in messages -%}
<|{{ message['role'] }}|>
{%- if message['content'] is string -%}{{ message['content'] }}
{%- else -%}
{%- for part in message['content'] -%}{%- if part['type'] == 'text' -%}{{ part['text'] }}{%- endif -%}{%- endfor -%}
{%- endif -%}
<|end_of_msg|>
{%- endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}
"""

F32 = GGMLQuantizationType.F32
EXPERT_TYPES = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "MXFP4")


@dataclass(frozen=True)
class Tensor:
    """One tensor to write; `shape` is in numpy's order, the reverse of ggml's."""

    name: str
    shape: tuple[int, ...]
    fill: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
    kind: GGMLQuantizationType = F32


def noise(rng, shape):
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(0.05)


def ones(_rng, shape):
    return np.ones(shape, dtype=np.float32)


def decay(rng, shape):
    """KDA's per-head decay must be negative."""
    return -np.exp(rng.standard_normal(shape, dtype=np.float32))


def is_mla(layer: int) -> bool:
    return layer % 4 == 3


def mla_tensors(a) -> Iterator[Tensor]:
    yield Tensor("attn_q_a.weight", (Q_LORA, a.embd), noise)
    yield Tensor("attn_q_a_norm.weight", (Q_LORA,), ones)
    yield Tensor("attn_q_b.weight", (a.heads * (a.head_dim + ROPE_DIM), Q_LORA), noise)
    yield Tensor("attn_kv_a_mqa.weight", (a.kv_lora + ROPE_DIM, a.embd), noise)
    yield Tensor("attn_kv_a_norm.weight", (a.kv_lora,), ones)
    yield Tensor("attn_k_b.weight", (a.heads, a.kv_lora, a.head_dim), noise)
    yield Tensor("attn_v_b.weight", (a.heads, a.head_dim, a.kv_lora), noise)
    yield Tensor("attn_gate.weight", (a.heads * a.head_dim, a.embd), noise)
    yield Tensor("attn_output.weight", (a.embd, a.heads * a.head_dim), noise)


def kda_tensors(a) -> Iterator[Tensor]:
    inner = a.heads * a.head_dim
    for n in "qkv":
        yield Tensor(f"attn_{n}.weight", (inner, a.embd), noise)
        yield Tensor(f"ssm_conv1d_{n}.weight", (inner, 1, CONV_KERNEL), noise)
    yield Tensor("attn_output.weight", (a.embd, inner), noise)
    yield Tensor("ssm_f_a.weight", (a.head_dim, a.embd), noise)
    yield Tensor("ssm_f_b.weight", (inner, a.head_dim), noise)
    yield Tensor("ssm_beta.weight", (a.heads, a.embd), noise)
    yield Tensor("ssm_a", (a.heads,), decay)
    yield Tensor("ssm_dt.bias", (inner,), noise)
    yield Tensor("ssm_norm.weight", (a.head_dim,), ones)
    yield Tensor("ssm_g.weight", (inner, a.embd), noise)


def dense_tensors(a) -> Iterator[Tensor]:
    yield Tensor("ffn_gate.weight", (2 * a.ff, a.embd), noise)
    yield Tensor("ffn_up.weight", (2 * a.ff, a.embd), noise)
    yield Tensor("ffn_down.weight", (a.embd, 2 * a.ff), noise)


def expert_tensors(a) -> Iterator[Tensor]:
    kind = GGMLQuantizationType[a.expert_type]
    yield Tensor("ffn_gate_inp.weight", (a.experts, a.embd), noise)
    yield Tensor("exp_probs_b.bias", (a.experts,), noise)
    yield Tensor("ffn_routed_down.weight", (a.latent, a.embd), noise)
    yield Tensor("ffn_routed_up.weight", (a.embd, a.latent), noise)
    yield Tensor("ffn_routed_norm.weight", (a.latent,), ones)
    yield Tensor("ffn_gate_exps.weight", (a.experts, a.ff, a.latent), noise, kind)
    yield Tensor("ffn_up_exps.weight", (a.experts, a.ff, a.latent), noise, kind)
    yield Tensor("ffn_down_exps.weight", (a.experts, a.latent, a.ff), noise, kind)
    yield Tensor("ffn_gate_shexp.weight", (a.ff, a.embd), noise)
    yield Tensor("ffn_up_shexp.weight", (a.ff, a.embd), noise)
    yield Tensor("ffn_down_shexp.weight", (a.embd, a.ff), noise)


def layer_tensors(a, layer: int) -> Iterator[Tensor]:
    for n in ("attn", "ffn"):
        yield Tensor(f"{n}_norm.weight", (a.embd,), ones)
        yield Tensor(f"{n}_res_score.weight", (a.embd,), noise)
    yield from mla_tensors(a) if is_mla(layer) else kda_tensors(a)
    yield from dense_tensors(a) if layer == 0 else expert_tensors(a)


def all_tensors(a) -> Iterator[Tensor]:
    vocab = 256 + len(CONTROL_TOKENS)
    yield Tensor("token_embd.weight", (vocab, a.embd), noise)
    yield Tensor("output_norm.weight", (a.embd,), ones)
    yield Tensor("output.weight", (vocab, a.embd), noise)
    yield Tensor("output_res_score.weight", (a.embd,), noise)
    for layer in range(a.layers):
        for t in layer_tensors(a, layer):
            yield Tensor(f"blk.{layer}.{t.name}", t.shape, t.fill, t.kind)


def byte_tokens() -> list[str]:
    """GPT-2's printable stand-ins for the 256 bytes."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    stand_ins = iter(range(0x100, 0x200))
    return [chr(b if b in printable else next(stand_ins)) for b in range(256)]


def add_metadata(w: GGUFWriter, a) -> None:
    w.add_name("Kimi-K3 tiny random")
    w.add_context_length(a.ctx)
    w.add_embedding_length(a.embd)
    w.add_block_count(a.layers)
    w.add_leading_dense_block_count(1)
    w.add_feed_forward_length(2 * a.ff)
    w.add_expert_feed_forward_length(a.ff)
    w.add_expert_latent_length(a.latent)
    w.add_expert_count(a.experts)
    w.add_expert_used_count(a.experts_used)
    w.add_expert_shared_count(1)
    w.add_expert_weights_scale(1.0)
    w.add_expert_weights_norm(True)
    w.add_expert_gating_func(ExpertGatingFuncType.SIGMOID)
    w.add_head_count(a.heads)
    w.add_head_count_kv([int(is_mla(i)) for i in range(a.layers)])
    w.add_key_length(a.kv_lora + ROPE_DIM)
    w.add_value_length(a.kv_lora)
    w.add_key_length_mla(a.head_dim + ROPE_DIM)
    w.add_value_length_mla(a.head_dim)
    w.add_q_lora_rank(Q_LORA)
    w.add_kv_lora_rank(a.kv_lora)
    w.add_rope_dimension_count(ROPE_DIM)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_ssm_conv_kernel(CONV_KERNEL)
    w.add_kda_head_dim(a.head_dim)
    w.add_kda_gate_lower_bound(-5.0)
    w.add_activation_situ_beta(4.0)
    w.add_activation_situ_linear_beta(25.0)
    w.add_attn_res_block_size(12)

    tokens = byte_tokens() + list(CONTROL_TOKENS)
    w.add_vocab_size(len(tokens))
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(tokens)
    w.add_token_types([TokenType.NORMAL] * 256 + [TokenType.CONTROL] * len(CONTROL_TOKENS))
    w.add_token_merges(["a b"])  # the loader wants at least one
    w.add_bos_token_id(BOS)
    w.add_eos_token_id(END_OF_MESSAGE)
    w.add_add_bos_token(False)
    w.add_chat_template(CHAT_TEMPLATE.replace("\n", ""))


def parse() -> argparse.Namespace:
    raw = argparse.RawDescriptionHelpFormatter
    p = argparse.ArgumentParser(prog="make_tiny_k3.py", description=__doc__, formatter_class=raw)
    p.add_argument("out", help="OUT.gguf; shards are named OUT-00001-of-0000N.gguf")
    p.add_argument("--layers", type=int, default=9)
    p.add_argument("--embd", type=int, default=128)
    p.add_argument("--heads", type=int, default=2)
    p.add_argument("--head-dim", type=int, default=64)
    p.add_argument("--experts", type=int, default=16)
    p.add_argument("--experts-used", type=int, default=4)
    p.add_argument("--ff", type=int, default=128, help="width of a routed and of the shared expert")
    p.add_argument("--latent", type=int, default=64, help="width of what the routed experts get")
    p.add_argument("--kv-lora", type=int, default=128)
    p.add_argument("--ctx", type=int, default=4096)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--expert-type", choices=EXPERT_TYPES, default="F32", help="type of the routed experts' tensors")
    p.add_argument("--split-max-tensors", type=int, default=0, metavar="N", help="shards of N tensors (0: one file)")
    p.add_argument("--small-first-shard", action="store_true", help="first shard with metadata alone, as published")
    a = p.parse_args()
    if a.layers < 1 or a.experts < a.experts_used:
        p.error("there must be at least one layer, and as many experts as are used")
    if a.latent % 32 or a.ff % 32:
        p.error("--latent and --ff must be multiples of 32, a block of the quantized types")
    if a.small_first_shard and not a.split_max_tensors:
        p.error("--small-first-shard needs --split-max-tensors")
    return a


def main() -> None:
    a = parse()
    w = GGUFWriter(a.out, "kimi-k3", split_max_tensors=a.split_max_tensors, small_first_shard=a.small_first_shard)
    add_metadata(w, a)
    tensors = list(all_tensors(a))
    total = 0
    for t in tensors:
        size = int(np.prod(quant_shape_to_byte_shape(t.shape, t.kind), dtype=np.int64))
        total += size
        w.add_tensor_info(t.name, t.shape, np.dtype(np.float32), size, raw_dtype=t.kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_ti_data_to_file()
    for t in tensors:  # one at a time in memory, so that models of many GB can be made
        rng = np.random.default_rng((a.seed, zlib.crc32(t.name.encode())))
        values = t.fill(rng, t.shape)
        w.write_tensor_data(values if t.kind == F32 else quantize(values, t.kind))
    w.close()
    print(f"{len(tensors)} tensors, {total} bytes of weights")


if __name__ == "__main__":
    main()
