// The lines of an engine's log that people are shown with a failure: few, short, printable, and without the text of
// requests. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/engine/log_reader.hpp"

namespace k3d::engine {

/// `text` cut to 500 bytes, between characters.
std::string shortened(std::string text);

/// At most 20 lines, `decisive` among them. `ready`: the engine served before.
std::vector<std::string> excerpt_of(const std::vector<EngineLine>& lines, const std::vector<std::string>& raw,
                                    bool ready, std::optional<std::size_t> decisive);

/// The last 20 lines, whatever they are.
std::vector<std::string> end_of_log(const std::vector<std::string>& raw);

}  // namespace k3d::engine
