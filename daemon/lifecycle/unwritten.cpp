#include "daemon/lifecycle/unwritten.hpp"

#include <algorithm>

#include "daemon/base/log.hpp"

namespace k3d::lifecycle {

using std::chrono::steady_clock;

void Unwritten::add(Write write) {
  std::erase_if(writes_, [&write](const Write& older) { return older.key == write.key; });
  writes_.push_back(std::move(write));
  const auto is_history = [](const Write& each) { return each.history; };
  if (static_cast<std::size_t>(std::count_if(writes_.begin(), writes_.end(), is_history)) <= kMostHistory) return;
  const auto oldest = std::find_if(writes_.begin(), writes_.end(), is_history);
  log::warning("a part of the history is lost: the state can't be written for too long", {{"what", oldest->key}});
  writes_.erase(oldest);
}

std::optional<Error> Unwritten::write_all() {
  const SteadyTime until = steady_clock::now() + patience_;
  std::optional<Error> trouble;
  std::vector<Write> left;
  for (Write& write : writes_) {
    const bool tried = !trouble || steady_clock::now() < until;
    const Status done = tried ? write.perform() : Status(fail(*trouble));
    if (done) continue;
    trouble = done.error();
    left.push_back(std::move(write));
  }
  writes_ = std::move(left);
  return trouble;
}

}  // namespace k3d::lifecycle
