#include "api/proxy/proxy.hpp"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <cstring>
#include <thread>

#include "daemon/base/async/sleep.hpp"
#include "daemon/base/host_port.hpp"
#include "daemon/base/log.hpp"

namespace k3d::proxy {
namespace {

using asio::ip::tcp;

constexpr milliseconds kDrainInterval{25};
constexpr seconds kTailscaleInterval{10};

std::size_t loop_count() {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, 1, 4);
}

std::string text_of(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  const std::string port = std::to_string(endpoint.port());
  return endpoint.address().is_v6() ? "[" + address + "]:" + port : address + ":" + port;
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

/// The addresses of every interface named tailscale*.
std::vector<asio::ip::address> tailscale_addresses() {
  std::vector<asio::ip::address> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || !std::string_view(entry->ifa_name).starts_with("tailscale")) continue;
    if (entry->ifa_addr->sa_family == AF_INET) {
      sockaddr_in in{};
      std::memcpy(&in, entry->ifa_addr, sizeof in);
      found.emplace_back(asio::ip::address_v4(ntohl(in.sin_addr.s_addr)));
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      sockaddr_in6 in6{};
      std::memcpy(&in6, entry->ifa_addr, sizeof in6);
      asio::ip::address_v6::bytes_type bytes{};
      std::memcpy(bytes.data(), &in6.sin6_addr, bytes.size());
      const asio::ip::address_v6 address(bytes);
      if (!address.is_link_local()) found.emplace_back(address);
    }
  }
  ::freeifaddrs(list);
  return found;
}

/// The sessions that one of `loops` loops may have: each takes two descriptors, and the rest of k3d needs some too.
std::uint64_t sessions_most(std::uint64_t wanted, std::size_t loops) {
  constexpr rlim_t kReserved = 128;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  const rlim_t left = limit.rlim_cur > 2 * kReserved ? limit.rlim_cur - kReserved : kReserved;
  return std::min<std::uint64_t>(wanted, left / 2 / loops);
}

/// Runs `work` on the worker's loop and resumes here with its number. Short work: it can't be cancelled, and a
/// cancellation must not reach across loops.
template <class Work>
Task<std::uint64_t> on_loop(Worker& worker, Work work) {
  const auto here = asio::prefer(co_await asio::this_coro::executor, asio::execution::outstanding_work.tracked);
  auto initiate = [here](auto handler, Worker* target, Work job) {
    asio::post(target->loop(), [here, target, job, done = std::move(handler)]() mutable {
      asio::post(here, [number = job(*target), finish = std::move(done)]() mutable { std::move(finish)(number); });
    });
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::uint64_t)>(
      std::move(initiate), asio::use_awaitable, &worker, work);
}

}  // namespace

Proxy::Proxy(Executor control, Board& board, const Settings& settings, Limits limits)
    : control_(control),
      board_(board),
      addresses_(settings.proxy.listen),
      guard_(settings.proxy, settings.control.allowed_hosts),
      limits_(limits),
      tasks_(control) {}

Proxy::~Proxy() = default;

Status Proxy::start() {
  if (Status loaded = guard_.load(); !loaded) return loaded;
  const std::size_t loops = loop_count();
  limits_.sessions = sessions_most(limits_.sessions, loops);
  for (std::size_t i = 0; i < loops; ++i) workers_.push_back(std::make_unique<Worker>(board_, guard_, limits_));
  for (const std::string& address : addresses_) {
    if (Status listening = listen_on(address); !listening) return listening;
  }
  if (!auto_ports_.empty()) tasks_.spawn(follow_tailscale());
  return {};
}

Status Proxy::listen_on(const std::string& address) {
  if (!address.starts_with("auto:")) {
    const Result<tcp::endpoint> endpoint = parse_endpoint(address);
    if (!endpoint) return fail(endpoint.error());
    return bind(*endpoint);
  }
  const Result<tcp::endpoint> endpoint = parse_endpoint("127.0.0.1:" + address.substr(5));
  if (!endpoint) return fail(endpoint.error());
  if (Status bound = bind(*endpoint); !bound) return bound;
  auto_ports_.push_back(endpoint->port());
  look_for_tailscale();
  return {};
}

