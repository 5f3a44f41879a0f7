#include "daemon/engine/capabilities.hpp"

#include "daemon/base/json.hpp"

namespace k3d::engine {
namespace {

std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

/// The spellings at the beginning of an option's line: "-fitt, --fit-target MiB0,MiB1" gives two.
std::vector<std::string> spellings(std::string_view line) {
  std::vector<std::string> found;
  while (line.starts_with('-')) {
    const std::size_t end = std::min(line.find_first_of(", "), line.size());
    found.emplace_back(line.substr(0, end));
    const bool another = end < line.size() && line[end] == ',';
    line.remove_prefix(std::min(end + 1, line.size()));
    while (another && line.starts_with(' ')) line.remove_prefix(1);
    if (!another) break;
  }
  return found;
}

}  // namespace

EngineCapabilities parse_help(std::string_view help) {
  EngineCapabilities able;
  bool at_host = false;
  while (!help.empty()) {
    const std::string_view line = next_line(help);
    const std::vector<std::string> names = spellings(line);
    if (!names.empty()) at_host = false;
    for (const std::string& name : names) {
      if (name.size() < 2 || name.starts_with("---")) continue;  // "----- common params -----"
      able.flags[name] = names;
      if (name == "--host") at_host = true;
    }
    if (at_host && (line.find(".sock") != std::string_view::npos || line.find("UNIX") != std::string_view::npos)) {
      able.unix_socket = true;
    }
  }
  return able;
}

std::string capabilities_to_json(const EngineCapabilities& able) {
  return dump_json(Json{{"image_id", able.image_id},
                        {"has_shell", able.has_shell},
                        {"unix_socket", able.unix_socket},
                        {"flags", able.flags},
                        {"version", able.version}});
}

Result<EngineCapabilities> capabilities_from_json(std::string_view text) {
  const Result<Json> value = parse_json(text);
  if (!value) return fail(value.error());
  EngineCapabilities able;
  able.image_id = json_string(*value, "image_id").value_or("");
  able.has_shell = json_bool(*value, "has_shell").value_or(false);
  able.unix_socket = json_bool(*value, "unix_socket").value_or(false);
  able.version = json_string(*value, "version").value_or("");
  const Json& flags = json_member(*value, "flags");
  if (!flags.is_object() || able.image_id.empty()) return fail(Code::protocol, "these are not an image's capabilities");
  for (const auto& [flag, names] : flags.items()) {
    for (const Json& name : names) {
      if (name.is_string()) able.flags[flag].push_back(name.get<std::string>());
    }
  }
  return able;
}

}  // namespace k3d::engine
