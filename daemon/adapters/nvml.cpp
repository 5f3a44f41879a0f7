#include "daemon/adapters/nvml.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>

#include "daemon/adapters/child_process.hpp"
#include "daemon/adapters/nvml_child.hpp"
#include "daemon/adapters/nvml_reading.hpp"
#include "daemon/base/async/sleep.hpp"
#include "daemon/base/log.hpp"

namespace k3d::adapters {
namespace {

using Gpus = Result<std::vector<GpuState>>;
using Answer = Result<NvmlReading>;
using std::chrono::steady_clock;

/// A killed process that is not gone by then hangs in the kernel.
constexpr milliseconds kEndLimit{300};
constexpr const char* kHangHint =
    "look at `nvidia-smi` and `dmesg | grep -e NVRM -e Xid`; a driver that hangs may need a reboot of the host";

/// A read that goes on, and those that came meanwhile.
struct Flight {
  Flight(const Executor& loop, bool with_report) : landed(loop, SteadyTime::max()), thorough(with_report) {}
  asio::steady_timer landed;
  bool thorough;
  bool flying = true;
  std::optional<Answer> answer;  ///< nothing after landing: the reader was cancelled
};

/// However the reader ends, cancelled or thrown away too, those who wait are woken.
class Landing {
 public:
  explicit Landing(std::shared_ptr<Flight> flight) : flight_(std::move(flight)) {}
  Landing(const Landing&) = delete;
  Landing& operator=(const Landing&) = delete;
  ~Landing() {
    flight_->flying = false;
    flight_->landed.cancel();
  }

 private:
  std::shared_ptr<Flight> flight_;
};

Gpus gpus_of(Answer answer) {
  if (!answer) return fail(std::move(answer.error()));
  if (!answer->no_driver.empty()) return std::vector<GpuState>();
  return std::move(answer->gpus);
}

Result<GpuReport> report_of(Answer answer) {
  if (!answer) return fail(std::move(answer.error()));
  if (!answer->no_driver.empty()) {
    GpuReport none;
    none.no_driver = std::move(answer->no_driver);
    return none;
  }
  if (answer->report) return std::move(*answer->report);
  if (!answer->gpus) return fail(std::move(answer->gpus.error()));
  return fail(Code::protocol, "the GPU process leaves out its report");
}

class Nvml final : public NvmlProbe {
 public:
  Nvml(Executor loop, NvmlOptions options) : loop_(std::move(loop)), options_(std::move(options)) {}

  Task<Gpus> read() override { co_return gpus_of(co_await fly(false)); }
  Task<Result<GpuReport>> inspect() override { co_return report_of(co_await fly(true)); }

 private:
  /// One at a time. Who comes meanwhile shares its answer if that tells enough.
  Task<Answer> fly(bool thorough) {
    const SteadyTime until = steady_clock::now() + options_.answer;
    while (flight_ && flight_->flying) {
      const std::shared_ptr<Flight> flight = flight_;
      co_await flight->landed.async_wait(tok);
      if (flight->answer && (flight->thorough || !thorough)) co_return *flight->answer;
      // The reader that flew was cancelled or wanted less, and one of the others takes over; or this one was, and the next
      // wait throws.
    }
    const auto flight = std::make_shared<Flight>(loop_, thorough);
    flight_ = flight;
    const Landing landing(flight);
    Answer answer = co_await ask(thorough ? kAskReport : kAskFigures, until);
    if ((co_await asio::this_coro::cancellation_state).cancelled() == asio::cancellation_type::none) {
      flight->answer = answer;
    }
    co_return answer;
  }

