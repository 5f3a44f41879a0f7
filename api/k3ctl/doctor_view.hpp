// What the doctor found, as a page for a terminal. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace k3d::cli {

/// `host` is GET host. Grouped by what the checks are about, in their order; what is wrong is marked and comes with why it
/// matters and what to do. Lines with newlines, made safe.
std::string doctor_page(const nlohmann::ordered_json& host, bool colours);

/// Whether a check of GET host has failed.
bool any_check_failed(const nlohmann::ordered_json& host);

}  // namespace k3d::cli
