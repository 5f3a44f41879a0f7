#include "daemon/lifecycle/planned_start.hpp"

#include <filesystem>

#include "daemon/base/async/offload.hpp"
#include "daemon/base/log.hpp"
#include "daemon/lifecycle/planned_profile.hpp"
#include "daemon/lifecycle/vram.hpp"
#include "daemon/planning/gguf_reader.hpp"

namespace k3d::lifecycle {
namespace {

constexpr std::size_t kKeptHeaders = 4;

Bytes size_of(const std::filesystem::path& file) {
  std::error_code ignored;
  const auto size = std::filesystem::file_size(file, ignored);
  return ignored ? 0 : size;
}

/// What it has now and gets back from the engine that is stopped first.
std::optional<planning::HostRam> ram_of(const HostFacts& host, Bytes own) {
  if (!host.ram_bytes) return std::nullopt;
  const Bytes available = host.available_ram_bytes.value_or(*host.ram_bytes) + own;
  return planning::HostRam{*host.ram_bytes, std::min(available, *host.ram_bytes)};
}

std::vector<std::string> names_of(const std::vector<GpuState>& gpus) {
  std::vector<std::string> names;
  for (const GpuState& gpu : gpus) names.push_back(gpu.name);
  return names;
}

std::vector<std::string> uuids_of(const std::vector<GpuState>& gpus) {
  std::vector<std::string> uuids;
  for (const GpuState& gpu : gpus) uuids.push_back(gpu.uuid);
  return uuids;
}

void tell(const std::string& profile, const Plan& plan) {
  log::info("planned", {{"profile", profile}, {"why", plan.reasons.empty() ? std::string() : plan.reasons.front()}});
  for (const std::string& warning : plan.warnings) log::warning("plan", {{"profile", profile}, {"what", warning}});
}

/// Compute buffers of an earlier load; with a draft they are of both models together.
std::optional<planning::MeasuredCompute> compute_of(const MeasuredMemory& memory, std::size_t devices) {
  if (memory.devices.size() != devices) return std::nullopt;
  planning::MeasuredCompute compute;
  for (const MeasuredMemory::Part& device : memory.devices) compute.devices.push_back(device.compute_bytes);
  compute.host_bytes = memory.host.compute_bytes;
  return compute;
}

}  // namespace

std::string identity_of(const StartSubject& subject) {
  return subject.files.identity + (subject.draft ? "|" + subject.draft->identity : "");
}

/// What there is to plan with.
struct StartPlanner::Seen {
  planning::PlanInputs inputs;
  std::vector<GpuState> gpus;
  LoadIdentity identity;
};

std::shared_ptr<const planning::ModelHeaders> HeaderCache::read(const hub::ModelFiles& files) {
  for (const Kept& kept : kept_) {
    if (kept.identity == files.identity) return kept.headers;
  }
  Result<planning::ModelHeaders> headers = planning::read_model(files.first_shard);
  if (!headers) {
    log::info("the headers of a model can't be planned with", {{"file", files.first_shard.string()},
                                                                {"cause", headers.error().text()}});
    return nullptr;
  }
  kept_.push_front({files.identity, std::make_shared<const planning::ModelHeaders>(std::move(*headers))});
  if (kept_.size() > kKeptHeaders) kept_.pop_back();
  return kept_.front().headers;
}

/// Nothing if it can't be planned: GPUs that can't be read, or headers.
Task<std::optional<StartPlanner::Seen>> StartPlanner::look(StartSubject subject, StartTerms terms) {
  std::vector<GpuState> all;
  if (subject.profile.gpus.choice != GpuChoice::none) {
    auto read = co_await gpus_.read();
    if (read) all = mark_ours(std::move(*read), terms.own_container);
  }
  auto gpus = gpus_of(subject.profile.gpus, all);
  if (!gpus) co_return std::nullopt;
  auto read = [this, files = subject.files, draft = subject.draft] {
    return std::tuple(headers_.read(files), draft ? headers_.read(*draft) : nullptr,
                      files.mmproj.empty() ? Bytes{0} : size_of(files.mmproj));
  };
  auto [model, draft, mmproj] = co_await offload(files_, std::move(read));
  if (model == nullptr) co_return std::nullopt;
  Seen seen;
  seen.inputs.profile = subject.profile;
  seen.inputs.model = std::move(model);
  const auto source = subject.settings->sources.find(subject.profile.source);
  const bool vision = source != subject.settings->sources.end() && source->second.vision;
  seen.inputs.mmproj_bytes = vision ? mmproj : 0;
  if (subject.profile.speculative && draft) seen.inputs.draft = {draft, subject.profile.speculative->n_max};
  seen.inputs.gpus = memory_for_next(*gpus);
  if (terms.own_ram_known) seen.inputs.ram = ram_of(subject.host, terms.own_ram);
  seen.gpus = std::move(*gpus);
  seen.identity = {image_tag(*subject.settings, subject.profile), identity_of(subject), uuids_of(seen.gpus)};
  co_return seen;
}

/// Bytes per second.
Task<std::optional<double>> StartPlanner::recall_rate(std::string key) {
  const auto kept = co_await journal_.get(std::move(key));
  const double rate = kept ? std::strtod(kept->c_str(), nullptr) : 0;
  co_return rate > 0 ? std::optional(rate) : std::nullopt;
}

/// With the last good load's placement in the place of a search, if there was one.
Task<std::optional<Profile>> StartPlanner::recall_pinned(std::string key, Profile profile) {
  const auto kept = co_await journal_.get(std::move(key));
  auto pinned = kept ? pinned_placement(*kept) : std::nullopt;
  if (!pinned) {
    log::warning("no good load is remembered to be replayed: the engine searches a placement", {{"profile", profile.name}});
    co_return std::nullopt;
  }
  profile.placement.tensor_split = std::move(pinned->placed.tensor_split);
  profile.placement.tensors = std::move(pinned->placed.tensors);
  profile.batch = profile.batch.value_or(pinned->batch);
  profile.ubatch = profile.ubatch.value_or(pinned->ubatch);
  co_return profile;
}

Task<Plan> StartPlanner::plan_of(planning::PlanInputs inputs) {
  auto work = [inputs = std::move(inputs)] { return planning::plan(inputs); };
  co_return co_await offload(files_, std::move(work));
}

/// With what an earlier load of the same plan measured, if there was one. Null if it can't be planned.
Task<std::shared_ptr<const Plan>> StartPlanner::compute(planning::PlanInputs inputs, LoadIdentity identity, bool drafts) {
  Plan first = co_await plan_of(inputs);
  // What the planner can't read, an engine may run all the same: it says so itself if not.
  if (first.verdict == Verdict::blocked) {
    log::info("it can't be planned", {{"profile", inputs.profile.name}, {"why", first.reasons.front()}});
    co_return nullptr;
  }
  const Profile profile = inputs.profile;
  const std::string key = measured_key(identity, with_plan(profile, first));
  const auto kept = co_await journal_.get(key);
  const auto memory = kept && !drafts ? measured_memory(*kept) : std::nullopt;
  inputs.measured = memory ? compute_of(*memory, inputs.gpus.size()) : std::nullopt;
  if (!inputs.measured) co_return std::make_shared<const Plan>(std::move(first));
  Plan second = co_await plan_of(std::move(inputs));
  // What was measured is true of the placement that it was measured of, and of no other.
  const bool same = measured_key(identity, with_plan(profile, second)) == key;
  co_return std::make_shared<const Plan>(same ? std::move(second) : std::move(first));
}

Task<Result<PlannedStart>> StartPlanner::plan(StartSubject subject, StartTerms terms) {
  PlannedStart start;
  start.profile = subject.profile;
  start.gpus = subject.profile.gpus.choice == GpuChoice::listed ? subject.profile.gpus.listed.size()
                                                                : subject.host.gpu_uuids.size();
  start.load_rate_key = load_rate_key(subject.files.identity);
  if (terms.as_given) co_return start;
  std::optional<Seen> seen = co_await look(subject, terms);
  if (!seen) co_return start;
  co_return co_await plan_seen(std::move(subject), std::move(*seen), std::move(start), terms.accept_risk);
}

/// What was seen is planned and judged, and is what is launched.
Task<Result<PlannedStart>> StartPlanner::plan_seen(StartSubject subject, Seen seen, PlannedStart start, bool accept_risk) {
  start.gpus = seen.gpus.size();
  start.pinned_key = pinned_key(seen.identity, subject.profile);
  seen.inputs.load_bytes_per_second = co_await recall_rate(start.load_rate_key);
  if (subject.profile.placement.mode == PlacementMode::pinned && !seen.gpus.empty()) {
    auto pinned = co_await recall_pinned(start.pinned_key, subject.profile);
    if (pinned) seen.inputs.profile = std::move(*pinned);
  }
  start.plan = co_await compute(seen.inputs, seen.identity, seen.inputs.draft.has_value());
  if (start.plan == nullptr) co_return start;
  tell(subject.profile.name, *start.plan);
  auto look_at_types = [model = seen.inputs.model, settings = subject.settings, profile = subject.profile,
                        gpus = names_of(seen.gpus)] {
    return planning::judge(*model, settings->quants, profile.model, profile.quant, gpus);
  };
  const planning::Proof proof = co_await offload(files_, std::move(look_at_types));
  const Status fine = check_start({seen.inputs, *start.plan, proof, accept_risk});
  if (!fine) co_return fail(fine.error());
  start.unproven = what_is_unproven(proof, *start.plan);
  start.profile = with_plan(seen.inputs.profile, *start.plan);
  start.measured_key = measured_key(seen.identity, start.profile);
  co_return start;
}

}  // namespace k3d::lifecycle
