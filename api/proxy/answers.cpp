#include "api/proxy/answers.hpp"

#include <set>

#include "api/contract/profile.hpp"
#include "daemon/base/json.hpp"

namespace k3d::proxy {
namespace {

std::string reason_phrase(unsigned status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    default:
      return status < 500 ? "Error" : "Server Error";
  }
}

/// OpenAI's error types by status.
std::string type_of(unsigned status) {
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  if (status == 404) return "not_found_error";
  if (status == 429) return "rate_limit_error";
  if (status == 503) return "unavailable_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

}  // namespace

Answer openai_error(unsigned status, const std::string& message, const std::string& code) {
  const Json body{{"error", {{"message", message}, {"type", type_of(status)}, {"code", code}}}};
  return {status, {}, dump_json(body)};
}

Answer error_answer(const Error& error) {
  return openai_error(http_status(error.code), error.text(), std::string(to_string(error.code)));
}

Answer models_answer(const Snapshot& snapshot) {
  Json data = Json::array();
  std::set<std::string> told;
  const std::vector<Profile> none;
  const Profile* active = snapshot.settings ? snapshot.settings->find_profile(snapshot.active_profile) : nullptr;
  for (const Profile& profile : snapshot.settings ? snapshot.settings->profiles : none) {
    std::vector<std::string> names{profile.name};
    names.insert(names.end(), profile.aliases.begin(), profile.aliases.end());
    for (const std::string& name : names) {
      if (!told.insert(name).second) continue;
      // An alias that profiles share is whoever's that runs.
      const Profile& owner = active != nullptr && name != profile.name && answers_to(*active, name) ? *active : profile;
      data.push_back({{"id", name},
                      {"object", "model"},
                      {"created", 0},
                      {"owned_by", "k3d"},
                      {"profile", owner.name},
                      {"state", std::string(api::to_string(api::profile_state(snapshot, owner.name)))}});
    }
  }
  return {200, {}, dump_json(Json{{"object", "list"}, {"data", data}})};
}

std::string serialise(const Answer& answer, bool keep_alive, bool head_only) {
  std::string out = "HTTP/1.1 " + std::to_string(answer.status) + " " + reason_phrase(answer.status) + "\r\n";
  for (const auto& [name, value] : answer.headers) out += name + ": " + value + "\r\n";
  if (answer.status == 401) out += "WWW-Authenticate: Bearer\r\n";
  if (!answer.body.empty()) out += "Content-Type: application/json\r\n";
  if (answer.status != 204) out += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n";
  out += keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  if (!head_only) out += answer.body;
  return out;
}

}  // namespace k3d::proxy
