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
bool is_dockers_absence(const Failure& failure) {
  return failure.code == "docker_unavailable" || failure.code == "docker_unresponsive";
}

}  // namespace

RetryVerdict judge_retry(const Strikes& before, const Failure& failure, std::optional<seconds> served_for, bool asked) {
  RetryVerdict out;
  out.strikes = before;
  ++out.strikes.restarts;
  if (is_dockers_absence(failure) && !served_for) {
    out.attempt = ++out.strikes.docker;
    out.again = !asked;
    out.delay = doubled(kFirstForDocker, kLongestForDocker, out.attempt);
    return out;
  }
  out.strikes.docker = 0;
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
