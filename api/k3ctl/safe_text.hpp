// Text of others on a person's terminal: what comes from a server or a log may show, never act.
// Also quoting for a shell. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace k3d::cli {

enum class Lines { one, many };  ///< many: newlines and tabs stay

/// `text` without anything that a terminal would obey: colour sequences are dropped, other control characters and
/// the ones that turn the direction of writing are spelt out (\x1b), bytes that aren't UTF-8 become U+FFFD.
std::string safe_text(std::string_view text, Lines lines = Lines::one);

/// How many characters of a terminal `text` takes, by code points.
std::size_t display_width(std::string_view text);

/// The words as one line that a POSIX shell reads back as the same words.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace k3d::cli