Status Proxy::bind(const tcp::endpoint& endpoint) {
  auto acceptor = std::make_shared<Acceptor>(control_);
  boost::system::error_code ec;
  acceptor->open(endpoint.protocol(), ec);
  if (!ec) acceptor->set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor->bind(endpoint, ec);
  if (!ec) acceptor->listen(4096, ec);
  if (ec) {
    return fail(Code::conflict, "the proxy can't listen on " + text_of(endpoint),
                "free the port (`ss -ltnp` names its owner) or change proxy.listen", ec.message());
  }
  const tcp::endpoint bound = acceptor->local_endpoint(ec);
  acceptors_[text_of(bound)] = acceptor;
  guard_.allow_host(endpoint.address().is_v6() ? "[" + endpoint.address().to_string() + "]"
                                               : endpoint.address().to_string());
  tasks_.spawn(accept(acceptor));
  return {};
}

Task<void> Proxy::accept(std::shared_ptr<Acceptor> acceptor) {
  while (acceptor->is_open()) {
    Worker& worker = *workers_[next_worker_++ % workers_.size()];
    // The accepted socket belongs to the worker's loop from the beginning.
    auto [ec, socket] = co_await acceptor->async_accept(worker.loop(), tok);
    if (!ec) {
      worker.serve(std::move(socket));
      continue;
    }
    if (ec == asio::error::operation_aborted) co_return;
    // Out of descriptors: a pause instead of a busy loop; the connection waits in the backlog.
    if (!co_await sleep_for(milliseconds(100))) co_return;
  }
}

std::size_t Proxy::look_for_tailscale() {
  std::size_t added = 0;
  for (const asio::ip::address& address : tailscale_addresses()) {
    for (const std::uint16_t port : auto_ports_) {
      const tcp::endpoint endpoint(address, port);
      if (acceptors_.contains(text_of(endpoint))) continue;
      if (const Status bound = bind(endpoint)) ++added;
    }
  }
  return added;
}

Task<void> Proxy::follow_tailscale() {
  while (co_await sleep_for(kTailscaleInterval)) {
    if (look_for_tailscale() > 0) log::info("the proxy listens on a new Tailscale address");
  }
}

Task<bool> Proxy::drain(std::uint64_t generation, seconds limit) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    std::uint64_t left = 0;
    // Counting on each loop is the barrier: what that loop admitted before, it has counted; what comes after, it
    // admits under the published snapshot.
    // By index: stop() may end the workers meanwhile.
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      left += co_await on_loop(*workers_[i], [generation](Worker& w) { return w.in_flight_below(generation); });
    }
    if (left == 0) co_return true;
    if (std::chrono::steady_clock::now() >= deadline) co_return false;
    if (!co_await sleep_for(kDrainInterval)) co_return false;
  }
}

Task<void> Proxy::cut(std::uint64_t generation) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    co_await on_loop(*workers_[i], [generation](Worker& w) {
      w.cut_below(generation);
      return std::uint64_t{0};
    });
  }
}

ProxyView Proxy::view() const {
  ProxyView view;
  for (const auto& [address, acceptor] : acceptors_) view.listen.push_back(address);
  for (const auto& worker : workers_) view.in_flight += worker->in_flight();
  return view;
}

Task<void> Proxy::stop(seconds limit) {
  for (const auto& [address, acceptor] : acceptors_) {
    boost::system::error_code ignored;
    acceptor->close(ignored);
  }
  tasks_.cancel();
  co_await tasks_.join();
  acceptors_.clear();
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    co_await on_loop(*workers_[i], [](Worker& w) {
      w.retire();
      return std::uint64_t{0};
    });
  }
  co_await drain(~std::uint64_t{0}, limit);
  workers_.clear();
}

}  // namespace k3d::proxy
