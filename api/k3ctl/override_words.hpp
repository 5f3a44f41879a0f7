// Overrides as a person writes them: KEY=VALUE. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace k3d::cli {

/// {"ubatch=2048", "cache_type=q8_0"} of a `set` or `overrides` object; empty for anything else.
std::vector<std::string> override_words(const nlohmann::ordered_json& set);

/// The same with spaces between, empty if there are none.
std::string override_text(const nlohmann::ordered_json& set);

}  // namespace k3d::cli
