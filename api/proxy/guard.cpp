#include "api/proxy/guard.hpp"

#include <unistd.h>

#include <algorithm>

#include "daemon/base/files.hpp"
#include "daemon/base/log.hpp"

namespace k3d::proxy {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::string this_host() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? lower(name) : std::string();
}

/// "name", "name:port", "[v6]:port" -> the name alone.
std::string without_port(std::string_view host) {
  if (host.starts_with('[')) return lower(host.substr(0, host.find(']') + 1));
  return lower(host.substr(0, host.find(':')));
}

}  // namespace

Guard::Guard(const ProxySettings& settings, std::vector<std::string> allowed_hosts) : settings_(settings) {
  hosts_ = {"localhost", "127.0.0.1", "[::1]"};
  if (const std::string name = this_host(); !name.empty()) hosts_.push_back(name);
  for (const std::string& host : allowed_hosts) hosts_.push_back(lower(host));
}

void Guard::allow_host(std::string host) {
  const std::lock_guard lock(mutex_);
  hosts_.push_back(lower(host));
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
  const std::string name = without_port(host);
  const std::string own = this_host();
  const std::lock_guard lock(mutex_);
  if (std::find(hosts_.begin(), hosts_.end(), name) != hosts_.end()) return true;
  return !own.empty() && name.starts_with(own + ".") && name.ends_with(".ts.net");
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
  } else if (head.minor_version > 0 && !host_allowed(head.field("Host"))) {
    return fail(Code::host_not_allowed, "the Host \"" + std::string(head.field("Host")) + "\" is not one of this server's",
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
