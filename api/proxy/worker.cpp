#include "api/proxy/worker.hpp"

#include <boost/asio/post.hpp>

#include "api/proxy/hold.hpp"
#include "api/proxy/session.hpp"
#include "daemon/base/async/sleep.hpp"
#include "daemon/base/log.hpp"

namespace k3d::proxy {
namespace {

constexpr milliseconds kSweepInterval{250};
/// For a client that has connected and has yet to speak, when the loop ends.
constexpr milliseconds kFirstRequestLimit{1000};

}  // namespace

Worker::Worker(Board& board, const GuardPost& guards, Enquiries& enquiries, Limits limits)
    : board_(board),
      guards_(guards),
      enquiries_(enquiries),
      limits_(limits),
      work_(asio::make_work_guard(loop_)),
      tasks_(loop_.get_executor()),
      departures_(loop_) {
  tasks_.spawn(sweep());
  tasks_.spawn(departures_.run());
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
    if (closing_ || session_count_.load(std::memory_order_relaxed) >= limits_.sessions) return;
    session_count_.fetch_add(1, std::memory_order_relaxed);
    tasks_.spawn(session(owned));
  });
}

Task<void> Worker::session(std::shared_ptr<asio::ip::tcp::socket> socket) {
  // Sessions end by their sockets being closed, never by an exception half-way through a relay.
  co_await asio::this_coro::throw_if_cancelled(false);
  try {
    co_await run_session(*this, socket);
  } catch (const std::exception& e) {
    log::error("a proxy session failed", {{"what", e.what()}});
  }
  session_count_.fetch_sub(1, std::memory_order_relaxed);
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

std::uint64_t Worker::unfinished() const {
  std::uint64_t count = flights_.size() + holds_.size();
  for (const Watched& watched : watched_) count += watched.due ? 1U : 0U;
  return count;
}

void Worker::retire() {
  retiring_ = true;
  end_waits();
  const SteadyTime soon = std::chrono::steady_clock::now() + kFirstRequestLimit;
  for (Watched& watched : watched_) {
    if (!watched.idle) continue;
    boost::system::error_code ignored;
    watched.due = watched.fresh || watched.socket->available(ignored) > 0;
    watched.read_by = soon;
    if (!watched.due) watched.socket->close(ignored);
  }
}

void Worker::close_sessions() {
  closing_ = true;
  end_waits();
  for (Watched& watched : watched_) {
    boost::system::error_code ignored;
    watched.socket->close(ignored);
  }
}

milliseconds Worker::idle_limit() const {
  return ending() ? kFirstRequestLimit : limits_.idle;
}

void Worker::end_waits() {
  for (Hold* hold : holds_) hold->wake();
}

std::list<Hold*>::iterator Worker::enter(Hold& hold) {
  const auto place = holds_.insert(holds_.end(), &hold);
  count_waits();
  return place;
}

void Worker::leave(std::list<Hold*>::iterator place) {
  holds_.erase(place);
  count_waits();
}

void Worker::count_waits() {
  queued_.store(holds_.size(), std::memory_order_relaxed);
  const SteadyTime::rep oldest = holds_.empty() ? kNoWait : holds_.front()->since().time_since_epoch().count();
  oldest_wait_.store(oldest, std::memory_order_relaxed);
}

std::optional<SteadyTime> Worker::oldest_wait() const {
  const SteadyTime::rep oldest = oldest_wait_.load(std::memory_order_relaxed);
  if (oldest == kNoWait) return std::nullopt;
  return SteadyTime(SteadyTime::duration(oldest));
}

Task<void> Worker::sweep() {
  while (co_await sleep_for(kSweepInterval)) {
    const SteadyTime now = std::chrono::steady_clock::now();
    pool_.sweep(now);
    for (Watched& watched : watched_) {
      if (watched.read_by > now && watched.write_by > now) continue;
      boost::system::error_code ignored;
      watched.socket->close(ignored);
    }
  }
}

Worker::Admission::Admission(Worker& worker, std::uint64_t generation)
    : worker_(worker), flight_(worker.flights_.insert(worker.flights_.end(), Flight{generation, nullptr, false})) {
  worker_.in_flight_.fetch_add(1, std::memory_order_relaxed);
  worker_.admitted_.fetch_add(1, std::memory_order_relaxed);
}

Worker::Admission::~Admission() {
  worker_.flights_.erase(flight_);
  worker_.in_flight_.fetch_sub(1, std::memory_order_relaxed);
}

Worker::Watch::Watch(Worker& worker, std::shared_ptr<asio::ip::tcp::socket> socket)
    : worker_(worker), watched_(worker.watched_.insert(worker.watched_.end(), Watched{std::move(socket)})) {
  watched_->due = worker.ending();  // it was taken just before the end
}

Worker::Watch::~Watch() {
  worker_.watched_.erase(watched_);
}

}  // namespace k3d::proxy
