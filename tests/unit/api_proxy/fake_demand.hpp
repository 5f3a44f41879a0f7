// A lifecycle of the test's own words: every question stands until it is answered, its deadline passes, or nobody waits
// for it any more. Its own state is safe from any thread; the questions wait on the control loop.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "daemon/ports/demand.hpp"

namespace k3d::test {

class FakeDemand : public Demand {
 public:
  /// What is said at once to a question, if anything is. Runs on the control loop.
  using Reflex = std::function<std::optional<Status>(const Wanted&)>;

  Task<Status> ensure_ready(Wanted wanted, SteadyTime until) override;

  void set_reflex(Reflex reflex);
  /// Answers every question that stands.
  void answer_all(Status status);
  [[nodiscard]] std::size_t standing() const;
  [[nodiscard]] std::vector<Wanted> asked() const;

 private:
  struct Standing {
    explicit Standing(const Executor& loop) : bell(loop) {}
    asio::steady_timer bell;
    std::optional<Status> said;
  };

  mutable std::mutex mutex_;
  Reflex reflex_;
  std::vector<Wanted> asked_;
  std::vector<std::shared_ptr<Standing>> standing_;
};

}  // namespace k3d::test
