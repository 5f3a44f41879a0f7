// The catalogue is whole, and docs/failures.md is what it says. K3D_UPDATE_GOLDEN=1 rewrites that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "daemon/engine/failure_ends.hpp"
#include "daemon/engine/failure_kinds.hpp"
#include "daemon/engine/failure_signs.hpp"
#include "daemon/engine/failures.hpp"
#include "daemon/engine/remedies.hpp"
#include "tests/unit/engine/apply.hpp"

namespace k3d::engine {
namespace {

using Strings = std::vector<std::string>;

std::string joined(const Strings& parts, const std::string& between) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : between) + part;
  return out;
}

std::string exit_of(const FailureEnd& end) {
  Strings codes;
  for (const int code : end.exit_codes) codes.push_back(std::to_string(code));
  if (end.exit_codes.empty()) codes.emplace_back("any other");
  if (end.unknown) codes.emplace_back("unknown");
  std::string text = "exit code " + joined(codes, ", ");
  if (end.out_of_memory.value_or(false))
    text += " with Docker's OOM flag, or as the kernel counts a process killed for memory";
  if (end.docker_restarted.value_or(false)) text += " while Docker was gone";
  if (end.log_first) text += ", unless the log names another";
  return text;
}

std::string sign_of(const FailureSign& sign) {
  if (sign.lines == Lines::abort) return "`FILE.cpp:LINE: REASON`";
  std::string text = "`" + std::string(sign.pattern);
  if (!sign.also.empty()) text += " … " + std::string(sign.also);
  text += "`";
  if (sign.moment == Moment::serving) text += " while serving";
  if (sign.after_out_of_memory) text += " when memory ran out";
  return text;
}

std::string recognised(const FailureKind& kind) {
  Strings ways;
  if (!kind.seen.empty()) ways.emplace_back(kind.seen);
  Strings signs;
  for (const FailureSign& sign : failure_signs()) {
    if (sign.code == kind.code) signs.push_back(sign_of(sign));
  }
  if (!signs.empty()) ways.push_back("log: " + joined(signs, ", "));
  for (const FailureEnd& end : failure_ends()) {
    if (end.code == kind.code) ways.push_back(exit_of(end));
  }
  return joined(ways, "<br>");
}

/// Every advice that a failure of this kind can carry, the usual one first, others with when they are given.
std::string advice_of(const FailureKind& kind) {
  std::vector<std::pair<Strings, std::string>> others;
  const auto add = [&others](const std::string& when, std::string_view advice) {
    if (advice.empty()) return;
    const auto same =
        std::find_if(others.begin(), others.end(), [advice](const auto& o) { return o.second == advice; });
    if (same != others.end()) {
      same->first.push_back(when);
    } else {
      others.push_back({{when}, std::string(advice)});
    }
  };
  for (const FailureSign& sign : failure_signs()) {
    if (sign.code == kind.code) add("`" + std::string(sign.pattern) + "`", sign.advice);
  }
  for (const FailureEnd& end : failure_ends()) {
    if (end.code == kind.code && !end.advice.empty()) add(exit_words(end.exit_codes.front()), end.advice);
  }
  if (kind.code == "load_stalled") {
    add("kernel.numa_balancing is 1", load_stalled("", 0, seconds(600), {}, true).advice);
  }
  Strings all{std::string(kind.advice)};
  for (const auto& [when, advice] : others) all.push_back(joined(when, ", ") + ": " + advice);
  return joined(all, "<br>");
}

/// The whole way of remedies, from the defaults (and a quantised cache) on.
std::string remedies_of(const FailureKind& kind) {
  Profile profile;
  profile.cache_type = "q8_0";
  Strings steps;
  for (auto remedy = remedy_for(std::string(kind.code), profile); remedy && steps.size() < 20;
       remedy = remedy_for(std::string(kind.code), profile)) {
    Strings set;
    for (const auto& [key, value] : remedy->set) set.push_back(key + ": " + value);
    steps.push_back("`" + joined(set, ", ") + "`");
    profile = test::with(profile, remedy->set);
  }
  return joined(steps, ", then ");
}

