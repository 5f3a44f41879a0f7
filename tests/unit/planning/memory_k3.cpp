#include "tests/unit/planning/memory_k3.hpp"

#include <stdexcept>
#include <utility>

#include "daemon/planning/ggml_types.hpp"

namespace k3d::planning::test {
namespace {

struct Shape {
  int layers = 93, residual_block = 12;
  std::int64_t embedding = 7168, heads = 96, head = 128, vocabulary = 163840, experts = 896, latent = 3584,
               expert_ff = 3072, dense_ff = 33792, q_lora = 1536, kv_lora = 512, nope = 128, rope = 64, v = 128;

  bool mla(int layer) const { return layer % 4 == 3 || layer == layers - 1; }
  std::int64_t inner() const { return heads * head; }
};

/// Types of the expert tensors: how many of each, in the order of the layers.
using Mix = std::vector<std::pair<std::string, int>>;

Mix mix_of(const std::string& quant) {
  if (quant == "UD-IQ1_M") return {{"IQ1_S", 209}, {"IQ2_XXS", 56}, {"IQ3_XXS", 11}};
  if (quant == "UD-IQ2_XXS") return {{"IQ1_M", 173}, {"IQ2_XXS", 92}, {"IQ3_XXS", 11}};
  if (quant == "UD-Q2_K_XL" || quant == "REAP770") return {{"IQ2_XS", 263}, {"IQ3_XXS", 13}};
  if (quant == "UD-Q4_K_XL") return {{"MXFP4", 276}};
  throw std::invalid_argument(quant);
}

class Maker {
 public:
  Maker(const Shape& shape, const Mix& mix) : s_(shape) {
    for (const auto& [type, count] : mix) types_.insert(types_.end(), static_cast<std::size_t>(count), type);
  }

  ModelHeaders make() {
    metadata();
    add("token_embd.weight", "Q8_0", s_.embedding, s_.vocabulary);
    add("output.weight", "Q8_0", s_.embedding, s_.vocabulary);
    add("output_norm.weight", "F32", s_.embedding);
    add("output_res_score.weight", "F32", s_.embedding);
    for (int il = 0; il < s_.layers; ++il) {
      prefix_ = "blk." + std::to_string(il) + ".";
      for (const char* name : {"attn_norm", "ffn_norm", "attn_res_score", "ffn_res_score"})
        add(name, "F32", s_.embedding);
      s_.mla(il) ? mla() : kda();
      il == 0 ? dense() : moe(static_cast<std::size_t>(il - 1) * 3);
    }
    return std::move(made_);
  }

