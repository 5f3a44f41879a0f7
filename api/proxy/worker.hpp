// One proxy loop: its thread, its sessions, its upstream connections, its requests in flight and those that wait.
// Loops share nothing.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <list>
#include <memory>
#include <optional>
#include <thread>

#include "api/proxy/departures.hpp"
#include "api/proxy/enquiries.hpp"
#include "api/proxy/guard.hpp"
#include "api/proxy/limits.hpp"
#include "api/proxy/upstream.hpp"
#include "daemon/base/async/task_group.hpp"
#include "daemon/ports/board.hpp"

namespace k3d::proxy {

/// A request between its admission and its end.
struct Flight {
  std::uint64_t generation = 0;
  UpstreamPtr upstream;  ///< once there is one
  bool cut = false;      ///< the supervisor ended it
};

/// What the timer sweep looks at: a session whose client had to read or write until a time that has passed is closed.
struct Watched {
  std::shared_ptr<asio::ip::tcp::socket> socket;
  SteadyTime read_by = SteadyTime::max();   ///< the client must have sent something
  SteadyTime write_by = SteadyTime::max();  ///< the client must have taken something
  bool idle = false;                        ///< between requests
  bool fresh = true;                        ///< its first request has yet to come
  bool due = false;                         ///< while the loop ends: a request is to come, or an answer to be read
};

class Hold;

class Worker {
 public:
  Worker(Board& board, const GuardPost& guards, Enquiries& enquiries, Limits limits);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// Ends the loop at once and joins the thread.
  ~Worker();

  [[nodiscard]] asio::io_context& loop() { return loop_; }
  [[nodiscard]] std::uint64_t in_flight() const { return in_flight_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t sessions() const { return session_count_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t queued() const { return queued_.load(std::memory_order_relaxed); }
  /// Requests sent on since the start.
  [[nodiscard]] std::uint64_t admitted() const { return admitted_.load(std::memory_order_relaxed); }
  /// Since when the request that waits longest does.
  [[nodiscard]] std::optional<SteadyTime> oldest_wait() const;

  // From any thread: takes over a connection that belongs to this loop.
  void serve(asio::ip::tcp::socket socket);

  // On the loop only.
  [[nodiscard]] std::uint64_t in_flight_below(std::uint64_t generation) const;
  void cut_below(std::uint64_t generation);
  /// Requests in flight and waiting, and clients that have yet to read their last answer.
  [[nodiscard]] std::uint64_t unfinished() const;
  /// From here on each connection ends with the answer that it waits for; idle ones end now, waits too. One that has
  /// just come, or whose next request is there already, is not idle.
  void retire();
  void close_sessions();
  [[nodiscard]] bool retiring() const { return retiring_; }
  /// No request may wait any more.
  [[nodiscard]] bool ending() const { return retiring_ || closing_; }
  /// No request more: too many are in flight or wait to be, or the loop ends.
  [[nodiscard]] bool full() const { return closing_ || flights_.size() + holds_.size() >= limits_.in_flight; }
  [[nodiscard]] const Limits& limits() const { return limits_; }
  /// For a client to begin its next request.
  [[nodiscard]] milliseconds idle_limit() const;
  [[nodiscard]] SnapshotPtr snapshot() const { return board_.read(); }
  [[nodiscard]] std::shared_ptr<Guard> guard() const { return guards_.read(); }
  UpstreamPool& pool() { return pool_; }
  Departures& departures() { return departures_; }
  Enquiries& enquiries() { return enquiries_; }

  /// Counts a request that waits, until it leaves its place.
  std::list<Hold*>::iterator enter(Hold& hold);
  void leave(std::list<Hold*>::iterator place);

  /// Counts a request from here on: before anything else of the loop can run, so that a drain can't miss it.
  class Admission {
   public:
    Admission(Worker& worker, std::uint64_t generation);
    Admission(const Admission&) = delete;
    Admission& operator=(const Admission&) = delete;
    ~Admission();
    Flight& flight() { return *flight_; }

   private:
    Worker& worker_;
    std::list<Flight>::iterator flight_;
  };

  /// Keeps a session's socket in the sweep.
  class Watch {
   public:
    Watch(Worker& worker, std::shared_ptr<asio::ip::tcp::socket> socket);
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch();
    void read_within(milliseconds limit) { watched_->read_by = std::chrono::steady_clock::now() + limit; }
    void read_any_time() { watched_->read_by = SteadyTime::max(); }
    void write_within(milliseconds limit) { watched_->write_by = std::chrono::steady_clock::now() + limit; }
    void write_any_time() { watched_->write_by = SteadyTime::max(); }
    void set_idle(bool idle) { watched_->idle = idle; }
    void set_used() { watched_->fresh = false; }
    void set_due() { watched_->due = true; }

   private:
    Worker& worker_;
    std::list<Watched>::iterator watched_;
  };

 private:
  static constexpr SteadyTime::rep kNoWait = SteadyTime::max().time_since_epoch().count();

  Task<void> sweep();
  Task<void> session(std::shared_ptr<asio::ip::tcp::socket> socket);
  void end_waits();
  void count_waits();

  Board& board_;
  const GuardPost& guards_;
  Enquiries& enquiries_;
  Limits limits_;
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  TaskGroup tasks_;
  UpstreamPool pool_;
  Departures departures_;
  std::list<Flight> flights_;
  std::list<Hold*> holds_;  ///< in the order of arrival
  std::list<Watched> watched_;
  std::atomic<std::uint64_t> in_flight_{0};
  std::atomic<std::uint64_t> session_count_{0};
  std::atomic<std::uint64_t> queued_{0};
  std::atomic<std::uint64_t> admitted_{0};
  std::atomic<SteadyTime::rep> oldest_wait_{kNoWait};
  bool retiring_ = false;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace k3d::proxy
