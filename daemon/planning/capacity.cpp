#include "daemon/planning/capacity.hpp"

#include <array>

namespace k3d::planning {
namespace {

constexpr int kMaxSequences = 256;
constexpr std::array<int, 4> kContexts{8192, 32768, 131072, 1048576};
constexpr std::array<std::pair<const char*, const char*>, 3> kTypes{
    {{"f16", "F16"}, {"q8_0", "Q8_0"}, {"q4_0", "Q4_0"}}};

class Fitting {
 public:
  Fitting(const MemoryModel& model, const Solution& solution, const Room& room, std::optional<Bytes> host_bytes)
      : model_(model), placed_(solution.placed), room_(room.for_engine()), host_(host_bytes) {}

  [[nodiscard]] int most(int context, const GgmlType& type) const {
    int low = 0, high = kMaxSequences + 1;
    while (low + 1 < high) {
      const int middle = (low + high) / 2;
      (holds(middle, context, type) ? low : high) = middle;
    }
    return low;
  }

 private:
  [[nodiscard]] bool holds(int sequences, std::int64_t context, const GgmlType& type) const {
    Serving serving = model_.serving();
    // Beyond 2^31 tokens in total the engine can't count.
    if (context * sequences > std::numeric_limits<int>::max()) return false;
    serving.slots = sequences;
    serving.context = static_cast<int>(context * sequences);
    serving.cache = &type;
    const ModelUse use = model_.with(serving).use(placed_);
    for (std::size_t i = 0; i < room_.size(); ++i) {
      if (use.devices[i].total() > room_[i]) return false;
    }
    return !host_ || use.host.total() <= *host_;
  }

  const MemoryModel& model_;
  const Placed& placed_;
  std::vector<Bytes> room_;
  std::optional<Bytes> host_;
};

}  // namespace

std::vector<Capacity> capacities(const MemoryModel& model, const Solution& solution, const Room& room,
                                 std::optional<Bytes> host_bytes) {
  const Fitting fitting(model, solution, room, host_bytes);
  std::vector<Capacity> rows;
  for (const auto& [name, ggml_name] : kTypes) {
    const GgmlType* type = ggml_type(std::string_view(ggml_name));
    if (!cache_type_fits(model.architecture(), *type)) continue;
    for (const int context : kContexts) {
      const int trained = model.architecture().context_trained;
      if (trained > 0 && context > trained) continue;
      rows.push_back({context, name, fitting.most(context, *type)});
    }
  }
  return rows;
}

}  // namespace k3d::planning