 private:
  void add(const std::string& name, const std::string& type, std::int64_t a, std::int64_t b = 1, std::int64_t c = 1) {
    made_.tensors.push_back(tensor(prefix_ + name, type, {a, b, c, 1}));
  }
  void mla() {
    add("attn_q_a.weight", "Q8_0", s_.embedding, s_.q_lora);
    add("attn_q_a_norm.weight", "F32", s_.q_lora);
    add("attn_q_b.weight", "Q8_0", s_.q_lora, s_.heads * (s_.nope + s_.rope));
    add("attn_kv_a_mqa.weight", "Q8_0", s_.embedding, s_.kv_lora + s_.rope);
    add("attn_kv_a_norm.weight", "F32", s_.kv_lora);
    add("attn_k_b.weight", "Q8_0", s_.nope, s_.kv_lora, s_.heads);
    add("attn_v_b.weight", "Q8_0", s_.kv_lora, s_.v, s_.heads);
    add("attn_gate.weight", "Q8_0", s_.embedding, s_.heads * s_.v);
    add("attn_output.weight", "Q8_0", s_.heads * s_.v, s_.embedding);
  }
  void kda() {
    for (const char* name : {"q", "k", "v"}) {
      add(std::string("attn_") + name + ".weight", "Q8_0", s_.embedding, s_.inner());
      add(std::string("ssm_conv1d_") + name + ".weight", "F32", 4, 1, s_.inner());
    }
    add("attn_output.weight", "Q8_0", s_.inner(), s_.embedding);
    add("ssm_f_a.weight", "Q8_0", s_.embedding, s_.head);
    add("ssm_f_b.weight", "Q8_0", s_.head, s_.inner());
    add("ssm_beta.weight", "F32", s_.embedding, s_.heads);
    add("ssm_a", "F32", s_.heads);
    add("ssm_dt.bias", "F32", s_.inner());
    add("ssm_norm.weight", "F32", s_.head);
    add("ssm_g.weight", "Q8_0", s_.embedding, s_.inner());
  }
  void dense() {
    add("ffn_gate.weight", "Q8_0", s_.embedding, s_.dense_ff);
    add("ffn_up.weight", "Q8_0", s_.embedding, s_.dense_ff);
    add("ffn_down.weight", "Q8_0", s_.dense_ff, s_.embedding);
  }
  void moe(std::size_t first_type) {
    add("ffn_gate_inp.weight", "F32", s_.embedding, s_.experts);
    add("exp_probs_b.bias", "F32", s_.experts);
    add("ffn_routed_down.weight", "Q8_0", s_.embedding, s_.latent);
    add("ffn_routed_up.weight", "Q8_0", s_.latent, s_.embedding);
    add("ffn_routed_norm.weight", "F32", s_.latent);
    add("ffn_gate_exps.weight", types_.at(first_type), s_.latent, s_.expert_ff, s_.experts);
    add("ffn_up_exps.weight", types_.at(first_type + 1), s_.latent, s_.expert_ff, s_.experts);
    add("ffn_down_exps.weight", types_.at(first_type + 2), s_.expert_ff, s_.latent, s_.experts);
    add("ffn_gate_shexp.weight", "Q8_0", s_.embedding, s_.expert_ff * 2);
    add("ffn_up_shexp.weight", "Q8_0", s_.embedding, s_.expert_ff * 2);
    add("ffn_down_shexp.weight", "Q8_0", s_.expert_ff * 2, s_.embedding);
  }
  void number(const std::string& key, std::int64_t value) { made_.metadata["kimi-k3." + key] = value; }
  void metadata() {
    made_.metadata["general.architecture"] = std::string("kimi-k3");
    number("block_count", s_.layers);
    number("embedding_length", s_.embedding);
    number("context_length", 1048576);
    number("leading_dense_block_count", 1);
    number("feed_forward_length", s_.dense_ff);
    number("expert_feed_forward_length", s_.expert_ff);
    number("expert_latent_length", s_.latent);
    number("expert_count", s_.experts);
    number("expert_used_count", 16);
    number("expert_shared_count", 2);
    number("attention.head_count", s_.heads);
    std::vector<std::int64_t> heads_kv;
    for (int il = 0; il < s_.layers; ++il) heads_kv.push_back(s_.mla(il) ? 1 : 0);
    made_.metadata["kimi-k3.attention.head_count_kv"] = heads_kv;
    number("attention.key_length", s_.kv_lora + s_.rope);
    number("attention.value_length", s_.kv_lora);
    number("attention.key_length_mla", s_.nope + s_.rope);
    number("attention.value_length_mla", s_.v);
    number("ssm.conv_kernel", 4);
    number("kda.head_dim", s_.head);
    number("attn_res.block_size", s_.residual_block);
  }

  Shape s_;
  std::vector<std::string> types_;
  std::string prefix_;
  ModelHeaders made_;
};

}  // namespace

TensorInfo tensor(std::string name, const std::string& type, std::array<std::int64_t, 4> ne) {
  const GgmlType* found = ggml_type(type);
  if (found == nullptr) throw std::invalid_argument(type);
  const auto bytes = tensor_bytes(found->id, ne);
  if (!bytes) throw std::invalid_argument(name + ": " + bytes.error().message);
  return {std::move(name), found->id, ne, *bytes, 0, 0};
}

ModelHeaders kimi_k3(const std::string& quant) {
  Shape shape;
  if (quant == "REAP770") shape.experts = 770;
  return Maker(shape, mix_of(quant)).make();
}

ModelHeaders small_kimi_k3(int layers) {
  Shape shape;
  shape.layers = layers;
  shape.embedding = 256;
  shape.heads = 2;
  shape.vocabulary = 512;
  shape.experts = 8;
  shape.latent = 256;
  shape.expert_ff = 256;
  shape.dense_ff = 512;
  shape.q_lora = 64;
  return Maker(shape, {{"IQ1_M", layers * 3}}).make();
}

}  // namespace k3d::planning::test
