#include "daemon/planning/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "daemon/planning/capacity.hpp"
#include "daemon/planning/memory_beyond.hpp"
#include "daemon/planning/placement_search.hpp"
#include "daemon/planning/planner_words.hpp"

namespace k3d::planning {
namespace {

/// Prompts are computed in such steps: with experts in host RAM each step copies them all, so few and large ones.
constexpr int kResidentBatch = 2048, kHybridBatch = 4096;
constexpr int kMaxSlots = 256;  ///< LLAMA_MAX_SEQ
constexpr int kMaxDraft = 64;
constexpr int kMaxBatch = 1 << 20;

/// "q8_0" is ggml's "Q8_0".
const GgmlType* cache_type(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return ggml_type(std::string_view(name));
}

/// What doesn't depend on the batches.
struct Subject {
  Architecture architecture;
  ModelWeights weights;
  Serving serving;
};

/// A draft model may be wrong up to so many tokens back; n-grams are checked without a state of their own.
int draft_tokens(const PlanInputs& inputs) {
  if (inputs.draft) return inputs.draft->model ? std::clamp(inputs.draft->n_max, 0, kMaxDraft) : 0;
  const auto& speculative = inputs.profile.speculative;
  return speculative && !speculative->model.empty() ? std::clamp(speculative->n_max, 0, kMaxDraft) : 0;
}

Result<Subject> subject_of(const PlanInputs& inputs) {
  if (!inputs.model) return fail(Code::files_missing, "the model's headers aren't known");
  auto architecture = read_architecture(*inputs.model);
  if (!architecture) return fail(architecture.error());
  const Profile& profile = inputs.profile;
  if (profile.slots < 1 || profile.slots > kMaxSlots || profile.context < 1) {
    return fail(Code::invalid_request, fmt::format("slots must be 1 to {}, and context at least 1", kMaxSlots));
  }
  for (const auto& batch : {profile.batch, profile.ubatch}) {
    if (batch && (*batch < 1 || *batch > kMaxBatch)) {
      return fail(Code::invalid_request, fmt::format("batch and ubatch must be 1 to {}", kMaxBatch));
    }
  }
  Subject subject{std::move(*architecture), {}, {}};
  subject.serving = {profile.slots, profile.context, 0, 0, 0, cache_type(profile.cache_type)};
  if (subject.serving.cache == nullptr || !cache_type_fits(subject.architecture, *subject.serving.cache)) {
    return fail(Code::invalid_request, fmt::format("cache type {} doesn't suit this model", profile.cache_type));
  }
  subject.serving.rollback = draft_tokens(inputs);
  subject.weights = weigh(*inputs.model, subject.architecture);
  return subject;
}

Serving batched(const Profile& profile, Serving serving, int fitting) {
  serving.batch = profile.batch.value_or(std::max(fitting, profile.ubatch.value_or(0)));
  serving.ubatch = std::min(profile.ubatch.value_or(fitting), serving.batch);
  return serving;
}

void add(MemoryUse& to, const MemoryUse& what) {
  to.model += what.model;
  to.context += what.context;
  to.compute += what.compute;
}

Room room_of(const PlanInputs& inputs, const Serving& serving, std::size_t draft_device) {
  Room room;
  for (const GpuMemory& gpu : inputs.gpus) room.free.push_back(gpu.free_bytes);
  room.extras.resize(room.free.size());
  room.reserve = kCudaContext + cuda_scratch(serving.ubatch);
  if (room.free.empty()) return room;
  add(room.extras.front(), projector_use(inputs.mmproj_bytes));
  if (!inputs.draft || !inputs.draft->model) return room;
  const MemoryUse draft = draft_use(*inputs.draft->model, serving);
  add(room.extras[draft_device], draft);
  room.draft = draft.total();
  room.draft_device = draft_device;
  return room;
}

void fill_devices(const PlanInputs& inputs, const Room& room, const Solution& solution, Plan& plan) {
  for (std::size_t i = 0; i < inputs.gpus.size(); ++i) {
    const MemoryUse &own = solution.use.devices[i], &extra = room.extras[i];
    PlannedDevice device;
    device.index = inputs.gpus[i].index;
    device.layers = solution.layers[i];
    device.model_bytes = own.model + extra.model;
    device.context_bytes = own.context + extra.context;
    device.compute_bytes = own.compute + extra.compute;
    device.reserve_bytes = own.total() + extra.total() > 0 ? room.reserve : 0;
    device.free_bytes = room.free[i];
    device.left_bytes =
        static_cast<std::int64_t>(room.free[i]) - static_cast<std::int64_t>(own.total() + extra.total() + device.reserve_bytes);
    plan.devices.push_back(device);
  }
}

void fill_host(const PlanInputs& inputs, const MemoryModel& model, const Solution& solution, Plan& plan) {
  const MemoryUse& use = solution.use.host;
  const Bytes checkpoint = checkpoint_bytes(model.architecture());
  const HostCaches caches = host_caches(inputs.profile, inputs.ram, checkpoint);
  plan.host.model_bytes = use.model;
  plan.host.context_bytes = use.context;
  plan.host.compute_bytes = use.compute;
  plan.host.cache_bytes = caches.prompt_cache + checkpoint * static_cast<Bytes>(caches.checkpoints) *
                                                    static_cast<Bytes>(inputs.profile.slots);
  if (!inputs.ram) return;
  plan.host.ram_bytes = inputs.ram->total_bytes;
  plan.host.left_bytes = static_cast<std::int64_t>(inputs.ram->available_bytes) -
                         static_cast<std::int64_t>(use.total() + plan.host.cache_bytes);
}

void fill_files(const PlanInputs& inputs, Plan& plan) {
  plan.shards = static_cast<int>(inputs.model->shards.size());
  for (const ShardInfo& shard : inputs.model->shards) plan.total_bytes += shard.file_bytes;
  if (inputs.model->shards.empty()) {
    for (const TensorInfo& tensor : inputs.model->tensors) plan.total_bytes += tensor.bytes;
  }
  if (inputs.load_bytes_per_second.value_or(0) > 0) {
    plan.load_seconds = static_cast<double>(plan.total_bytes) / *inputs.load_bytes_per_second;
  }
}

Plan blocked(const Error& error) {
  Plan plan;
  plan.reasons.push_back(error.message);
  return plan;
}

/// A plan's figures and verdict, and what they are about.
struct Attempt {
  MemoryModel model;
  Room room;
  Solution solution;
  Plan plan;
};

/// The draft sits on the device that holds the output: anywhere else the engine aborts. Which one that is may depend on
/// the room that the draft takes.
Status place(const PlanInputs& inputs, Attempt& attempt) {
  const std::size_t devices = inputs.gpus.size();
  std::size_t draft_device = devices > 0 ? devices - 1 : 0;
  for (std::size_t tries = 0; tries <= devices; ++tries) {
    attempt.room = room_of(inputs, attempt.model.serving(), draft_device);
    auto solution = solve(attempt.model, *inputs.model, inputs.profile.placement, attempt.room);
    if (!solution) return fail(solution.error());
    attempt.solution = std::move(*solution);
    const int output = attempt.solution.placed.layer_device.back();
    if (attempt.room.draft == 0 || output == kHost || static_cast<std::size_t>(output) == draft_device) break;
    draft_device = static_cast<std::size_t>(output);
  }
  return {};
}

/// With micro-batches of `fitting` tokens where the profile leaves them open.
Result<Attempt> attempt_with(const PlanInputs& inputs, const Subject& subject, int fitting) {
  const Serving serving = batched(inputs.profile, subject.serving, fitting);
  std::optional<KnownCompute> known;
  if (inputs.measured) known = KnownCompute{inputs.measured->devices, inputs.measured->host_bytes};
  const auto devices = static_cast<int>(inputs.gpus.size());
  Attempt made{MemoryModel(subject.architecture, subject.weights, serving, devices, known), {}, {}, {}};
  if (Status placed = place(inputs, made); !placed) return fail(placed.error());
  made.plan.batch = serving.batch;
  made.plan.ubatch = serving.ubatch;
  made.plan.placement = made.solution.planned;
  made.plan.basis = known ? PlanBasis::measured : PlanBasis::computed;
  fill_devices(inputs, made.room, made.solution, made.plan);
  fill_host(inputs, made.model, made.solution, made.plan);
  fill_files(inputs, made.plan);
  judge({inputs, made.model, made.room, made.solution}, made.plan);
  return made;
}

/// Batches of the resident size, or of the hybrid one if experts are in host RAM and it fits.
Result<Attempt> best_attempt(const PlanInputs& inputs, const Subject& subject) {
  auto resident = attempt_with(inputs, subject, kResidentBatch);
  const bool open = !inputs.profile.ubatch && inputs.profile.batch.value_or(kHybridBatch) > kResidentBatch;
  if (!resident || resident->plan.verdict != Verdict::hybrid || inputs.gpus.empty() || !open) return resident;
  auto hybrid = attempt_with(inputs, subject, kHybridBatch);
  return hybrid && hybrid->plan.verdict != Verdict::too_big ? hybrid : resident;
}

}  // namespace

Plan plan(const PlanInputs& inputs) {
  const auto subject = subject_of(inputs);
  if (!subject) return blocked(subject.error());
  auto made = best_attempt(inputs, *subject);
  if (!made) return blocked(made.error());
  warn({inputs, made->model, made->room, made->solution}, made->plan);
  const auto host = inputs.ram ? std::optional(inputs.ram->available_bytes) : std::nullopt;
  if (made->plan.breaks.empty()) made->plan.capacity = capacities(made->model, made->solution, made->room, host);
  return std::move(made->plan);
}

}  // namespace k3d::planning
