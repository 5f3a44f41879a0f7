#include "daemon/adapters/host_survey_thread.hpp"

#include <boost/asio/post.hpp>
#include <mutex>
#include <thread>

namespace k3d::adapters {

struct SurveyThread::Shared {
  std::mutex mutex;
  bool wanted = true;  ///< the loop still lives
  bool busy = false;
  std::optional<HostReport> found;
};

SurveyThread::SurveyThread(Executor loop)
    : shared_(std::make_shared<Shared>()),
      arrived_(std::make_shared<asio::steady_timer>(std::move(loop), SteadyTime::max())) {}

SurveyThread::~SurveyThread() {
  const std::lock_guard lock(shared_->mutex);
  shared_->wanted = false;
}

void SurveyThread::begin(Look look) {
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->busy) return;
    shared_->busy = true;
    shared_->found.reset();
  }
  std::thread([shared = shared_, loop = arrived_->get_executor(), timer = std::weak_ptr(arrived_), job = std::move(look)] {
    HostReport report = job();
    const std::lock_guard lock(shared->mutex);
    shared->busy = false;
    shared->found = std::move(report);
    // The timer belongs to the loop: only there it may be held.
    if (shared->wanted) {
      asio::post(loop, [timer] {
        if (const auto there = timer.lock()) there->cancel();
      });
    }
  }).detach();
}

Task<std::optional<HostReport>> SurveyThread::result(SteadyTime until) {
  for (;;) {
    {
      const std::lock_guard lock(shared_->mutex);
      if (shared_->found) co_return shared_->found;
    }
    if (std::chrono::steady_clock::now() >= until) co_return std::nullopt;
    arrived_->expires_at(until);
    co_await arrived_->async_wait(tok);
  }
}

}  // namespace k3d::adapters
