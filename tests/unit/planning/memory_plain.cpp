#include "tests/unit/planning/memory_plain.hpp"

#include <stdexcept>

#include "tests/unit/planning/memory_k3.hpp"

namespace k3d::planning::test {
namespace {

class Maker {
 public:
  Maker(std::string architecture, std::int64_t layers, std::int64_t embedding, std::int64_t ff, std::int64_t heads,
        std::int64_t context)
      : architecture_(std::move(architecture)), embedding_(embedding), ff_(ff), heads_(heads) {
    made_.metadata["general.architecture"] = architecture_;
    number("block_count", layers);
    number("embedding_length", embedding);
    number("feed_forward_length", ff);
    number("attention.head_count", heads);
    number("context_length", context);
  }

  void number(const std::string& key, std::int64_t value) { made_.metadata[architecture_ + "." + key] = value; }
  void numbers(const std::string& key, std::vector<std::int64_t> values) {
    made_.metadata[architecture_ + "." + key] = std::move(values);
  }
  void add(const std::string& name, const std::string& type, std::int64_t a, std::int64_t b = 1, std::int64_t c = 1) {
    made_.tensors.push_back(tensor(prefix_ + name, type, {a, b, c, 1}));
  }
  void ends(std::int64_t vocabulary, const std::string& type) {
    add("token_embd.weight", type, embedding_, vocabulary);
    add("output_norm.weight", "F32", embedding_);
    add("output.weight", type, embedding_, vocabulary);
  }
  void layer(int il) {
    prefix_ = "blk." + std::to_string(il) + ".";
    add("attn_norm.weight", "F32", embedding_);
    add("ffn_norm.weight", "F32", embedding_);
  }
  void attention(std::int64_t inner, std::int64_t kv, const std::string& type) {
    add("attn_q.weight", type, embedding_, inner);
    add("attn_k.weight", type, embedding_, kv);
    add("attn_v.weight", type, embedding_, kv);
    add("attn_output.weight", type, inner, embedding_);
  }
  void dense(const std::string& type) {
    add("ffn_gate.weight", type, embedding_, ff_);
    add("ffn_up.weight", type, embedding_, ff_);
    add("ffn_down.weight", type, ff_, embedding_);
  }
  void experts(std::int64_t count, std::int64_t ff, const std::string& type) {
    add("ffn_gate_inp.weight", "F32", embedding_, count);
    add("ffn_gate_exps.weight", type, embedding_, ff, count);
    add("ffn_up_exps.weight", type, embedding_, ff, count);
    add("ffn_down_exps.weight", type, ff, embedding_, count);
  }
  void shared_expert(std::int64_t count, std::int64_t ff) {
    add("exp_probs_b.bias", "F32", count);
    add("ffn_gate_shexp.weight", "Q8_0", embedding_, ff);
    add("ffn_up_shexp.weight", "Q8_0", embedding_, ff);
    add("ffn_down_shexp.weight", "Q8_0", ff, embedding_);
  }
  void mla(std::int64_t q_lora) {
    if (q_lora > 0) {
      add("attn_q_a.weight", "Q8_0", embedding_, q_lora);
      add("attn_q_a_norm.weight", "F32", q_lora);
      add("attn_q_b.weight", "Q8_0", q_lora, heads_ * 192);
    } else {
      add("attn_q.weight", "Q8_0", embedding_, heads_ * 192);
    }
    add("attn_kv_a_mqa.weight", "Q8_0", embedding_, 576);
    add("attn_kv_a_norm.weight", "F32", 512);
    add("attn_k_b.weight", "Q8_0", 128, 512, heads_);
    add("attn_v_b.weight", "Q8_0", 512, 128, heads_);
    add("attn_output.weight", "Q8_0", heads_ * 128, embedding_);
  }
  void kda() {
    const std::int64_t inner = heads_ * 128;
    for (const char* name : {"q", "k", "v"}) {
      add(std::string("attn_") + name + ".weight", "Q8_0", embedding_, inner);
      add(std::string("ssm_conv1d_") + name + ".weight", "F32", 4, 1, inner);
    }
    add("attn_output.weight", "Q8_0", inner, embedding_);
    for (const char* name : {"ssm_f", "ssm_g"}) {
      add(std::string(name) + "_a.weight", "Q8_0", embedding_, 128);
      add(std::string(name) + "_b.weight", "Q8_0", 128, inner);
    }
    add("ssm_beta.weight", "Q8_0", embedding_, heads_);
    add("ssm_a", "F32", 1, heads_);
    add("ssm_dt.bias", "F32", inner);
    add("ssm_norm.weight", "F32", 128);
  }
  void mla_keys() {
    number("attention.key_length", 576);
    number("attention.value_length", 512);
    number("attention.key_length_mla", 192);
    number("attention.value_length_mla", 128);
  }
  void expert_keys(std::int64_t count, std::int64_t used, std::int64_t ff) {
    number("expert_count", count);
    number("expert_used_count", used);
    number("expert_feed_forward_length", ff);
  }
  ModelHeaders take() { return std::move(made_); }

