#include "api/http/auth.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>

#include "api/http/field_syntax.hpp"

namespace k3d::api {
namespace {

using boost::beast::iequals;

std::string this_host() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? lower_case(name) : std::string();
}

/// The authority of "scheme://host:port" without the scheme's own port; empty for "null" and what is no origin.
std::string origin_authority(std::string_view origin) {
  for (const auto& [scheme, port] :
       {std::pair<std::string_view, std::string_view>{"http://", ":80"}, {"https://", ":443"}}) {
    if (!origin.starts_with(scheme)) continue;
    std::string authority = lower_case(origin.substr(scheme.size()));
    if (authority.ends_with(port)) authority.resize(authority.size() - port.size());
    return authority;
  }
  return {};
}

/// Whether a page of `origin` is this daemon's own or one that the configuration names. Another port of this host is
/// another program: its pages are foreign.
bool origin_allowed(std::string_view origin, std::string_view host, const std::vector<std::string>& allowed) {
  const std::string from = origin_authority(origin);
  if (from.empty()) return false;
  std::string own = lower_case(host);
  if (origin.starts_with("http://") && own.ends_with(":80")) own.resize(own.size() - 3);
  if (origin.starts_with("https://") && own.ends_with(":443")) own.resize(own.size() - 4);
  return from == own || std::any_of(allowed.begin(), allowed.end(),
                                    [&from](const std::string& other) { return lower_case(other) == from; });
}

std::string_view bearer(const RequestHead& head) {
  const std::string_view value = head.field("Authorization");
  return value.size() > 7 && iequals(value.substr(0, 7), "Bearer ") ? value.substr(7) : std::string_view();
}

}  // namespace

std::string host_without_port(std::string_view host) {
  if (host.starts_with('[')) return lower_case(host.substr(0, host.find(']') + 1));
  return lower_case(host.substr(0, host.find(':')));
}

bool host_allowed(std::string_view host, const std::vector<std::string>& allowed) {
  const std::string name = host_without_port(host);
  if (name == "localhost" || name == "127.0.0.1" || name == "[::1]") return true;
  const auto same = [&name](const std::string& other) { return host_without_port(other) == name; };
  if (std::any_of(allowed.begin(), allowed.end(), same)) return true;
  const std::string own = this_host();
  return !own.empty() && (name == own || (name.starts_with(own + ".") && name.ends_with(".ts.net")));
}

Status authorise(const RequestHead& head, const Peer& peer, Scope scope, const AuthRules& rules) {
  if (peer.unix_socket) return {};
  const std::string_view host = head.field("Host");
  const bool known = host_allowed(host, rules.allowed_hosts) || host_allowed(host, rules.own_addresses);
  if (!host.empty() && !known) {
    return fail(Code::host_not_allowed, "the Host \"" + std::string(host) + "\" is not one of this daemon's",
                "use its address, or add the name to control.allowed_hosts");
  }
  const std::string_view origin = head.field("Origin");
  if (!origin.empty() && !origin_allowed(origin, host, rules.allowed_hosts)) {
    return fail(Code::origin_not_allowed, "pages of " + std::string(origin) + " may not ask this daemon");
  }
  if (scope == Scope::open) return {};
  const std::string_view token = bearer(head);
  // Both comparisons always run: the time tells nothing about which token was close.
  const bool full = rules.full_token.matches(token);
  const bool read = rules.read_token.matches(token);
  if (full || (read && scope == Scope::read)) return {};
  if (read) return fail(Code::forbidden, "this token may only read", "use the token of control.token_file");
  return fail(Code::unauthorized, token.empty() ? "a token is needed" : "the token is not valid",
              "send Authorization: Bearer TOKEN with the content of control.token_file, or use the unix socket");
}

Status check_content_type(const RequestHead& head) {
  const std::string_view type = head.field("Content-Type");
  const std::string_view name = trim_blanks(type.substr(0, std::min(type.find(';'), type.size())));
  if (iequals(name, "application/json")) return {};
  return fail(Code::unsupported_media_type,
              type.empty() ? "the body has no Content-Type" : "the body is " + std::string(type),
              "send Content-Type: application/json");
}

}  // namespace k3d::api
