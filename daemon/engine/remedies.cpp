#include "daemon/engine/remedies.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "daemon/engine/batches.hpp"
#include "daemon/engine/placement_flags.hpp"

namespace k3d::engine {
namespace {

/// MiB to leave free per GPU. Long prompts took up to 1,800 MiB more per device than any plan says; beyond the last of
/// these steps something else is wrong.
constexpr int kFirstMargin = 6144, kMarginStep = 2048, kLastMargin = 12288;
/// Tokens of a micro-batch. Below the last, prompts are read too slowly to be of use.
constexpr int kFirstUbatch = 2048, kLastUbatch = 512;
constexpr int kFewCheckpoints = 2;

/// What a remedy changes, in words and as overrides.
class Draft {
 public:
  void change(std::string key, std::string value, const std::string& words) {
    if (!text_.empty()) text_ += ", and ";
    text_ += words;
    set_[std::move(key)] = std::move(value);
  }
  [[nodiscard]] bool empty() const { return set_.empty(); }
  [[nodiscard]] std::optional<Remedy> take() const {
    if (empty()) return std::nullopt;
    return Remedy{text_, set_};
  }

 private:
  std::string text_;
  Overrides set_;
};

int next_margin(int margin) {
  return margin < kFirstMargin ? kFirstMargin : std::max(margin, std::min(margin + kMarginStep, kLastMargin));
}

void raise_margin(Draft& draft, const Profile& profile) {
  if (profile.placement.mode != PlacementMode::fit) return;
  const std::vector<int> now = fit_margins(profile.placement);
  std::vector<int> next;
  std::transform(now.begin(), now.end(), std::back_inserter(next), next_margin);
  if (next == now) return;
  const std::string values = fmt::format("{}", fmt::join(next, ", "));
  draft.change("fit_target_mib", next.size() == 1 ? values : "[" + values + "]",
               fmt::format("leave {} MiB per GPU free instead of {}", values, fmt::join(now, ", ")));
}

void shrink_ubatch(Draft& draft, const Profile& profile) {
  const int now = batches_of(profile).ubatch;
  // What is left to k3d may grow with the placement: it is tied down before anything is halved.
  const bool tied = profile.ubatch.has_value() || now < kFirstUbatch;
  const int next = now > kFirstUbatch || !tied ? kFirstUbatch : std::max(now / 2, kLastUbatch);
  if (tied && next >= now) return;
  draft.change("ubatch", std::to_string(next), fmt::format("compute prompts in steps of {} tokens", next));
}

/// The scratch of a long prompt did not fit beside what the load took.
std::optional<Remedy> of_request(const Profile& profile) {
  Draft draft;
  raise_margin(draft, profile);
  shrink_ubatch(draft, profile);
  return draft.take();
}

/// Only where the engine itself decides what goes to the GPUs: an explicit placement is to be planned anew.
std::optional<Remedy> of_load(const Profile& profile) {
  Draft draft;
  raise_margin(draft, profile);
  if (draft.empty() && profile.placement.mode == PlacementMode::fit) shrink_ubatch(draft, profile);
  return draft.take();
}

std::optional<Remedy> of_host_memory(const Profile& profile) {
  Draft draft;
  if (profile.cache_ram != Bytes{0}) {
    draft.change("cache_ram", "0", "keep no finished prompts in this host's memory: what comes again is read again");
  } else if (const int now = profile.ctx_checkpoints.value_or(kFewCheckpoints + 1); now > 0) {
    const int next = now > kFewCheckpoints ? kFewCheckpoints : 0;
    draft.change("ctx_checkpoints", std::to_string(next), fmt::format("keep {} context checkpoints per slot", next));
  }
  return draft.take();
}

std::optional<Remedy> of_cache_type(const Profile& profile) {
  Draft draft;
  if (profile.cache_type != "f16") draft.change("cache_type", "f16", "keep the context in f16, which every engine can");
  return draft.take();
}

}  // namespace

std::optional<Remedy> remedy_for(const std::string& code, const Profile& profile) {
  if (code == "oom") return of_host_memory(profile);
  if (code == "cache_type_unsupported" || code == "cache_types_differ") return of_cache_type(profile);
  if (profile.gpus.choice == GpuChoice::none) return std::nullopt;
  if (code == "cuda_out_of_memory") return of_load(profile);
  if (code == "cuda_out_of_memory_on_request") return of_request(profile);
  return std::nullopt;
}

}  // namespace k3d::engine
