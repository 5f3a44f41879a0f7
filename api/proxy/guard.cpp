#include "api/proxy/guard.hpp"

#include <algorithm>

#include "api/http/auth.hpp"
#include "daemon/base/files.hpp"
#include "daemon/base/log.hpp"

namespace k3d::proxy {
Guard::Guard(const ProxySettings& settings, std::vector<std::string> allowed_hosts)
    : settings_(settings), hosts_(std::move(allowed_hosts)) {}

void Guard::allow_host(std::string host) {
  const std::lock_guard lock(mutex_);
  hosts_.push_back(std::move(host));
}

Status Guard::load() {
  if (settings_.api_keys_file.empty()) return {};
  const Result<std::string> text = read_file(settings_.api_keys_file);
  if (!text) {
    Error error = text.error();
    error.code = Code::config_invalid;
    error.hint = "make the file of proxy.api_keys_file with lines NAME SHA256HEX, readable by k3d";
    return fail(error);
  }
  Result<ApiKeys> keys = ApiKeys::parse(*text, settings_.api_keys_file);
  if (!keys) return fail(keys.error());
  const std::lock_guard lock(mutex_);
  keys_ = std::move(*keys);
  std::error_code ec;
  keys_time_ = std::filesystem::last_write_time(settings_.api_keys_file, ec);
  return {};
}

void Guard::refresh() {
  {
    const std::lock_guard lock(mutex_);
    const SteadyTime now = std::chrono::steady_clock::now();
    if (!keys_ || now - checked_at_ < seconds(1)) return;
    checked_at_ = now;
    std::error_code ec;
    const auto time = std::filesystem::last_write_time(settings_.api_keys_file, ec);
    if (ec || time == keys_time_) return;
    keys_time_ = time;
  }
  if (const Status loaded = load(); !loaded) {
    log::error("the API keys can't be read again; the old ones stay in force", {{"cause", loaded.error().text()}});
  }
}

bool Guard::host_allowed(std::string_view host) {
  const std::lock_guard lock(mutex_);
  return api::host_allowed(host, hosts_);
}

Status Guard::admit(const api::RequestHead& head) {
  refresh();
  if (!settings_.api_keys_file.empty()) {
    const std::string key = presented_key(head.field("Authorization"), head.field("X-Api-Key"));
    const std::lock_guard lock(mutex_);
    if (!keys_ || !keys_->name_of(key)) {
      return fail(Code::unauthorized, key.empty() ? "an API key is needed" : "that API key is not known",
                  "send Authorization: Bearer KEY; ask this server's operator for a key");
    }
  } else if ((head.minor_version > 0 || !head.field("Host").empty()) && !host_allowed(head.field("Host"))) {
    return fail(Code::host_not_allowed,
                "the Host \"" + std::string(head.field("Host")) + "\" is not one of this server's",
                "use this server's address, or add the name to control.allowed_hosts");
  }
  if (!exposed(settings_.expose, head.method, head.path)) {
    return fail(Code::not_exposed, head.method + " " + head.path + " is not exposed",
                "proxy.expose: all lets everything of llama-server through");
  }
  return {};
}

std::string Guard::allowed_origin(const api::RequestHead& head) const {
  const std::string origin(head.field("Origin"));
  const auto& allowed = settings_.cors_origins;
  const auto has = [&allowed](const std::string& text) {
    return std::find(allowed.begin(), allowed.end(), text) != allowed.end();
  };
  return !origin.empty() && (has(origin) || has("*")) ? origin : std::string();
}

}  // namespace k3d::proxy
