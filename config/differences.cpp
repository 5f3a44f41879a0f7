#include "config/differences.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace k3d::config {
namespace {

struct Compared {
  const char* name;
  bool (*same)(const Settings& a, const Settings& b);
};

/// For keys whose list is read as a set.
bool same_set(std::vector<std::string> a, std::vector<std::string> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

using S = const Settings&;

constexpr std::array kCompared{
    Compared{"instance", [](S a, S b) { return a.instance == b.instance; }},
    Compared{"boot", [](S a, S b) { return a.boot == b.boot; }},
    Compared{"on_exit", [](S a, S b) { return a.on_exit == b.on_exit; }},
    Compared{"exit_drain_seconds", [](S a, S b) { return a.exit_drain == b.exit_drain; }},
    Compared{"state", [](S a, S b) { return a.state == b.state; }},
    Compared{"control.listen", [](S a, S b) { return same_set(a.control.listen, b.control.listen); }},
    Compared{"control.group", [](S a, S b) { return a.control.group == b.control.group; }},
    Compared{"control.token_file", [](S a, S b) { return a.control.token_file == b.control.token_file; }},
    Compared{"control.read_token_file",
             [](S a, S b) { return a.control.read_token_file == b.control.read_token_file; }},
    Compared{"control.allowed_hosts",
             [](S a, S b) { return same_set(a.control.allowed_hosts, b.control.allowed_hosts); }},
    Compared{"proxy.listen", [](S a, S b) { return same_set(a.proxy.listen, b.proxy.listen); }},
    Compared{"proxy.expose", [](S a, S b) { return a.proxy.expose == b.proxy.expose; }},
    Compared{"proxy.api_keys_file", [](S a, S b) { return a.proxy.api_keys_file == b.proxy.api_keys_file; }},
    Compared{"proxy.max_body_bytes", [](S a, S b) { return a.proxy.max_body_bytes == b.proxy.max_body_bytes; }},
    Compared{"proxy.cors_origins", [](S a, S b) { return same_set(a.proxy.cors_origins, b.proxy.cors_origins); }},
    Compared{"docker.host", [](S a, S b) { return a.docker.host == b.docker.host; }},
    Compared{"docker.tls_ca", [](S a, S b) { return a.docker.tls_ca == b.docker.tls_ca; }},
    Compared{"docker.tls_cert", [](S a, S b) { return a.docker.tls_cert == b.docker.tls_cert; }},
    Compared{"docker.tls_key", [](S a, S b) { return a.docker.tls_key == b.docker.tls_key; }},
    Compared{"hub.endpoint", [](S a, S b) { return a.hub.endpoint == b.hub.endpoint; }},
    Compared{"hub.cache", [](S a, S b) { return a.hub.cache == b.hub.cache; }},
    Compared{"hub.token_file", [](S a, S b) { return a.hub.token_file == b.hub.token_file; }},
    Compared{"hub.connections", [](S a, S b) { return a.hub.connections == b.hub.connections; }},
    Compared{"hub.ca_file", [](S a, S b) { return a.hub.ca_file == b.hub.ca_file; }},
};

template <class T>
void compare_named(const std::string& section, const std::map<std::string, T>& before,
                   const std::map<std::string, T>& after, std::vector<std::string>& out) {
  std::set<std::string> names;
  for (const auto& [name, _] : before) names.insert(name);
  for (const auto& [name, _] : after) names.insert(name);
  for (const std::string& name : names) {
    const auto a = before.find(name), b = after.find(name);
    if (a == before.end() || b == after.end() || !(a->second == b->second)) out.push_back(section + "." + name);
  }
}

std::map<std::string, Profile> by_name(const std::vector<Profile>& profiles) {
  std::map<std::string, Profile> out;
  for (Profile profile : profiles) {
    std::ranges::sort(profile.aliases);
    out[profile.name] = std::move(profile);
  }
  return out;
}

}  // namespace

std::vector<std::string> differences(const Settings& before, const Settings& after) {
  std::vector<std::string> out;
  for (const Compared& one : kCompared) {
    if (!one.same(before, after)) out.emplace_back(one.name);
  }
  compare_named("sources", before.sources, after.sources, out);
  compare_named("models", before.models, after.models, out);
  compare_named("quants", before.quants, after.quants, out);
  compare_named("profiles", by_name(before.profiles), by_name(after.profiles), out);
  return out;
}

bool needs_restart(std::string_view name) {
  return name == "instance" || name == "state" || name == "proxy.listen" || name.starts_with("control.") ||
         name.starts_with("docker.");
}

}  // namespace k3d::config
