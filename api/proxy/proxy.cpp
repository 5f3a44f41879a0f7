#include "api/proxy/proxy.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <thread>

#include "daemon/base/async/sleep.hpp"

namespace k3d::proxy {
namespace {

constexpr milliseconds kDrainInterval{25};

std::size_t loop_count() {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, 1, 4);
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

using Workers = std::vector<std::unique_ptr<Worker>>;

/// The sum of `count` over the loops. Counting on each loop is a barrier: what that loop admitted before, it has
/// counted; what comes after, it admits under the published snapshot.
template <class Count>
Task<std::uint64_t> sum(const Workers& workers, Count count) {
  std::uint64_t all = 0;
  // By index: stop() may end the workers meanwhile.
  for (std::size_t i = 0; i < workers.size(); ++i) all += co_await on_loop(*workers[i], count);
  co_return all;
}

/// False when `limit` passed with some left.
template <class Count>
Task<bool> until_none(const Workers& workers, Count count, seconds limit) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (co_await sum(workers, count) == 0) co_return true;
    if (std::chrono::steady_clock::now() >= deadline) co_return false;
    if (!co_await sleep_for(kDrainInterval)) co_return false;
  }
}

}  // namespace

Proxy::Proxy(Executor control, Board& board, const Settings& settings, Limits limits)
    : control_(control),
      board_(board),
      addresses_(settings.proxy.listen),
      guards_(std::make_shared<Guard>(settings.proxy, settings.control.allowed_hosts)),
      keyed_(!settings.proxy.api_keys_file.empty()),
      limits_(limits),
      tasks_(control),
      enquiries_(std::make_shared<Enquiries>(control)) {}

Proxy::~Proxy() = default;

Status Proxy::start(Notifier& notifier, const std::vector<PassedSocket>& passed) {
  if (Status loaded = guards_.read()->load(); !loaded) return loaded;
  const std::size_t loops = loop_count();
  limits_.sessions = sessions_most(limits_.sessions, loops);
  for (std::size_t i = 0; i < loops; ++i) {
    workers_.push_back(std::make_unique<Worker>(board_, guards_, *enquiries_, limits_));
  }
  listeners_.emplace(control_, notifier,
                     [this](AcceptorPtr acceptor, std::string host) { listens(std::move(acceptor), std::move(host)); });
  if (Status listening = listeners_->open(addresses_, passed); !listening) return listening;
  tasks_.spawn(listeners_->follow_tailscale());
  return {};
}

void Proxy::listens(AcceptorPtr acceptor, std::string host) {
  guards_.read()->allow_host(host);
  hosts_.push_back(std::move(host));
  if (open_) {
    tasks_.spawn(accept(std::move(acceptor)));
  } else {
    waiting_.push_back(std::move(acceptor));
  }
}

void Proxy::open_after(Task<void> known) {
  tasks_.spawn(open(std::move(known)));
}

Task<void> Proxy::open(Task<void> known) {
  co_await std::move(known);
  open_ = true;
  for (AcceptorPtr& acceptor : waiting_) tasks_.spawn(accept(std::move(acceptor)));
  waiting_.clear();
}

Status Proxy::use(const Settings& settings) {
  const bool keyed = !settings.proxy.api_keys_file.empty();
  // Which addresses may do without keys was judged for those of the new settings; it still listens on the old ones.
  if (keyed_ && !keyed && settings.proxy.listen != addresses_) {
    return fail(Code::config_invalid, "API keys can't be given up together with a change of proxy.listen",
                "restart k3d to take up both");
  }
  auto next = std::make_shared<Guard>(settings.proxy, settings.control.allowed_hosts);
  for (const std::string& host : hosts_) next->allow_host(host);
  if (Status loaded = next->load(); !loaded) return loaded;
  guards_.relieve(std::move(next));
  keyed_ = keyed;
  return {};
}

Task<void> Proxy::accept(AcceptorPtr acceptor) {
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

Task<bool> Proxy::drain(std::uint64_t generation, seconds limit) {
  return until_none(
      workers_, [generation](Worker& w) { return w.in_flight_below(generation); }, limit);
}

Task<void> Proxy::cut(std::uint64_t generation) {
  co_await sum(workers_, [generation](Worker& w) {
    w.cut_below(generation);
    return std::uint64_t{0};
  });
}

Task<void> Proxy::answered() {
  co_await sum(workers_, [](Worker&) { return std::uint64_t{0}; });
}

ProxyView Proxy::view() const {
  ProxyView view;
  if (listeners_) view.listen = listeners_->addresses();
  std::optional<SteadyTime> oldest;
  for (const auto& worker : workers_) {
    view.in_flight += worker->in_flight();
    view.queued += worker->queued();
    view.admitted += worker->admitted();
    const auto since = worker->oldest_wait();
    if (since && (!oldest || *since < *oldest)) oldest = since;
  }
  if (oldest) {
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - *oldest;
    view.oldest_wait_seconds = waited.count();
  }
  return view;
}

Task<void> Proxy::stop(seconds limit) {
  if (listeners_) listeners_->close();
  waiting_.clear();
  tasks_.cancel();
  co_await tasks_.join();
  co_await sum(workers_, [](Worker& w) {
    w.retire();
    return std::uint64_t{0};
  });
  co_await until_none(
      workers_, [](Worker& w) { return w.unfinished(); }, limit);
  // In this order: an answer is handed to the loop that asked.
  co_await enquiries_->stop();
  workers_.clear();
}

}  // namespace k3d::proxy
