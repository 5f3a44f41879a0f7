#include "daemon/adapters/curl_thread.hpp"

#include <curl/curl.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <thread>

namespace k3d::adapters {
namespace {

constexpr int kPollMilliseconds = 1000;  // woken earlier by whatever happens

/// libcurl wants it once, before any thread uses it.
void initialise() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(once);
}

CurlAnswer dropped() {
  CurlAnswer answer;
  answer.trouble = "the transfer was dropped";
  answer.refused_here = true;
  return answer;
}

struct MultiFree {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

}  // namespace

class CurlThread::Loop {
 public:
  explicit Loop(CurlOptions options) : options_(std::move(options)) {
    initialise();
    multi_.reset(curl_multi_init());
    if (!multi_) throw std::bad_alloc();
    curl_multi_setopt(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, static_cast<long>(options_.connections));
    thread_ = std::thread([this] { run(); });
  }

  ~Loop() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    curl_multi_wakeup(multi_.get());
    thread_.join();
  }

  std::uint64_t begin(CurlRequest request, Done done) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t number = ++newest_;
    asked_.push_back({number, std::move(request), std::move(done)});
    curl_multi_wakeup(multi_.get());
    return number;
  }

  void drop(std::uint64_t transfer) {
    const std::lock_guard lock(mutex_);
    unwanted_.push_back(transfer);
    curl_multi_wakeup(multi_.get());
  }

 private:
  struct Asked {
    std::uint64_t number;
    CurlRequest request;
    Done done;
  };
  struct Running {
    std::unique_ptr<CurlTransfer> transfer;
    Done done;
  };

  void run() {
    while (take_orders()) {
      int running = 0;
      curl_multi_perform(multi_.get(), &running);
      reap();
      curl_multi_poll(multi_.get(), nullptr, 0, kPollMilliseconds, nullptr);
    }
    while (!running_.empty()) end(running_.begin(), dropped());
  }

  /// False when the thread is to end.
  bool take_orders() {
    std::vector<Asked> asked;
    std::vector<std::uint64_t> unwanted;
    bool go_on = true;
    {
      const std::lock_guard lock(mutex_);
      asked.swap(asked_);
      unwanted.swap(unwanted_);
      go_on = !ending_;
    }
    for (Asked& order : asked) add(std::move(order));
    for (const std::uint64_t number : unwanted) {
      if (const auto at = running_.find(number); at != running_.end()) end(at, dropped());
    }
    return go_on;
  }

  void add(Asked order) {
    auto transfer = std::make_unique<CurlTransfer>(std::move(order.request), options_);
    curl_multi_add_handle(multi_.get(), transfer->handle());
    running_.emplace(order.number, Running{std::move(transfer), std::move(order.done)});
  }

  void reap() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      const auto at = std::ranges::find_if(
          running_, [message](const auto& entry) { return entry.second.transfer->handle() == message->easy_handle; });
      if (at != running_.end()) end(at, at->second.transfer->finish(code));
    }
  }

  void end(std::map<std::uint64_t, Running>::iterator at, CurlAnswer answer) {
    curl_multi_remove_handle(multi_.get(), at->second.transfer->handle());
    const Done done = std::move(at->second.done);
    running_.erase(at);
    done(std::move(answer));
  }

  CurlOptions options_;
  std::unique_ptr<CURLM, MultiFree> multi_;
  std::map<std::uint64_t, Running> running_;  ///< the thread's alone
  std::mutex mutex_;
  std::vector<Asked> asked_;
  std::vector<std::uint64_t> unwanted_;
  std::uint64_t newest_ = 0;
  bool ending_ = false;
  std::thread thread_;  ///< last: it uses the others
};

CurlThread::CurlThread(CurlOptions options) : loop_(std::make_unique<Loop>(std::move(options))) {}
CurlThread::~CurlThread() = default;

std::uint64_t CurlThread::begin(CurlRequest request, Done done) { return loop_->begin(std::move(request), std::move(done)); }
void CurlThread::drop(std::uint64_t transfer) { loop_->drop(transfer); }

Task<CurlAnswer> CurlThread::fetch(CurlRequest request) {
  struct Waiting {
    asio::steady_timer arrived;
    std::optional<CurlAnswer> answer;
  };
  const Executor loop = co_await asio::this_coro::executor;
  const auto waiting = std::make_shared<Waiting>(Waiting{asio::steady_timer(loop, SteadyTime::max()), {}});
  Done done = [loop, keep = waiting](CurlAnswer answer) mutable {
    asio::post(loop, [keep = std::move(keep), answer = std::move(answer)]() mutable {
      keep->answer = std::move(answer);
      keep->arrived.cancel();
    });
  };
  const std::uint64_t number = begin(std::move(request), std::move(done));
  co_await waiting->arrived.async_wait(tok);
  if (waiting->answer) co_return std::move(*waiting->answer);
  drop(number);
  co_return dropped();
}

}  // namespace k3d::adapters
