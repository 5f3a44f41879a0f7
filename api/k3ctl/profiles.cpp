// k3ctl profiles [NAME].
#include <ostream>

#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/override_words.hpp"
#include "api/k3ctl/safe_text.hpp"
#include "api/k3ctl/table.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {
namespace {

std::string text_of(const Json& object, std::string_view key) {
  return json_string(object, key).value_or("");
}

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
  if (!present) return text_of(profile, "image");
  return text_of(profile, "image") + (*present ? "" : " (missing)");
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
    table.add({text_of(profile, "name"), text_of(profile, "state"), text_of(profile, "model"),
               text_of(profile, "quant"), number_text(profile, "context"), number_text(profile, "slots"),
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
  line("name", text_of(profile, "name"));
  line("state", text_of(profile, "state"));
  line("files", files_text(json_member(profile, "files")));
  line("image", image_text(profile));
  line("verdict", text_of(profile, "verdict"));
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
  std::string target = "/api/v1/profiles";
  if (!command.name.empty()) target += "/" + http::url_encode(command.name);
  Result<api::Answer> answer = co_await session.client.get(target);
  if (!answer) co_return report_unreachable(session, answer.error());
  if (!answer->ok()) co_return report_refusal(session, *answer);
  if (session.json) {
    print_raw(session, answer->body);
    co_return kDone;
  }
  const Result<Json> body = parse_json(answer->body);
  if (!body) co_return report_nonsense(session, body.error());
  session.out << (command.name.empty() ? table_of(json_member(*body, "items")) : page_of(*body)) << std::flush;
  co_return kDone;
}

}  // namespace k3d::cli
