#include "api/proxy/enquiries.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <vector>

#include "daemon/base/log.hpp"

namespace k3d::proxy {

void Enquiries::ask(QuestionPtr question) {
  asio::post(control_, [self = weak_from_this(), asked = std::move(question)] {
    if (const auto here = self.lock()) here->begin(asked);
  });
}

void Enquiries::drop(QuestionPtr question) {
  asio::post(control_, [self = weak_from_this(), asked = std::move(question)] {
    if (const auto here = self.lock()) here->end(asked);
  });
}

void Enquiries::begin(QuestionPtr question) {
  if (stopped_) return;
  open_[question];
  tasks_.spawn(wait(std::move(question)));
}

void Enquiries::end(const QuestionPtr& question) {
  const auto found = open_.find(question);
  if (found != open_.end()) found->second.emit(asio::cancellation_type::terminal);
}

Task<void> Enquiries::wait(QuestionPtr question) {
  Status said = fail(Code::internal, "k3d made a mistake");
  try {
    said = co_await look(question);
  } catch (const boost::system::system_error&) {
    said = fail(Code::cancelled, "nobody waits any more");
  } catch (const std::exception& e) {
    log::error("a question to the lifecycle failed", {{"what", e.what()}});
  }
  open_.erase(question);
  question->answer(std::move(said));
}

/// A coroutine of its own below the question's signal, so that one wait can be ended and the others go on.
Task<Status> Enquiries::look(QuestionPtr question) {
  if (demand_ == nullptr) co_return fail(Code::shutting_down, "k3d is starting");
  const Executor here = co_await asio::this_coro::executor;
  const asio::cancellation_slot slot = open_[question].slot();
  Task<Status> asked = demand_->ensure_ready(question->wanted, question->until);
  co_return co_await asio::co_spawn(here, std::move(asked), asio::bind_cancellation_slot(slot, asio::use_awaitable));
}

Task<void> Enquiries::stop() {
  stopped_ = true;
  std::vector<QuestionPtr> left;
  for (const auto& [question, signal] : open_) left.push_back(question);
  for (const QuestionPtr& question : left) end(question);
  co_await tasks_.join();
}

}  // namespace k3d::proxy
