// The kernel's small files of text: reading one whole, and finding a value in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/model/host_report.hpp"

namespace k3d::adapters {

/// Files of /proc have no size: read to the end, a few MiB at most (cpuinfo of a large host). Empty if it can't be read.
std::string proc_text(const std::filesystem::path& path);

/// The same, or why not: "/proc/x is closed to uid 998", "there is no /proc/x".
Known<std::string> known_text(const std::filesystem::path& path);

/// The number that `text` begins with, behind spaces.
std::optional<std::uint64_t> leading_number(std::string_view text);

/// What stands behind "KEY:" in a file of such lines.
std::optional<std::string> value_of(const std::string& text, std::string_view key);
std::optional<std::uint64_t> number_of(const std::string& text, std::string_view key);

/// Without spaces and newlines at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace k3d::adapters