 private:
  std::string architecture_, prefix_;
  std::int64_t embedding_, ff_, heads_;
  ModelHeaders made_;
};

ModelHeaders deepseek2() {
  Maker made("deepseek2", 61, 7168, 18432, 128, 163840);
  made.number("attention.head_count_kv", 1);
  made.mla_keys();
  made.expert_keys(256, 8, 2048);
  made.ends(129280, "Q8_0");
  for (int il = 0; il < 61; ++il) {
    made.layer(il);
    made.mla(1536);
    if (il < 3) {
      made.dense("Q8_0");
      continue;
    }
    made.experts(256, 2048, "Q2_K");
    made.shared_expert(256, 2048);
  }
  return made.take();
}

ModelHeaders kimi_linear() {
  Maker made("kimi-linear", 27, 2304, 9216, 32, 1048576);
  const auto is_mla = [](int il) { return il % 4 == 3 || il == 26; };
  std::vector<std::int64_t> heads_kv;
  for (int il = 0; il < 27; ++il) heads_kv.push_back(is_mla(il) ? 1 : 0);
  made.numbers("attention.head_count_kv", heads_kv);
  made.mla_keys();
  made.number("ssm.conv_kernel", 4);
  made.number("kda.head_dim", 128);
  made.expert_keys(256, 8, 1024);
  made.ends(163840, "Q8_0");
  for (int il = 0; il < 27; ++il) {
    made.layer(il);
    is_mla(il) ? made.mla(0) : made.kda();
    if (il < 1) {
      made.dense("Q8_0");
      continue;
    }
    made.experts(256, 1024, "Q4_K");
    made.shared_expert(256, 1024);
  }
  return made.take();
}

}  // namespace

ModelHeaders dense_llama(int layers, int embedding, int ff, int heads_kv, int vocabulary) {
  Maker made("llama", layers, embedding, ff, embedding / 128, 131072);
  made.number("attention.head_count_kv", heads_kv);
  made.ends(vocabulary, "F16");
  for (int il = 0; il < layers; ++il) {
    made.layer(il);
    made.attention(embedding, heads_kv * 128, "F16");
    made.dense("F16");
  }
  return made.take();
}

ModelHeaders qwen3_moe(int layers) {
  Maker made("qwen3moe", layers, 4096, 12288, 64, 40960);
  made.number("attention.head_count_kv", 4);
  made.number("attention.key_length", 128);
  made.number("attention.value_length", 128);
  made.expert_keys(128, 8, 1536);
  made.ends(151936, "Q8_0");
  for (int il = 0; il < layers; ++il) {
    made.layer(il);
    made.attention(8192, 512, "Q8_0");
    made.add("attn_q_norm.weight", "F32", 128);
    made.add("attn_k_norm.weight", "F32", 128);
    made.experts(128, 1536, "Q4_K");
  }
  return made.take();
}

ModelHeaders plain(const std::string& architecture) {
  if (architecture == "llama") return dense_llama(80, 8192, 28672, 8, 128256);
  if (architecture == "qwen3moe") return qwen3_moe(94);
  if (architecture == "deepseek2") return deepseek2();
  if (architecture == "kimi-linear") return kimi_linear();
  throw std::invalid_argument(architecture);
}

}  // namespace k3d::planning::test
