// k3ctl reload.
#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/safe_text.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {
namespace {

std::vector<std::string> names_of(const Json& outcome, const char* key) {
  std::vector<std::string> names;
  const Json& list = json_member(outcome, key);
  if (!list.is_array()) return names;
  for (const Json& name : list) {
    if (name.is_string()) names.push_back(name.get<std::string>());
  }
  return names;
}

std::string page_of(const Json& outcome) {
  std::string out;
  for (const std::string& name : names_of(outcome, "changed")) out += "changed: " + safe_text(name) + "\n";
  if (out.empty()) out = "nothing changed\n";
  std::string later;
  for (const std::string& name : names_of(outcome, "restart_needed")) later += (later.empty() ? "" : ", ") + name;
  if (!later.empty()) {
    out += "needs a restart of k3d: " + safe_text(later) + "\n  -> systemctl restart k3d   # the engine stays loaded\n";
  }
  for (const std::string& name : names_of(outcome, "drifted_profiles")) {
    out += safe_text(name) + " runs otherwise than it is configured now\n  -> " +
           safe_text(shell_line({"k3ctl", "up", name, "--restart"})) + "   # loads it again\n";
  }
  return out;
}

}  // namespace

Task<int> run_reload(Session& session, ReloadCommand command) {
  return show(session, session.client.post("/api/v1/reload", api::reason_request_json(command.reason)), page_of);
}

}  // namespace k3d::cli
