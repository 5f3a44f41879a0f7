#include "daemon/engine/speculative.hpp"

namespace k3d::engine {

void add_speculative(Arguments& arguments, const Speculative& speculative, const DraftPlace& place) {
  arguments.need({"--spec-type"}, "speculative.type", speculative.type);
  arguments.need({"--spec-draft-n-max", "--draft-max"}, "speculative.n_max", std::to_string(speculative.n_max));
  if (place.path.empty()) return;
  arguments.need({"--spec-draft-model", "-md", "--model-draft"}, "speculative.model", place.path);
  if (!place.device) return;
  // Anywhere but beside the model's output the engine may abort while it reserves its graph; and a draft that is
  // partly on the CPU is slower than none.
  arguments.need({"--spec-draft-device", "-devd", "--device-draft"}, "speculative.device", *place.device);
  arguments.need({"--spec-draft-ngl", "-ngld", "--gpu-layers-draft"}, "speculative.device", "all");
}

}  // namespace k3d::engine
