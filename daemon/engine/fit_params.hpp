// llama-fit-params, the engine's own dry run: its arguments from those of llama-server, and what it answers. Pure.
// It reads headers only, but allocates the recurrent state on the GPUs. Not here: running it (daemon/lifecycle).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/engine/log_signs.hpp"

namespace k3d::engine {

/// Those of `argv` that decide memory: model, context, batches, cache types, placement. Without -fitp.
std::vector<std::string> fit_params_arguments(const std::vector<std::string>& argv);

/// Whether `argv` leaves the placement to the engine: then it is first asked for it, and then for the figures.
bool asks_for_fit(const std::vector<std::string>& argv);

/// "-c 65536 -ngl 94 -ts 21,73 -ot "a=CPU,b=CUDA1"" as arguments; empty if it is none.
std::vector<std::string> fitted_arguments(std::string_view answer);

/// `asked` with the placement of `fitted` in the place of the fit.
std::vector<std::string> with_fitted(const std::vector<std::string>& asked, const std::vector<std::string>& fitted);

/// Lines such as "CUDA0 130503 771 5265" and "Host 449511 0 176", in MiB; nothing if there is no host among them.
std::optional<Breakdown> fit_params_figures(const std::vector<std::string>& lines);

}  // namespace k3d::engine
