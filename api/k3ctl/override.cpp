// k3ctl override PROFILE KEY=VALUE... | --clear.
#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/override_words.hpp"
#include "api/k3ctl/safe_text.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {
namespace {

std::string outcome_of(const Json& profile, const std::string& name) {
  const std::string set = override_text(json_member(profile, "overrides"));
  std::string out = name + (set.empty() ? " is as configured" : " has " + set) + ", from its next start on\n";
  const std::string state = json_text(profile, "state");
  if (state == "active" || state == "starting")
    out += "Load it again now: " + shell_line({"k3ctl", "up", name, "--restart"}) + "\n";
  return out;
}

}  // namespace

Task<int> run_override(Session& session, OverrideCommand command) {
  const std::string target = "/api/v1/profiles/" + http::url_encode(command.profile) + "/overrides";
  auto asked = command.clear ? session.client.remove(target, api::reason_request_json(command.request.reason))
                             : session.client.post(target, api::overrides_request_json(command.request));
  return show(session, std::move(asked), [name = command.profile](const Json& profile) {
    return safe_text(outcome_of(profile, name), Lines::many);
  });
}

}  // namespace k3d::cli
