#include "api/proxy/worker.hpp"

#include <boost/asio/post.hpp>

#include "api/proxy/session.hpp"
#include "daemon/base/async/sleep.hpp"

namespace k3d::proxy {

Worker::Worker(Board& board, Guard& guard)
    : board_(board), guard_(guard), work_(asio::make_work_guard(loop_)), tasks_(loop_.get_executor()) {
  tasks_.spawn(sweep());
  thread_ = std::thread([this] { loop_.run(); });
}

Worker::~Worker() {
  asio::post(loop_, [this] {
    close_sessions();
    cut_below(~std::uint64_t{0});
    tasks_.cancel();
    work_.reset();
  });
  thread_.join();
}

void Worker::serve(asio::ip::tcp::socket socket) {
  auto owned = std::make_shared<asio::ip::tcp::socket>(std::move(socket));
  asio::post(loop_, [this, owned] {
    if (closing_) return;
    session_count_.fetch_add(1, std::memory_order_relaxed);
    tasks_.spawn([](Worker& worker, std::shared_ptr<asio::ip::tcp::socket> taken) -> Task<void> {
      co_await run_session(worker, taken);
      worker.session_count_.fetch_sub(1, std::memory_order_relaxed);
    }(*this, owned));
  });
}

std::uint64_t Worker::in_flight_below(std::uint64_t generation) const {
  std::uint64_t count = 0;
  for (const Flight& flight : flights_) count += flight.generation < generation ? 1U : 0U;
  return count;
}

void Worker::cut_below(std::uint64_t generation) {
  for (Flight& flight : flights_) {
    if (flight.generation >= generation) continue;
    flight.cut = true;
    if (flight.upstream) flight.upstream->close();
  }
  pool_.close_idle();
}

void Worker::close_sessions() {
  closing_ = true;
  for (Watched& watched : watched_) {
    boost::system::error_code ignored;
    watched.socket->close(ignored);
  }
}

Task<void> Worker::sweep() {
  while (co_await sleep_for(milliseconds(500))) {
    const SteadyTime now = std::chrono::steady_clock::now();
    pool_.sweep(now);
    for (Watched& watched : watched_) {
      if (watched.expires > now) continue;
      boost::system::error_code ignored;
      watched.socket->close(ignored);
    }
  }
}

Worker::Admission::Admission(Worker& worker, std::uint64_t generation)
    : worker_(worker), flight_(worker.flights_.insert(worker.flights_.end(), Flight{generation, nullptr, false})) {
  worker_.in_flight_.fetch_add(1, std::memory_order_relaxed);
}

Worker::Admission::~Admission() {
  worker_.flights_.erase(flight_);
  worker_.in_flight_.fetch_sub(1, std::memory_order_relaxed);
}

Worker::Watch::Watch(Worker& worker, std::shared_ptr<asio::ip::tcp::socket> socket)
    : worker_(worker), watched_(worker.watched_.insert(worker.watched_.end(), Watched{std::move(socket), {}})) {
  never_expire();
}

Worker::Watch::~Watch() { worker_.watched_.erase(watched_); }

}  // namespace k3d::proxy
