#include "daemon/lifecycle/backoff.hpp"

#include <algorithm>

namespace k3d::lifecycle {
namespace {

constexpr int kLoadLimit = 2;
constexpr int kServeLimit = 5;
constexpr seconds kFirst{10}, kLongest{300};
constexpr seconds kFirstForDocker{1}, kLongestForDocker{30};

seconds doubled(seconds first, seconds longest, int failures) {
  seconds delay = first;
  for (int i = 1; i < failures && delay < longest; ++i) delay *= 2;
  return std::min(delay, longest);
}

/// It says nothing about the engine or its settings: Docker is waited for as long as it takes.
bool is_absence(const std::string& code) { return code == "docker_unavailable" || code == "docker_unresponsive"; }

}  // namespace

bool is_dockers_absence(Code code) { return is_absence(std::string(to_string(code))); }

bool is_of_surroundings(const std::string& failure_code) {
  return is_absence(failure_code) || failure_code == "docker_restart" || failure_code == "host_rebooted" ||
         failure_code == "removed_externally" || is_passing(failure_code);
}

bool is_passing(const std::string& failure_code) { return failure_code == "does_not_fit"; }

RetryVerdict judge_retry(const Strikes& before, const Failure& failure, std::optional<seconds> served_for, bool asked) {
  RetryVerdict out;
  out.strikes = before;
  ++out.strikes.restarts;
  if (is_absence(failure.code) && !served_for) {
    out.attempt = ++out.strikes.docker;
    out.again = !asked;
    out.delay = doubled(kFirstForDocker, kLongestForDocker, out.attempt);
    return out;
  }
  out.strikes.docker = 0;
  if (failure.remedied) {  // bounded by how often k3d applies remedies
    out.again = true;
    out.attempt = std::max(1, out.strikes.loading);
    out.delay = kFirst;
    return out;
  }
  if (served_for) {
    out.strikes.loading = 0;
    if (*served_for >= kGoodAfter) out.strikes.serving = 0;
    out.attempt = ++out.strikes.serving;
    out.limit = kServeLimit;
  } else {
    out.attempt = ++out.strikes.loading;
    out.limit = kLoadLimit;
  }
  out.again = failure.retryable && out.attempt < out.limit;
  // The delay grows with every failure in a row, whichever way it went.
  out.delay = doubled(kFirst, kLongest, out.strikes.loading + out.strikes.serving);
  return out;
}

}  // namespace k3d::lifecycle
