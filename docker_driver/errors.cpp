#include "docker_driver/errors.hpp"

#include "daemon/base/json.hpp"
#include "docker_driver/docker.hpp"

namespace k3d::docker {
namespace {

constexpr std::size_t kMaxCause = 4 * kKiB;

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string hint_for(std::string_view cause, std::string_view address) {
  const bool local = address.starts_with('/');
  if (has(cause, "Permission denied")) {
    return "let k3d's user use Docker: add it to the docker group (usermod -aG docker USER) and start it again";
  }
  if (local) return "start Docker: systemctl start docker";
  if (has(cause, "TLS")) return "check docker.tls_ca, docker.tls_cert and docker.tls_key";
  return "check docker.host, and that Docker listens there";
}

/// {"message": "…"}, or the body itself when it is something else.
std::string message_of(std::string_view body) {
  std::string message;
  if (const Result<Json> parsed = parse_json(body); parsed) message = json_string(*parsed, "message").value_or("");
  if (message.empty()) message = body;
  while (!message.empty() && (message.back() == '\n' || message.back() == ' ')) message.pop_back();
  if (message.size() > kMaxCause) message.resize(kMaxCause);
  return message;
}

Error missing_image(std::string_view name, std::string cause) {
  return {Code::image_missing, "the image " + std::string(name) + " isn't on this host",
          "\"docker images\" lists what is here; k3d never pulls engine images", std::move(cause)};
}

}  // namespace

Error transport_error(const Error& error, std::string_view address) {
  const std::string where(address);
  switch (error.code) {
    case Code::cancelled:
    case Code::config_invalid:
      return error;
    case Code::timed_out:
      return {Code::docker_unresponsive, "Docker at " + where + " doesn't answer",
              "look at it: systemctl status docker, journalctl -u docker", error.message};
    case Code::unreachable:
      // A unix socket whose queue of connections is full: dockerd is there and accepts nothing.
      if (has(error.cause, "Resource temporarily unavailable")) {
        return {Code::docker_unresponsive, "Docker at " + where + " accepts no connection",
                "look at it: systemctl status docker, journalctl -u docker", error.cause};
      }
      return {Code::docker_unavailable, "can't connect to Docker at " + where, hint_for(error.cause, address),
              error.cause};
    default:
      return {Code::docker_unavailable,
              "the exchange with Docker at " + where + " broke off",
              {},
              error.cause.empty() ? error.message : error.cause};
  }
}

Error refusal(unsigned status, std::string_view body, Subject subject, std::string_view name) {
  std::string cause = message_of(body);
  const std::string what(name);
  if (status == 404 && (subject == Subject::image || has(cause, "No such image"))) {
    return missing_image(name, std::move(cause));
  }
  // Without a body (HEAD) the status says it; a start answers 404 also for other things that are missing.
  if (status == 404 && subject == Subject::container && (cause.empty() || has(cause, "No such container"))) {
    return {Code::not_found, "there is no container " + what, {}, std::move(cause)};
  }
  if (status == 409) return {Code::conflict, "Docker says that " + what + " is in another state", {}, std::move(cause)};
  std::string message = "Docker refused (HTTP " + std::to_string(status) + ")";
  if (!what.empty()) message += " for " + what;
  return {Code::docker_refused, std::move(message), {}, std::move(cause)};
}

bool is_away(const Error& error) {
  return error.code == Code::docker_unavailable || error.code == Code::docker_unresponsive;
}

bool is_memlock_refusal(const Error& error) {
  // runc names the limit by its number (8 is RLIMIT_MEMLOCK), crun by its name.
  if (error.code != Code::docker_refused) return false;
  return has(error.cause, "setting rlimit type 8") || has(error.cause, "RLIMIT_MEMLOCK");
}

}  // namespace k3d::docker
