#!/usr/bin/env python3
"""Write a full-size GGUF of another architecture than Kimi-K3 whose tensor data is a hole in the file.

make_sparse_plain.py llama|qwen3moe|deepseek2|kimi-linear DIR     writes DIR/ARCH-00001-of-00001.gguf

Shapes of Llama 3 70B (F16), Qwen3 235B A22B (Q8_0, experts Q4_K), DeepSeek V3 (Q8_0, experts Q2_K) and Kimi-Linear 48B
(Q8_0, experts Q4_K). For what reads headers only; the same shapes are in tests/unit/planning/memory_plain.cpp.
Needs python3-gguf and numpy.
"""
import argparse
import os
from pathlib import Path
import numpy as np
from gguf import GGUFWriter, GGMLQuantizationType as Q, GGML_QUANT_SIZES, ExpertGatingFuncType


def nbytes(shape, kind):
    block, size = GGML_QUANT_SIZES[kind]
    return int(np.prod(shape, dtype=np.int64)) // block * size


def ends(vocab, embd, kind):
    yield "token_embd.weight", (vocab, embd), kind
    yield "output_norm.weight", (embd,), Q.F32
    yield "output.weight", (vocab, embd), kind


def experts(b, n, embd, ff, kind, other, shared):
    yield b + "ffn_gate_inp.weight", (n, embd), Q.F32
    yield b + "ffn_gate_exps.weight", (n, ff, embd), kind
    yield b + "ffn_up_exps.weight", (n, ff, embd), kind
    yield b + "ffn_down_exps.weight", (n, embd, ff), kind
    if shared:
        yield b + "exp_probs_b.bias", (n,), Q.F32
        yield b + "ffn_gate_shexp.weight", (ff, embd), other
        yield b + "ffn_up_shexp.weight", (ff, embd), other
        yield b + "ffn_down_shexp.weight", (embd, ff), other


def dense(b, embd, ff, kind):
    yield b + "ffn_gate.weight", (ff, embd), kind
    yield b + "ffn_up.weight", (ff, embd), kind
    yield b + "ffn_down.weight", (embd, ff), kind


def mla(b, embd, heads, q_lora, kind):
    if q_lora:
        yield b + "attn_q_a.weight", (q_lora, embd), kind
        yield b + "attn_q_a_norm.weight", (q_lora,), Q.F32
        yield b + "attn_q_b.weight", (heads * 192, q_lora), kind
    else:
        yield b + "attn_q.weight", (heads * 192, embd), kind
    yield b + "attn_kv_a_mqa.weight", (576, embd), kind
    yield b + "attn_kv_a_norm.weight", (512,), Q.F32
    yield b + "attn_k_b.weight", (heads, 512, 128), kind
    yield b + "attn_v_b.weight", (heads, 128, 512), kind
    yield b + "attn_output.weight", (embd, heads * 128), kind


def kda(b, embd, heads, kind):
    inner = heads * 128
    for n in "qkv":
        yield b + f"attn_{n}.weight", (inner, embd), kind
        yield b + f"ssm_conv1d_{n}.weight", (1, inner, 1, 4), Q.F32
    yield b + "attn_output.weight", (embd, inner), kind
    yield b + "ssm_f_a.weight", (128, embd), kind
    yield b + "ssm_f_b.weight", (inner, 128), kind
    yield b + "ssm_beta.weight", (heads, embd), kind
    yield b + "ssm_a", (1, 1, heads, 1), Q.F32
    yield b + "ssm_dt.bias", (inner,), Q.F32
    yield b + "ssm_g_a.weight", (128, embd), kind
    yield b + "ssm_g_b.weight", (inner, 128), kind
    yield b + "ssm_norm.weight", (128,), Q.F32


def norms(b, embd):
    yield b + "attn_norm.weight", (embd,), Q.F32
    yield b + "ffn_norm.weight", (embd,), Q.F32


def llama():
    embd, ff = 8192, 28672
    yield from ends(128256, embd, Q.F16)
    for i in range(80):
        b = f"blk.{i}."
        yield from norms(b, embd)
        for n, width in (("q", embd), ("k", 1024), ("v", 1024), ("output", embd)):
            yield b + f"attn_{n}.weight", (width, embd), Q.F16
        yield from dense(b, embd, ff, Q.F16)


def qwen3moe():
    embd = 4096
    yield from ends(151936, embd, Q.Q8_0)
    for i in range(94):
        b = f"blk.{i}."
        yield from norms(b, embd)
        for n, shape in (("q", (8192, embd)), ("k", (512, embd)), ("v", (512, embd)), ("output", (embd, 8192))):
            yield b + f"attn_{n}.weight", shape, Q.Q8_0
        yield b + "attn_q_norm.weight", (128,), Q.F32
        yield b + "attn_k_norm.weight", (128,), Q.F32
        yield from experts(b, 128, embd, 1536, Q.Q4_K, Q.Q8_0, False)


