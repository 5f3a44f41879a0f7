// Where the engine's own fit put layers and experts, read from its log, as the placement that replays it without a
// search. Pure. Not here: whether a load with it was good (daemon/lifecycle).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace k3d::engine {

struct FitOutcome {
  std::vector<double> tensor_split;  ///< layers of each device, the output with the last
  std::vector<std::string> tensors;  ///< "REGEX=DEVICE"; empty: every layer is whole

  friend bool operator==(const FitOutcome&, const FitOutcome&) = default;
};

/// Reads the texts of a log's lines. The formats are those of common/fit.cpp.
class FitOutcomeReader {
 public:
  void read(std::string_view text);
  /// Nothing unless a fit changed the placement, succeeded, and left no whole layer on the CPU.
  [[nodiscard]] std::optional<FitOutcome> outcome() const;

 private:
  /// What the fit gives a device: `part` of its layers, the last ones, leave tensors elsewhere.
  struct Fill {
    int layers = 0, part = 0;
    int overflow_type = 0;      ///< of the first of the partial layers
    bool to_next = false;       ///< its tensors go to the next device
  };

  void read_try(std::string_view text);
  void read_choice(std::string_view text);
  void read_offload(std::string_view text);

  std::vector<Fill> tried_, chosen_;
  bool done_ = false, whole_ = false;
};

}  // namespace k3d::engine
