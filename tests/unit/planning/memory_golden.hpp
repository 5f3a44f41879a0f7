// The engine's own figures (tests/golden/planning), read into cases, and the memory model for a case.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/planning/fit_search.hpp"
#include "daemon/planning/memory_model.hpp"

namespace k3d::planning::test {

struct Figures {
  double model = 0, context = 0, compute = 0;  ///< MiB, cut to whole ones by the engine
};

/// Arguments of llama-fit-params.
struct Arguments {
  int context = 0, slots = 1, batch = 2048, ubatch = 512, cpu_moe = 0, gpu_layers = 999;
  std::string cache = "f16";
  std::vector<double> split;
  std::vector<std::string> overrides;
  std::vector<int> margins_mib;
  std::optional<int> one_device;
};

struct Case {
  std::string text;  ///< for messages
  std::string quant;
  std::vector<double> sizes_mib;
  Arguments asked, chosen;  ///< chosen: by the engine's fit
  std::vector<Figures> devices;
  Figures host;
};

Arguments parse_arguments(const std::string& text);

/// Lines `quant | sizes | arguments | answer`; a file of CUDA has no sizes: two equal devices.
std::vector<Case> read_cases(const std::string& file);

/// Of a quant of Kimi-K3, or of another architecture.
const ModelHeaders& headers_of(const std::string& quant);
Serving serving_of(const Arguments& arguments);
MemoryModel model_of(const Case& which, std::optional<KnownCompute> known = std::nullopt);

/// Where the engine puts everything for these arguments.
Placed placed_by(const Case& which, const Arguments& arguments, const MemoryModel& model);

/// What the case's devices need for compute, as the engine says.
KnownCompute compute_of(const Case& which);

}  // namespace k3d::planning::test
