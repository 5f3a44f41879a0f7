#include "daemon/planning/architecture.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace k3d::planning {
namespace {

/// Far beyond any model, and small enough that no product of them overflows.
constexpr std::int64_t kMaxLayers = 1000, kMaxWidth = 1 << 24, kMaxHeads = 1 << 14, kMaxHead = 1 << 14;
constexpr std::int64_t kMaxRow = 1 << 18;

/// The keys of one architecture: all begin with its name.
class Keys {
 public:
  Keys(const ModelHeaders& headers, std::string name) : headers_(headers), prefix_(std::move(name) + ".") {}

  std::int64_t value(const char* key, std::int64_t otherwise = 0) const {
    const auto found = headers_.integer(prefix_ + key);
    return found && *found >= 0 && *found <= kMaxWidth ? *found : otherwise;
  }
  bool has(const char* key) const { return headers_.metadata.contains(prefix_ + key); }

  /// The largest, where layers differ.
  std::int64_t largest(const char* key, int layers) const {
    const auto all = headers_.integers(prefix_ + key, static_cast<std::size_t>(layers));
    if (!all || all->empty()) return 0;
    return std::clamp<std::int64_t>(*std::max_element(all->begin(), all->end()), 0, kMaxWidth);
  }
  std::vector<std::int64_t> each(const char* key, int layers, std::int64_t otherwise) const {
    const auto all = headers_.integers(prefix_ + key, static_cast<std::size_t>(layers));
    return all ? *all : std::vector<std::int64_t>(static_cast<std::size_t>(layers), otherwise);
  }

 private:
  const ModelHeaders& headers_;
  std::string prefix_;
};

/// n_embd_r + n_embd_s: 3 (conv - 1) inner for Q, K and V, and head_dim^2 per head.
std::int64_t kda_state(const Keys& keys, std::int64_t heads) {
  const std::int64_t head = std::min(keys.value("kda.head_dim"), kMaxHead);
  const std::int64_t window = std::clamp<std::int64_t>(keys.value("ssm.conv_kernel", 4) - 1, 0, kMaxHead);
  return heads * head * (3 * window + head);
}

LayerState attention_state(const Keys& keys, std::int64_t heads, std::int64_t heads_kv, std::int64_t embedding) {
  const std::int64_t per_head = heads > 0 ? embedding / heads : 0;
  const std::int64_t k = keys.value("attention.key_length", per_head);
  const std::int64_t v = keys.value("attention.value_length", per_head);
  const bool mla = keys.has("attention.key_length_mla");
  return {k * heads_kv, mla ? 0 : v * heads_kv, 0};
}

Result<std::vector<LayerState>> layer_states(const Keys& keys, const Architecture& model) {
  const std::vector<std::int64_t> heads = keys.each("attention.head_count", model.layers, 0);
  const bool kda = keys.has("kda.head_dim");
  if (!kda && (keys.has("ssm.state_size") || keys.has("ssm.conv_kernel") || keys.has("wkv.head_size"))) {
    return fail(Code::invalid_request, fmt::format("the recurrent state of {} models is not known", model.name));
  }
  std::vector<LayerState> states;
  const std::vector<std::int64_t> each_kv = keys.each("attention.head_count_kv", model.layers, -1);
  for (int il = 0; il < model.layers; ++il) {
    const auto at = static_cast<std::size_t>(il);
    if (heads[at] < 0 || heads[at] > kMaxHeads) return fail(Code::model_corrupt, "impossible attention.head_count");
    const std::int64_t heads_kv = keys.has("attention.head_count_kv") ? each_kv[at] : heads[at];
    if (heads_kv < 0 || heads_kv > kMaxHeads) return fail(Code::model_corrupt, "impossible attention.head_count_kv");
    const LayerState state = kda && heads_kv == 0 ? LayerState{0, 0, kda_state(keys, heads[at])}
                                                  : attention_state(keys, heads[at], heads_kv, model.embedding);
    if (state.k_row > kMaxRow || state.v_row > kMaxRow)
      return fail(Code::model_corrupt, "impossible attention.key_length");
    states.push_back(state);
  }
  return states;
}

void read_widths(const Keys& keys, Architecture& model) {
  const std::int64_t heads = keys.largest("attention.head_count", model.layers);
  const std::int64_t row = keys.value("attention.key_length", heads > 0 ? model.embedding / heads : 0);
  model.attention_width = heads * row;
  model.recurrent_width = heads * keys.value("kda.head_dim");
}

void read_experts(const Keys& keys, Architecture& model) {
  model.experts = static_cast<int>(keys.value("expert_count"));
  model.experts_used = static_cast<int>(keys.value("expert_used_count"));
  model.expert_ff = keys.largest("expert_feed_forward_length", model.layers);
  model.expert_embedding = keys.value("expert_latent_length", model.embedding);
  model.dense_ff = keys.largest("feed_forward_length", model.layers);
  if (model.experts > 0 && model.expert_ff == 0) model.expert_ff = model.dense_ff;  // Mixtral's way to say it
}

}  // namespace

Result<Architecture> read_architecture(const ModelHeaders& headers) {
  const auto name = headers.text("general.architecture");
  if (!name) return fail(Code::model_corrupt, "the model says no general.architecture");
  const Keys keys(headers, *name);
  Architecture model;
  model.name = *name;
  // Layers for multi-token prediction come last and aren't loaded without it.
  const std::int64_t layers = keys.value("block_count") - keys.value("nextn_predict_layers");
  if (layers < 1 || layers > kMaxLayers) return fail(Code::model_corrupt, "impossible block_count");
  model.layers = static_cast<int>(layers);
  model.embedding = keys.value("embedding_length");
  if (model.embedding < 1) return fail(Code::model_corrupt, "impossible embedding_length");
  model.context_trained = static_cast<int>(keys.value("context_length"));
  model.residual_block = static_cast<int>(keys.value("attn_res.block_size"));
  model.sliding_window = keys.value("attention.sliding_window") > 0;
  read_experts(keys, model);
  read_widths(keys, model);
  auto states = layer_states(keys, model);
  if (!states) return fail(states.error());
  model.states = std::move(*states);
  return model;
}

}  // namespace k3d::planning
