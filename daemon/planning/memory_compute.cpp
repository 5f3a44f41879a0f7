#include "daemon/planning/memory_compute.hpp"

#include <algorithm>

namespace k3d::planning {
namespace {

/// Copies of every input that the scheduler keeps when it runs devices as a pipeline (ggml-backend.cpp).
constexpr double kPipelineCopies = 4;
/// From this many tokens on a device computes with weights that are in host RAM (GGML_OP_OFFLOAD_MIN_BATCH).
constexpr int kOffloadTokens = 32;

/// The quantities that the buffers are made of, in bytes.
struct Terms {
  double stream = 0;   ///< the residual stream of a micro-batch, F32
  double experts = 0;  ///< one hidden tensor of the routed experts of a micro-batch, F32
  double mask = 0;     ///< the attention mask of a micro-batch: n_ctx_seq * n_ubatch, F16
};

bool has_cache(const Architecture& model) {
  return std::any_of(model.states.begin(), model.states.end(), [](const LayerState& s) { return s.k_row > 0; });
}

Terms terms_of(const Architecture& model, const Serving& serving) {
  const double tokens = serving.ubatch;
  Terms terms;
  terms.stream = 4.0 * static_cast<double>(model.embedding) * tokens;
  terms.experts = 4.0 * static_cast<double>(model.experts_used * model.expert_ff) * tokens;
  if (has_cache(model)) terms.mask = 2.0 * static_cast<double>(slot_context(serving)) * tokens;
  return terms;
}

/// Copies of the residual stream that are kept when `layers` layers are done (kimi-k3.cpp, res_push).
double kept_streams(const Architecture& model, int layers) {
  if (model.residual_block <= 0) return 0;
  return static_cast<double>((layers + model.residual_block - 1) / model.residual_block);
}

/// Working set of a layer whose weights are all on its device, in streams: of Kimi-K3 26.6, measured. For others the
/// widest of feed-forward (three hidden tensors), experts (and two of what each gives back), attention and KDA, and a
/// handful of streams: within a third of what the engine reports for CPU devices (engine-plain.txt).
double working_streams(const Architecture& model, const Terms& terms, const Serving& serving) {
  if (model.residual_block > 0) return 26.6;
  const double tokens = 4.0 * serving.ubatch;
  const auto bytes = [&](std::int64_t width) { return tokens * static_cast<double>(width); };
  const double dense = 3 * bytes(model.dense_ff);
  const double experts = 3 * terms.experts + 2 * bytes(model.experts_used * model.expert_embedding);
  const double attention = std::max(2 * bytes(model.attention_width), 42 * bytes(model.recurrent_width));
  return std::max({dense, experts, attention}) / terms.stream + 6;
}

/// One device of a pipeline: every input four times; the streams that it is handed count about twice more.
double pipelined(const Architecture& model, const Terms& terms, const Serving& serving, int first_layer) {
  const double base = working_streams(model, terms, serving) + kPipelineCopies * 4.35;
  return kPipelineCopies * terms.mask + terms.stream * (base + 7.9 * kept_streams(model, first_layer));
}

/// A device by itself: the streams that it holds at its end count nearly twice.
double resident(const Architecture& model, const Terms& terms, const Serving& serving, int end_layer) {
  const double more = 1.8 * std::max(kept_streams(model, std::min(end_layer, model.layers)) - 2, 0.0);
  return terms.mask + terms.stream * (working_streams(model, terms, serving) + more);
}

/// The first device also computes with the experts in host RAM and holds two of their tensors at a time: those of its
/// own layers, or of other devices' layers. Few large ones at a model's end come one at a time.
double offloading(const Terms& terms, const ComputeQuestion& question) {
  const auto own = static_cast<double>(question.devices.front().largest_expert);
  double others = 0;
  for (std::size_t i = 1; i < question.devices.size(); ++i) {
    others = std::max(others, static_cast<double>(question.devices[i].largest_expert));
  }
  const auto first = static_cast<double>(question.first_expert);
  const double single = others > 0 ? others + 4.33 * terms.experts : 0;
  if (others == 0 && terms.mask < terms.stream) return own + terms.mask + 3.44 * terms.experts;
  const double second = std::max(own, std::min(others, 1.2 * first));
  const double pair = first + second + terms.mask + terms.experts + 4 * terms.stream;
  return std::max(pair, single);
}

/// Mask and embeddings are made on the host and copied.
double on_host(const Terms& terms, double copies) {
  return copies * terms.mask + 2 * terms.stream;
}

}  // namespace

ComputeAnswer compute_buffers(const Architecture& model, const Serving& serving, const ComputeQuestion& question) {
  const Terms terms = terms_of(model, serving);
  const bool pipeline = question.devices.size() > 1 && question.whole && !question.overrides;
  ComputeAnswer answer;
  for (std::size_t i = 0; i < question.devices.size(); ++i) {
    const ComputeQuestion::Device& device = question.devices[i];
    double bytes = device.layers == 0 ? 0
                   : pipeline         ? pipelined(model, terms, serving, device.first_layer)
                                      : resident(model, terms, serving, device.first_layer + device.layers);
    if (i == 0 && question.offload && question.first_expert > 0 && serving.ubatch >= kOffloadTokens) {
      bytes = std::max(bytes, offloading(terms, question));
    }
    answer.devices.push_back(static_cast<Bytes>(bytes));
  }
  answer.host = static_cast<Bytes>(on_host(terms, pipeline ? kPipelineCopies : 1));
  return answer;
}

}  // namespace k3d::planning
