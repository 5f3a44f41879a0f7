// Lines of an engine's log that stand behind what another thread had begun to write. Pure.
#pragma once

#include <string>
#include <vector>

namespace k3d::engine {

/// The same with a line of its own for whatever was written into another's: "0.00.013 I load: ./src/llama.cpp:5:
/// GGML_ASSERT(x) failed" is two. While the engine serves (`ready`) that holds for assertions alone: a line may bear
/// the text of a request then, which must not pass for the engine's.
std::vector<std::string> unglued(const std::vector<std::string>& raw, bool ready);

}  // namespace k3d::engine
