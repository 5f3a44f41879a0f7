#include "api/proxy/departures.hpp"

#include <sys/epoll.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <system_error>

namespace k3d::proxy {
namespace {

int make_epoll() {
  const int fd = ::epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  return fd;
}

}  // namespace

Departures::Departures(asio::io_context& loop) : epoll_(loop, make_epoll()) {}

std::uint64_t Departures::watch(int socket, std::function<void()> left) {
  const std::uint64_t number = ++last_;
  watched_[number] = std::move(left);
  epoll_event event{};
  event.events = EPOLLRDHUP | EPOLLET;
  event.data.u64 = number;
  ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, socket, &event);
  return number;
}

void Departures::forget(std::uint64_t number, int socket) {
  watched_.erase(number);
  if (socket >= 0) ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, socket, nullptr);
}

Task<void> Departures::run() {
  for (;;) {
    const auto [ec] = co_await epoll_.async_wait(asio::posix::stream_descriptor::wait_read, tok);
    if (ec) co_return;
    collect();
  }
}

void Departures::collect() {
  std::array<epoll_event, 64> events{};
  const int count = ::epoll_wait(epoll_.native_handle(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t number = events.at(static_cast<std::size_t>(i)).data.u64;  // a copy: epoll_event is packed
    const auto found = watched_.find(number);
    if (found == watched_.end()) continue;
    const std::function<void()> left = std::move(found->second);
    watched_.erase(found);
    left();
  }
}

}  // namespace k3d::proxy
