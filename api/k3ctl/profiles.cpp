// k3ctl profiles [NAME].
#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/override_words.hpp"
#include "api/k3ctl/safe_text.hpp"
#include "api/k3ctl/table.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {
namespace {

std::string number_text(const Json& object, std::string_view key) {
  const auto number = json_int(object, key);
  return number ? std::to_string(*number) : std::string();
}

/// "711.1 GB", "12.0 GB of 711.1 GB", or nothing while unknown.
std::string files_text(const Json& files) {
  const auto present = json_int(files, "present_bytes");
  const auto total = json_int(files, "total_bytes");
  if (!present || !total || *present < 0 || *total < 0) return {};
  const std::string all = format_bytes(static_cast<Bytes>(*total));
  return *present == *total ? all : format_bytes(static_cast<Bytes>(*present)) + " of " + all;
}

std::string image_text(const Json& profile) {
  const auto present = json_bool(profile, "image_present");
  if (!present) return json_text(profile, "image");
  return json_text(profile, "image") + (*present ? "" : " (missing)");
}

std::string table_of(const Json& items) {
  Table table({{"NAME"},
               {"STATE"},
               {"MODEL"},
               {"QUANT"},
               {"CONTEXT", true},
               {"SLOTS", true},
               {"FILES", true},
               {"IMAGE"},
               {"OVERRIDES"}});
  for (const Json& profile : items) {
    table.add({json_text(profile, "name"), json_text(profile, "state"), json_text(profile, "model"),
               json_text(profile, "quant"), number_text(profile, "context"), number_text(profile, "slots"),
               files_text(json_member(profile, "files")), image_text(profile),
               override_text(json_member(profile, "overrides"))});
  }
  return table.text();
}

/// Everything about one profile, its settings line by line.
std::string page_of(const Json& profile) {
  std::string out;
  const auto line = [&out](const std::string& name, const std::string& value) {
    if (!value.empty())
      out += name + std::string(name.size() < 18 ? 18 - name.size() : 1, ' ') + safe_text(value) + "\n";
  };
  line("name", json_text(profile, "name"));
  line("state", json_text(profile, "state"));
  line("files", files_text(json_member(profile, "files")));
  line("image", image_text(profile));
  line("verdict", json_text(profile, "verdict"));
  line("overrides", override_text(json_member(profile, "overrides")));
  out += "\n";
  const Json& config = json_member(profile, "config");
  if (config.is_object()) {
    for (const auto& [name, value] : config.items()) {
      if (!value.is_null()) line(safe_text(name), value.is_string() ? value.get<std::string>() : dump_json(value));
    }
  }
  return out;
}

}  // namespace

Task<int> run_profiles(Session& session, ProfilesCommand command) {
  const bool one = !command.name.empty();
  const std::string target = one ? "/api/v1/profiles/" + http::url_encode(command.name) : "/api/v1/profiles";
  return show(session, session.client.get(target), [one](const Json& body) {
    return one ? page_of(body) : table_of(json_member(body, "items"));
  });
}

}  // namespace k3d::cli