  Task<Answer> ask(std::string_view question, SteadyTime until) {
    if (steady_clock::now() < quiet_until_) co_return quiet_answer_;
    if (const Status there = have_child(); !there) co_return be_quiet(fail(there.error()), options_.pause);
    for (;;) {
      // What is still owed to a read that gave up is old: it only shows that the child is awake.
      const bool late = asked_at_.has_value();
      if (!late) {
        asked_at_ = steady_clock::now();
        if (const Status sent = co_await child_->send(std::string(question) + "\n"); !sent) co_return co_await lose_child(sent.error());
      }
      const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
      const Result<std::string> line = co_await with_deadline(child_->line(), std::max(left, milliseconds(1)), "the GPUs' driver");
      if (!line) co_return co_await no_answer(line.error());
      asked_at_.reset();
      awake_ = true;
      if (!late) co_return co_await take(reading_of_line(*line));
    }
  }

  /// A child to ask: the one that is there, or a new one.
  Status have_child() {
    if (child_ && child_->ended()) {
      log::warning("the GPU process ended and is started again", {{"how", child_->how_it_ended()}});
      drop_child();
    }
    if (child_ && doomed_) {
      return fail(Code::timed_out, "the GPUs' driver holds process " + std::to_string(child_->pid()) + ", which can't be ended",
                  kHangHint);
    }
    if (child_) return {};
    auto started = ChildProcess::start(loop_, options_.program, {"k3d", kNvmlChild, std::to_string(::getpid())});
    if (!started) return fail(Code::unreachable, started.error().message, started.error().hint, started.error().cause);
    child_ = std::move(*started);
    return {};
  }

  Task<Answer> no_answer(Error error) {
    if (error.code == Code::cancelled) co_return fail(std::move(error));
    if (error.code != Code::timed_out) co_return co_await lose_child(std::move(error));
    error.hint = kHangHint;
    const bool patient = !awake_ && steady_clock::now() < *asked_at_ + options_.first_answer;
    if (patient) co_return fail(std::move(error));
    log::warning("the GPUs' driver hangs: its process is killed", {{"pid", child_->pid()}});
    co_await end_child();
    co_return be_quiet(fail(std::move(error)), options_.pause);
  }

  Task<Answer> lose_child(Error error) {
    const bool ended = co_await end_child();
    error.message = "the GPU process " + (ended ? last_end_ : std::string("went away"));
    log::warning("the GPUs can't be read", {{"cause", error.text()}});
    co_return be_quiet(fail(std::move(error)), options_.pause);
  }

  Task<Answer> take(Answer reading) {
    if (!reading) {
      co_await end_child();
      co_return be_quiet(fail(std::move(reading.error())), options_.pause);
    }
    if (reading->no_driver.empty()) co_return reading;
    if (!std::exchange(told_no_driver_, true)) log::info("no NVIDIA driver on this host", {{"why", reading->no_driver}});
    co_await end_child();
    co_return be_quiet(std::move(reading), options_.ask_again);
  }

  /// True if the child is gone and reaped. What hangs in the kernel stays, and no other is started beside it.
  Task<bool> end_child() {
    doomed_ = true;
    co_await child_->end(kEndLimit);
    const bool ended = child_->ended();
    if (ended) {
      last_end_ = child_->how_it_ended();
      drop_child();
    }
    co_return ended;
  }

  void drop_child() {
    child_.reset();
    asked_at_.reset();
    awake_ = doomed_ = false;
  }

  Answer be_quiet(Answer answer, milliseconds how_long) {
    quiet_until_ = steady_clock::now() + how_long;
    quiet_answer_ = answer;
    return answer;
  }

  Executor loop_;
  NvmlOptions options_;
  std::shared_ptr<Flight> flight_;
  std::unique_ptr<ChildProcess> child_;
  std::optional<SteadyTime> asked_at_;  ///< of a question whose answer has not come
  bool awake_ = false;                  ///< the child has answered before
  bool doomed_ = false;                 ///< killed, but not gone
  bool told_no_driver_ = false;
  std::string last_end_;
  SteadyTime quiet_until_{};  ///< until then every read gets `quiet_answer_`
  Answer quiet_answer_;
};

}  // namespace

std::unique_ptr<NvmlProbe> nvml(Executor loop, NvmlOptions options) {
  return std::make_unique<Nvml>(std::move(loop), std::move(options));
}

}  // namespace k3d::adapters
