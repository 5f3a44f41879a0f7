#include "daemon/engine/fit_outcome.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace k3d::engine {
namespace {

constexpr std::size_t kMostDevices = 16;  // llama_max_devices()
constexpr int kMostLayers = 4096;
/// layer_fraction_t; what isn't one of these leaves the experts alone elsewhere.
constexpr int kAttention = 1, kUp = 2, kGate = 3;

/// The whole number behind `key`, blanks before it skipped; nothing if there is none within bounds.
std::optional<int> number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < 0 || value > kMostLayers) return std::nullopt;
  return value;
}

/// get_overflow_pattern of common/fit.cpp.
std::string first_pattern(int layer, int overflow_type) {
  const std::string block = fmt::format(R"(blk\.{}\.)", layer);
  switch (overflow_type) {
    case kAttention: return block + "ffn_(gate|up|gate_up|down).*";
    case kUp: return block + "ffn_(gate|gate_up|down).*";
    case kGate: return block + "ffn_down.*";
    default: return block + "ffn_(up|down|gate_up|gate)_(ch|)exps";
  }
}

std::string device_name(std::size_t id) { return fmt::format("CUDA{}", id); }

}  // namespace

void FitOutcomeReader::read(std::string_view text) {
  if (text.find("common_fit_params: successfully fit params") != std::string_view::npos) done_ = true;
  if (text.find("load_tensors: offloaded ") != std::string_view::npos) read_offload(text);
  if (done_ || text.find("common_params_fit_impl: ") == std::string_view::npos) return;
  if (text.find("memory for test allocation by device") != std::string_view::npos) tried_.clear();
  if (text.find(": id=") != std::string_view::npos && text.find("n_layer=") != std::string_view::npos) read_try(text);
  if (text.find("set ngl_per_device[") != std::string_view::npos) read_choice(text);
}

/// "id=0, n_layer=21, n_part= 1, overflow_type=1, mem=136540 MiB".
void FitOutcomeReader::read_try(std::string_view text) {
  const auto id = number_after(text, "id="), layers = number_after(text, "n_layer="), part = number_after(text, "n_part="),
             type = number_after(text, "overflow_type=");
  if (!id || !layers || !part || !type || static_cast<std::size_t>(*id) != tried_.size()) return;
  if (tried_.size() == kMostDevices || *part > *layers) return;
  tried_.push_back({*layers, *part, *type, false});
}

/// "set ngl_per_device[1].(n_layer, n_part, overflow_type)=(73, 60, ATTN), …": what was tried last is taken.
void FitOutcomeReader::read_choice(std::string_view text) {
  const auto id = number_after(text, "set ngl_per_device[");
  if (!id || static_cast<std::size_t>(*id) >= tried_.size()) return;
  for (std::size_t i = 0; i < std::min(tried_.size(), chosen_.size()); ++i) tried_[i].to_next = chosen_[i].to_next;
  const bool splits = text.find("overflow_type)=") != std::string_view::npos;
  const auto device = static_cast<std::size_t>(*id);
  if (splits) tried_[device].to_next = device + 1 < tried_.size();
  chosen_ = tried_;
}

/// "load_tensors: offloaded 94/94 layers to GPU". That of a draft comes later.
void FitOutcomeReader::read_offload(std::string_view text) {
  if (const auto all = number_after(text, "/")) whole_ = whole_ || number_after(text, "offloaded ") == all;
}

std::optional<FitOutcome> FitOutcomeReader::outcome() const {
  if (!done_ || !whole_ || chosen_.empty()) return std::nullopt;
  FitOutcome out;
  std::vector<int> experts;
  int layer = 0;
  for (std::size_t id = 0; id < chosen_.size(); ++id) {
    const Fill& fill = chosen_[id];
    out.tensor_split.push_back(fill.layers);
    layer += fill.layers - fill.part;
    for (int i = 0; i < fill.part; ++i, ++layer) {
      const bool first = i == 0;
      const bool own_pattern = first && (fill.to_next || fill.overflow_type < 4);
      if (!own_pattern) {
        experts.push_back(layer);
        continue;
      }
      out.tensors.push_back(first_pattern(layer, fill.overflow_type) + "=" + (fill.to_next ? device_name(id + 1) : "CPU"));
    }
  }
  if (!experts.empty()) {
    out.tensors.push_back(fmt::format(R"(blk\.({})\.ffn_(up|down|gate_up|gate)_(ch|)exps=CPU)", fmt::join(experts, "|")));
  }
  return out;
}

}  // namespace k3d::engine
