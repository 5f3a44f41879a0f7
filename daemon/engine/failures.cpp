#include "daemon/engine/failures.hpp"

#include "daemon/engine/excerpt.hpp"
#include "daemon/engine/failure_ends.hpp"
#include "daemon/engine/failure_kinds.hpp"
#include "daemon/engine/failure_signs.hpp"
#include "daemon/engine/glued_lines.hpp"

namespace k3d::engine {
namespace {

constexpr std::string_view kNumaAdvice =
    "the kernel moves pages between NUMA nodes, which can hold up a load for 20 minutes: run `sysctl -w "
    "kernel.numa_balancing=0`, and write it to /etc/sysctl.d/ so that it stays";

/// Docker that restarts without live-restore kills its containers, whatever else the kernel had to kill then.
bool ran_out_of_memory(const Evidence& evidence) {
  return evidence.oom_killed || (evidence.kernel_oom && !evidence.docker_restarted);
}

/// `advice` replaces the kind's, if there is one.
Failure of_kind(std::string_view code, std::string_view advice) {
  Failure failure;
  failure.code = code;
  const FailureKind* kind = find_kind(code);
  if (kind == nullptr) return failure;
  failure.title = kind->title;
  failure.advice = advice.empty() ? kind->advice : advice;
  failure.retryable = kind->retryable;
  return failure;
}

std::vector<EngineLine> read_all(const std::vector<std::string>& raw) {
  std::vector<EngineLine> lines;
  lines.reserve(raw.size());
  for (const std::string& line : raw) lines.push_back(read_engine_line(line));
  return lines;
}

std::optional<std::size_t> last_error(const std::vector<EngineLine>& lines) {
  for (std::size_t i = lines.size(); i > 0; --i) {
    if (lines[i - 1].level == LineLevel::error) return i - 1;
  }
  return std::nullopt;
}

std::string detail_of(const Evidence& evidence, const Failure& failure, const EngineLine* decisive) {
  std::string detail =
      decisive != nullptr ? shortened(decisive->text) : "the engine ended with " + exit_words(evidence.exit_code);
  if (evidence.oom_killed && failure.code != "oom") {
    detail += "; Docker says that a process of the container ran out of memory";
  }
  if (evidence.kernel_oom && failure.code == "oom") detail += "; the kernel killed a process for want of memory";
  return detail;
}

}  // namespace

Failure classify(const Evidence& evidence) {
  const std::vector<std::string> raw = unglued(evidence.lines, evidence.ready);
  const std::vector<EngineLine> lines = read_all(raw);
  const FailureEnd& end = find_end({evidence.exit_code, ran_out_of_memory(evidence), evidence.docker_restarted});
  const auto finding = end.log_first ? find_sign(lines, evidence.ready) : std::nullopt;
  std::optional<std::size_t> decisive;
  if (finding) {
    decisive = finding->line;
  } else if (end.code == "crash" && (!evidence.ready || end.exit_codes.empty())) {
    // Of an engine that served, an error line may be one of a request long ago: a signal says more then.
    decisive = last_error(lines);
  }
  Failure failure = finding ? of_kind(finding->sign->code, finding->sign->advice) : of_kind(end.code, end.advice);
  failure.exit_code = evidence.exit_code;
  failure.detail = detail_of(evidence, failure, decisive ? &lines[*decisive] : nullptr);
  failure.log_excerpt = excerpt_of(lines, raw, evidence.ready, decisive);
  return failure;
}

Failure load_stalled(const std::string& profile, std::uint64_t attempt, seconds limit,
                     const std::vector<std::string>& lines, bool numa_balancing) {
  Failure failure = of_kind("load_stalled", numa_balancing ? kNumaAdvice : std::string_view{});
  failure.detail = "for " + format_duration(limit) + " it has read nothing, used no CPU time and logged nothing";
  if (numa_balancing) failure.detail += ", and kernel.numa_balancing is on";
  failure.profile = profile;
  failure.attempt = attempt;
  failure.log_excerpt = end_of_log(lines);
  return failure;
}

std::optional<Failure> catalogued(std::string_view code) {
  if (find_kind(code) == nullptr) return std::nullopt;
  return of_kind(code, {});
}

}  // namespace k3d::engine
