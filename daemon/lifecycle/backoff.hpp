// Pure: whether a profile that failed is started again, and when. Kubelet's policy: 10 s doubling to 5 min, forgotten
// after 10 good minutes.
#pragma once

#include <string>

#include "daemon/base/error.hpp"
#include "daemon/model/instance.hpp"

namespace k3d::lifecycle {

/// After serving so long without trouble, earlier failures don't count.
constexpr seconds kGoodAfter{600};

struct RetryVerdict {
  bool again = false;
  Strikes strikes;  ///< this failure counted
  int attempt = 0;  ///< the how many-th failure in a row this is
  int limit = 0;    ///< at which it is given up; 0: none
  seconds delay{0};
};

/// `served_for`: how long it had served, nothing if it never did. `asked`: an operation waits for it, so that Docker's
/// absence is told at once instead of waited for. Given up after 2 failures in a row while loading and 5 after
/// serving, and at once where no retry can help.
RetryVerdict judge_retry(const Strikes& before, const Failure& failure, std::optional<seconds> served_for, bool asked);

/// Docker can't be asked now: says nothing about an engine.
bool is_dockers_absence(Code code);
/// Whether a failure of this code is the surroundings' (Docker, the host's reboot, someone's `docker rm`): another
/// start of the same profile may well succeed.
bool is_of_surroundings(const std::string& failure_code);
/// Whether it was found out before anything was stopped for it, and may be otherwise the next time: memory that others
/// have now.
bool is_passing(const std::string& failure_code);

}  // namespace k3d::lifecycle
