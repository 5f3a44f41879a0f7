// The proxy loops' questions to the lifecycle: each waits on the control loop, its answer goes back to the loop that
// asked. A question is forgotten as soon as its loop drops it.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <functional>
#include <map>
#include <memory>

#include "daemon/base/async/task_group.hpp"
#include "daemon/ports/demand.hpp"

namespace k3d::proxy {

struct Question {
  Wanted wanted;
  SteadyTime until;
  std::function<void(Status)>
      answer;  ///< called on the control loop, at most once; must not keep the asking loop alive
};
using QuestionPtr = std::shared_ptr<const Question>;

class Enquiries : public std::enable_shared_from_this<Enquiries> {
 public:
  explicit Enquiries(Executor control) : control_(control), tasks_(control) {}

  /// On the control loop, before the first question.
  void serve_with(Demand& demand) { demand_ = &demand; }
  /// On the control loop: ends every wait; what is asked from here on is never answered.
  Task<void> stop();

  // From any loop.
  void ask(QuestionPtr question);
  void drop(QuestionPtr question);

 private:
  void begin(QuestionPtr question);
  void end(const QuestionPtr& question);
  Task<void> wait(QuestionPtr question);
  Task<Status> look(QuestionPtr question);

  Executor control_;
  Demand* demand_ = nullptr;
  bool stopped_ = false;
  std::map<QuestionPtr, asio::cancellation_signal> open_;
  TaskGroup tasks_;
};

}  // namespace k3d::proxy
