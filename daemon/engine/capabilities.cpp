#include "daemon/engine/capabilities.hpp"

#include <algorithm>
#include <optional>

#include "daemon/base/json.hpp"

namespace k3d::engine {
namespace {

constexpr std::size_t kMaxLine = 4096;

/// One option of the help: its spellings, and what is written for its value.
struct Option {
  std::vector<std::string> spellings;
  std::string value;
};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_flag(std::string_view word) {
  if (word.size() < 2 || word[0] != '-') return false;
  const char first = word[1] == '-' && word.size() > 2 ? word[2] : word[1];
  return is_letter(first) && std::all_of(word.begin(), word.end(), [](char c) {
           return is_letter(c) || c == '-' || c == '_' || (c >= '0' && c <= '9');
         });
}

/// The next word; `line` then begins with the one behind it, and `gap` is how many spaces were between them.
std::string_view next_word(std::string_view& line, std::size_t& gap) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  const std::size_t next = std::min(line.find_first_not_of(' ', end), line.size());
  gap = next - end;
  line.remove_prefix(next);
  return word;
}

/// A line such as "-ngl,  --gpu-layers, --n-gpu-layers N   max. number of …". A comma follows every spelling but the
/// last; one space parts that from its value, and two or more, or the line's end, the value from the description.
Option parse_line(std::string_view line) {
  Option option;
  if (line.size() > kMaxLine) return option;
  for (bool more = true; more;) {
    std::size_t gap = 0;
    std::string_view word = next_word(line, gap);
    more = word.ends_with(',');
    if (more) word.remove_suffix(1);
    if (!is_flag(word)) return Option{};
    option.spellings.emplace_back(word);
    if (!more && gap == 1) option.value = line.substr(0, std::min(line.find("  "), line.size()));
  }
  return option;
}

bool speaks_of_sockets(std::string_view text) {
  return text.find(".sock") != std::string_view::npos || text.find("UNIX") != std::string_view::npos ||
         text.find("unix") != std::string_view::npos;
}

void add(EngineCapabilities& capabilities, const Option& option) {
  for (const std::string& spelling : option.spellings) {
    capabilities.flags[spelling] = option.spellings;
    if (!option.value.empty()) capabilities.values[spelling] = option.value;
  }
}

std::unexpected<Error> unreadable() {
  return fail(Code::protocol, "the kept capabilities of an image can't be read");
}

/// A list of strings, or nothing.
std::optional<std::vector<std::string>> strings(const Json& list) {
  if (!list.is_array()) return std::nullopt;
  std::vector<std::string> texts;
  for (const Json& item : list) {
    if (!item.is_string()) return std::nullopt;
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

}  // namespace

EngineCapabilities parse_help(std::string_view help) {
  EngineCapabilities capabilities;
  bool in_host = false;
  while (!help.empty()) {
    const std::size_t end = std::min(help.find('\n'), help.size());
    std::string_view line = help.substr(0, end);
    help.remove_prefix(std::min(end + 1, help.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const Option option = parse_line(line);
    if (!option.spellings.empty()) {
      add(capabilities, option);
      in_host = option.spellings.front() == "--host";
    }
    if (in_host && speaks_of_sockets(line)) capabilities.unix_socket = true;
  }
  // Any program's help has flags; llama-server's has these.
  if (!capabilities.has("--model") || !capabilities.has("--host")) return EngineCapabilities{};
  return capabilities;
}

std::string capabilities_to_json(const EngineCapabilities& capabilities) {
  return dump_json({{"image_id", capabilities.image_id},
                    {"has_shell", capabilities.has_shell},
                    {"unix_socket", capabilities.unix_socket},
                    {"version", capabilities.version},
                    {"flags", Json(capabilities.flags)},
                    {"values", Json(capabilities.values)}});
}

Result<EngineCapabilities> capabilities_from_json(std::string_view json) {
  const Result<Json> parsed = parse_json(json);
  if (!parsed) return fail(parsed.error());
  EngineCapabilities capabilities;
  const auto image = json_string(*parsed, "image_id");
  const auto shell = json_bool(*parsed, "has_shell"), socket = json_bool(*parsed, "unix_socket");
  const Json& flags = json_member(*parsed, "flags");
  const Json& values = json_member(*parsed, "values");
  if (!image || !shell || !socket || !flags.is_object() || !values.is_object()) return unreadable();
  capabilities.image_id = *image;
  capabilities.has_shell = *shell;
  capabilities.unix_socket = *socket;
  capabilities.version = json_string(*parsed, "version").value_or("");
  for (const auto& [flag, spellings] : flags.items()) {
    auto list = strings(spellings);
    if (!list) return unreadable();
    capabilities.flags[flag] = std::move(*list);
  }
  for (const auto& [flag, value] : values.items()) {
    if (!value.is_string()) return unreadable();
    capabilities.values[flag] = value.get<std::string>();
  }
  return capabilities;
}

}  // namespace k3d::engine