def deepseek2():
    embd = 7168
    yield from ends(129280, embd, Q.Q8_0)
    for i in range(61):
        b = f"blk.{i}."
        yield from norms(b, embd)
        yield from mla(b, embd, 128, 1536, Q.Q8_0)
        yield from (dense(b, embd, 18432, Q.Q8_0) if i < 3 else experts(b, 256, embd, 2048, Q.Q2_K, Q.Q8_0, True))


def kimi_linear():
    embd = 2304
    yield from ends(163840, embd, Q.Q8_0)
    for i in range(27):
        b = f"blk.{i}."
        yield from norms(b, embd)
        yield from (mla(b, embd, 32, 0, Q.Q8_0) if i % 4 == 3 or i == 26 else kda(b, embd, 32, Q.Q8_0))
        yield from (dense(b, embd, 9216, Q.Q8_0) if i < 1 else experts(b, 256, embd, 1024, Q.Q4_K, Q.Q8_0, True))


def common(w, layers, embd, ff, heads, context, vocab):
    w.add_name("sparse headers")
    w.add_vocab_size(vocab)
    w.add_context_length(context)
    w.add_embedding_length(embd)
    w.add_block_count(layers)
    w.add_feed_forward_length(ff)
    w.add_head_count(heads)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("default")
    w.add_token_list([f"t{i}" for i in range(vocab)])
    w.add_token_types([1] * vocab)
    w.add_token_merges(["t 1"])
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)


def moe(w, count, used, ff, shared):
    w.add_expert_count(count)
    w.add_expert_used_count(used)
    w.add_expert_feed_forward_length(ff)
    if shared:
        w.add_expert_shared_count(1)
        w.add_expert_weights_scale(2.5)
        w.add_expert_weights_norm(True)
        w.add_expert_gating_func(ExpertGatingFuncType.SIGMOID)


def mla_keys(w):
    w.add_kv_lora_rank(512)
    w.add_key_length(576)
    w.add_value_length(512)
    w.add_key_length_mla(192)
    w.add_value_length_mla(128)
    w.add_rope_dimension_count(64)


def write_llama(w):
    common(w, 80, 8192, 28672, 64, 131072, 128256)
    w.add_head_count_kv(8)
    w.add_rope_dimension_count(128)


def write_qwen3moe(w):
    common(w, 94, 4096, 12288, 64, 40960, 151936)
    w.add_head_count_kv(4)
    w.add_key_length(128)
    w.add_value_length(128)
    moe(w, 128, 8, 1536, False)


def write_deepseek2(w):
    common(w, 61, 7168, 18432, 128, 163840, 129280)
    w.add_head_count_kv(1)
    w.add_leading_dense_block_count(3)
    w.add_q_lora_rank(1536)
    mla_keys(w)
    moe(w, 256, 8, 2048, True)


def write_kimi_linear(w):
    common(w, 27, 2304, 9216, 32, 1048576, 163840)
    w.add_head_count_kv([1 if i % 4 == 3 or i == 26 else 0 for i in range(27)])
    w.add_leading_dense_block_count(1)
    mla_keys(w)
    w.add_ssm_conv_kernel(4)
    w.add_kda_head_dim(128)
    moe(w, 256, 8, 1024, True)


MODELS = {"llama": (llama, write_llama), "qwen3moe": (qwen3moe, write_qwen3moe),
          "deepseek2": (deepseek2, write_deepseek2), "kimi-linear": (kimi_linear, write_kimi_linear)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("architecture", choices=MODELS)
    p.add_argument("directory", type=Path)
    a = p.parse_args()
    a.directory.mkdir(parents=True, exist_ok=True)
    tensors, metadata = MODELS[a.architecture]
    path = a.directory / f"{a.architecture}-00001-of-00001.gguf"
    w = GGUFWriter(path, a.architecture)
    metadata(w)
    data = 0
    for name, shape, kind in tensors():
        n = nbytes(shape, kind)
        w.add_tensor_info(name, shape, np.dtype(np.float32), n, raw_dtype=kind)
        data += (n + 31) // 32 * 32
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_ti_data_to_file()
    end = w.fout[0].tell()
    w.close()
    os.truncate(path, (end + 31) // 32 * 32 + data)
    print(f"{a.architecture}: {data} bytes of tensors")


if __name__ == "__main__":
    main()