std::string row_of(const FailureKind& kind) {
  const Strings cells{"`" + std::string(kind.code) + "`", std::string(kind.title), recognised(kind),
                      kind.retryable ? "yes" : "no",      remedies_of(kind),       advice_of(kind)};
  std::string row = "|";
  for (const std::string& cell : cells) {
    row += ' ';
    for (const char c : cell) row += c == '|' ? std::string("\\|") : std::string(1, c);
    row += " |";
  }
  return row + "\n";
}

std::string document() {
  std::string text =
      "# Failures\n\n"
      "How an engine can fail: what `last_failure.code` says, how k3d recognises it, and what to do. A line of the log "
      "counts more than the exit code, except where the exit code shows that someone outside ended the engine. What "
      "k3d itself stopped is no failure. *Retry*: whether k3d tries again by itself (after 10 s, then later, a few "
      "times). *Remedy*: the change of the profile that k3d proposes (`last_failure.remedy`), and what it proposes if "
      "that was not enough; from the defaults, with `cache_type: q8_0`. `POST profiles/NAME/overrides` applies it, "
      "`self_heal: true` does by itself.\n\n"
      "<!-- Written by the test engine from the catalogue in daemon/engine: K3D_UPDATE_GOLDEN=1 engine_test -->\n\n"
      "| code | title | how it is recognised | retry | remedy | advice |\n"
      "| --- | --- | --- | --- | --- | --- |\n";
  for (const FailureKind& kind : failure_kinds()) text += row_of(kind);
  return text;
}

TEST(Catalogue, the_documentation_is_what_it_says) {
  const std::string path = K3D_SOURCE_DIR "/docs/failures.md";
  if (std::getenv("K3D_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << document();
  std::ifstream file(path, std::ios::binary);
  const std::string written{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(written, document()) << "K3D_UPDATE_GOLDEN=1 rewrites " << path;
}

TEST(Catalogue, every_code_of_the_contract_is_in_it_once) {
  const std::set<std::string_view> contract{"model_missing",
                                            "model_corrupt",
                                            "model_truncated",
                                            "shard_missing",
                                            "not_first_shard",
                                            "unknown_architecture",
                                            "bad_argument",
                                            "unknown_flag",
                                            "port_in_use",
                                            "cache_type_unsupported",
                                            "cache_types_differ",
                                            "cuda_out_of_memory",
                                            "cuda_out_of_memory_on_request",
                                            "fit_given_up",
                                            "draft_device",
                                            "mmproj_mismatch",
                                            "gpu_unavailable",
                                            "gpu_lost",
                                            "oom",
                                            "killed",
                                            "crash",
                                            "load_stalled",
                                            "image_error",
                                            "docker_restart",
                                            "removed_externally",
                                            "vram_not_released",
                                            "host_rebooted",
                                            "engine_unreachable"};
  std::multiset<std::string_view> codes;
  for (const FailureKind& kind : failure_kinds()) codes.insert(kind.code);
  EXPECT_THAT(codes, testing::UnorderedElementsAreArray(contract));
}

TEST(Catalogue, every_kind_can_be_recognised_and_every_sign_and_end_has_a_kind) {
  for (const FailureKind& kind : failure_kinds()) EXPECT_FALSE(recognised(kind).empty()) << kind.code;
  for (const FailureSign& sign : failure_signs()) {
    EXPECT_NE(find_kind(sign.code), nullptr) << sign.code;
    EXPECT_EQ(sign.pattern.empty(), sign.lines == Lines::abort) << sign.code;
  }
  for (const FailureEnd& end : failure_ends()) EXPECT_NE(find_kind(end.code), nullptr) << end.code;
}

TEST(Catalogue, an_end_of_any_kind_is_named) {
  for (int code = -1; code <= 300; ++code) {
    for (const int flags : {0, 1, 2, 3}) {
      const std::optional<int> exit_code = code < 0 ? std::nullopt : std::optional(code);
      const FailureEnd& end = find_end({exit_code, (flags & 1) != 0, (flags & 2) != 0});
      EXPECT_NE(find_kind(end.code), nullptr) << code;
    }
  }
}

}  // namespace
}  // namespace k3d::engine
