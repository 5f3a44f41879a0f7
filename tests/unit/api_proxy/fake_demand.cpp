#include "tests/unit/api_proxy/fake_demand.hpp"

#include <boost/asio/post.hpp>

namespace k3d::test {

Task<Status> FakeDemand::ensure_ready(Wanted wanted, SteadyTime until) {
  const Executor loop = co_await asio::this_coro::executor;
  const auto question = std::make_shared<Standing>(loop);
  Reflex reflex;
  {
    const std::lock_guard lock(mutex_);
    asked_.push_back(wanted);
    reflex = reflex_;
  }
  if (reflex) question->said = reflex(wanted);
  if (question->said) co_return *question->said;
  {
    const std::lock_guard lock(mutex_);
    standing_.push_back(question);
  }
  question->bell.expires_at(until);
  co_await question->bell.async_wait(tok);
  const std::lock_guard lock(mutex_);
  std::erase(standing_, question);
  if (question->said) co_return *question->said;
  co_return fail(Code::model_loading, "still on its way");
}

void FakeDemand::set_reflex(Reflex reflex) {
  const std::lock_guard lock(mutex_);
  reflex_ = std::move(reflex);
}

void FakeDemand::answer_all(Status status) {
  const std::lock_guard lock(mutex_);
  for (const auto& question : standing_) {
    asio::post(question->bell.get_executor(), [question, status] {
      question->said = status;
      question->bell.cancel();
    });
  }
}

std::size_t FakeDemand::standing() const {
  const std::lock_guard lock(mutex_);
  return standing_.size();
}

std::vector<Wanted> FakeDemand::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

}  // namespace k3d::test
