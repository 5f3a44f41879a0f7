#include "api/proxy/listeners.hpp"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "daemon/base/async/sleep.hpp"
#include "daemon/base/host_port.hpp"
#include "daemon/base/log.hpp"

namespace k3d::proxy {
namespace {

using asio::ip::tcp;

constexpr int kBacklog = 4096;
constexpr seconds kTailscaleInterval{10};
constexpr std::string_view kNamePrefix = "proxy-";

std::string host_of(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return endpoint.address().is_v6() ? "[" + address + "]" : address;
}

std::string text_of(const tcp::endpoint& endpoint) {
  return host_of(endpoint) + ":" + std::to_string(endpoint.port());
}

/// The service manager's name of the socket: a colon is not allowed in it.
std::string name_of(const std::string& address) {
  std::string name = std::string(kNamePrefix) + address;
  std::replace(name.begin(), name.end(), ':', '-');
  return name;
}

Result<tcp::endpoint> parse_endpoint(const std::string& text) {
  const Result<HostPort> parsed = parse_host_port(text);
  if (!parsed) return fail(parsed.error());
  boost::system::error_code bad;
  const auto address = asio::ip::make_address(parsed->host, bad);
  if (bad) {
    return fail(Code::config_invalid, "\"" + text + "\" is not an address of this host",
                "write ADDRESS:PORT or auto:PORT");
  }
  return tcp::endpoint(address, parsed->port);
}

/// Nothing for an address of another family.
std::optional<asio::ip::address> address_of(const sockaddr* from) {
  if (from->sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, from, sizeof in);
    return asio::ip::address_v4(ntohl(in.sin_addr.s_addr));
  }
  if (from->sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 in6{};
  std::memcpy(&in6, from, sizeof in6);
  asio::ip::address_v6::bytes_type bytes{};
  std::memcpy(bytes.data(), &in6.sin6_addr, bytes.size());
  return asio::ip::address_v6(bytes);
}

/// The addresses of every interface named tailscale*.
std::vector<asio::ip::address> tailscale_addresses() {
  std::vector<asio::ip::address> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || !std::string_view(entry->ifa_name).starts_with("tailscale")) continue;
    const auto address = address_of(entry->ifa_addr);
    if (address && !(address->is_v6() && address->to_v6().is_link_local())) found.push_back(*address);
  }
  ::freeifaddrs(list);
  return found;
}

/// Where a passed socket listens; nothing if it doesn't.
std::optional<tcp::endpoint> listens_at(int fd) {
  int listening = 0;
  socklen_t size = sizeof listening;
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || listening == 0) return std::nullopt;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length) != 0) return std::nullopt;
  const auto address = address_of(reinterpret_cast<const sockaddr*>(&bound));
  if (!address) return std::nullopt;
  // The port stands at the same place in both families.
  return tcp::endpoint(*address, ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port));
}

Result<int> open_socket(const Executor& control, const tcp::endpoint& endpoint) {
  Acceptor made(control);
  boost::system::error_code ec;
  made.open(endpoint.protocol(), ec);
  if (!ec) made.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) made.bind(endpoint, ec);
  if (!ec) made.listen(kBacklog, ec);
  if (!ec) return made.release();
  return fail(Code::conflict, "the proxy can't listen on " + text_of(endpoint),
              "free the port (`ss -ltnp` names its owner) or change proxy.listen", ec.message());
}

}  // namespace

bool Listeners::owns(const PassedSocket& socket) {
  return socket.name.starts_with(kNamePrefix);
}

Status Listeners::open(const std::vector<std::string>& addresses, const std::vector<PassedSocket>& passed) {
  std::vector<tcp::endpoint> wanted;
  for (const std::string& address : addresses) {
    const bool automatic = address.starts_with("auto:");
    const auto endpoint = parse_endpoint(automatic ? "127.0.0.1:" + address.substr(5) : address);
    if (!endpoint) return fail(endpoint.error());
    if (automatic) auto_ports_.push_back(endpoint->port());
    wanted.push_back(*endpoint);
  }
  std::vector<tcp::endpoint> usable = tailscale_endpoints();
  usable.insert(usable.end(), wanted.begin(), wanted.end());
  take(passed, usable);
  for (const tcp::endpoint& endpoint : wanted) {
    if (Status bound = bind(endpoint); !bound) return bound;
  }
  look_for_tailscale();
  return {};
}

void Listeners::take(const std::vector<PassedSocket>& passed, const std::vector<Endpoint>& wanted) {
  for (const PassedSocket& socket : passed) {
    if (!owns(socket)) continue;
    const auto at = listens_at(socket.fd);
    if (at && std::find(wanted.begin(), wanted.end(), *at) != wanted.end() && !passed_.contains(text_of(*at))) {
      passed_[text_of(*at)] = socket.fd;
      continue;
    }
    // The service manager's duplicate would listen on: the address has to be free for others at once.
    ::shutdown(socket.fd, SHUT_RDWR);
    ::close(socket.fd);
    notifier_.forget(socket.name);
  }
}

Status Listeners::bind(const Endpoint& endpoint) {
  const auto given = passed_.find(text_of(endpoint));
  const Result<int> fd = given != passed_.end() ? Result<int>(given->second) : open_socket(control_, endpoint);
  if (!fd) return fail(fd.error());
  if (given != passed_.end()) passed_.erase(given);
  // Assigned, not opened: only then Asio takes it out of its epoll when it is closed, which the kernel doesn't do while
  // the service manager has a duplicate.
  auto acceptor = std::make_shared<Acceptor>(control_);
  boost::system::error_code ec;
  acceptor->assign(endpoint.protocol(), *fd, ec);
  if (ec) {
    ::close(*fd);
    return fail(Code::io_failed, "the proxy can't listen on " + text_of(endpoint), {}, ec.message());
  }
  const std::string bound = text_of(acceptor->local_endpoint(ec));
  acceptors_[bound] = acceptor;
  notifier_.keep(name_of(bound), *fd);
  opened_(acceptor, host_of(endpoint));
  return {};
}

std::vector<tcp::endpoint> Listeners::tailscale_endpoints() const {
  std::vector<tcp::endpoint> endpoints;
  if (auto_ports_.empty()) return endpoints;
  for (const asio::ip::address& address : tailscale_addresses()) {
    for (const std::uint16_t port : auto_ports_) endpoints.emplace_back(address, port);
  }
  return endpoints;
}

std::size_t Listeners::look_for_tailscale() {
  std::size_t added = 0;
  for (const tcp::endpoint& endpoint : tailscale_endpoints()) {
    if (acceptors_.contains(text_of(endpoint))) continue;
    if (const Status bound = bind(endpoint)) ++added;
  }
  return added;
}

Task<void> Listeners::follow_tailscale() {
  if (auto_ports_.empty()) co_return;
  while (co_await sleep_for(kTailscaleInterval)) {
    if (look_for_tailscale() > 0) log::info("the proxy listens on a new Tailscale address");
  }
}

void Listeners::close() {
  for (const auto& [address, acceptor] : acceptors_) {
    boost::system::error_code ignored;
    acceptor->close(ignored);
  }
  acceptors_.clear();
  for (const auto& [address, fd] : passed_) ::close(fd);
  passed_.clear();
}

std::vector<std::string> Listeners::addresses() const {
  std::vector<std::string> all;
  for (const auto& [address, acceptor] : acceptors_) all.push_back(address);
  return all;
}

}  // namespace k3d::proxy
