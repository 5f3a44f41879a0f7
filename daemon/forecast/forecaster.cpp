#include "daemon/forecast/forecaster.hpp"

#include <algorithm>

#include "daemon/base/async/offload.hpp"
#include "daemon/base/async/sleep.hpp"
#include "daemon/forecast/exact.hpp"
#include "daemon/forecast/quant_list.hpp"
#include "daemon/forecast/study.hpp"

namespace k3d::forecast {
namespace {

constexpr milliseconds kStatsLimit{500};

std::string engine_of(const Snapshot& now) { return now.engine ? now.engine->container_id.value : std::string(); }

/// What an outlook depends on, besides the files and the free memory.
struct Known {
  std::shared_ptr<const Settings> settings;
  std::map<std::string, Overrides> overrides;
  std::string engine;

  friend bool operator==(const Known&, const Known&) = default;
};

Known known_of(const Snapshot& now) { return {now.settings, now.overrides, engine_of(now)}; }

/// The engine is asked on this host, with the files that are here.
Status can_be_exact(const PlanQuestion& question, const Snapshot& now) {
  if (now.engine) {
    return fail(Code::conflict, "an engine holds the devices that an exact plan would load into",
                "`k3ctl down` first, or leave \"exact\" out: the computed plan disturbs nothing");
  }
  const auto by_size = [](const AskedGpu& gpu) { return !gpu.index; };
  const bool elsewhere = question.gpus && std::any_of(question.gpus->begin(), question.gpus->end(), by_size);
  if (question.profile.empty() || !question.path.empty() || elsewhere || question.ram_bytes) {
    return fail(Code::invalid_request, "exact asks the image of a profile on this host's own devices",
                "name a profile, and leave out path, ram_bytes and GPUs by their size");
  }
  return {};
}

}  // namespace

Forecaster::Forecaster(Executor loop, Surroundings around) : around_(std::move(around)), tasks_(std::move(loop)) {}

void Forecaster::start() { tasks_.spawn(keep_outlooks()); }

Task<void> Forecaster::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<Result<PlanAnswer>> Forecaster::plan(PlanQuestion question) {
  const SnapshotPtr now = around_.board.read();
  const bool exact = question.exact;
  if (exact) {
    if (const Status can = can_be_exact(question, *now); !can) co_return fail(can.error());
  }
  const bool tells_argv = !question.profile.empty() && question.path.empty();
  const bool here = tells_argv && !question.gpus && !question.ram_bytes;
  Result<PlanAnswer> answered = co_await answer(std::move(question), now, true);
  if (answered && here) co_await add_measured(*answered);
  if (answered && exact) answered = co_await made_exact(std::move(*answered));
  if (answered && tells_argv) co_await add_argv(*answered);
  co_return answered;
}

/// Of this host as it is: what earlier loads of the same took counts more than formulas.
Task<void> Forecaster::add_measured(PlanAnswer& answer) {
  if (!around_.start) co_return;
  const auto start = co_await around_.start(answer.settled);
  if (!start || *start == nullptr) co_return;
  const Plan& known = **start;
  answer.plan.load_seconds = known.load_seconds;
  if (known.basis != PlanBasis::measured) co_return;
  answer.plan.basis = known.basis;
  answer.plan.devices = known.devices;
  answer.plan.host = known.host;
  answer.plan.capacity = known.capacity;
}

Task<Result<PlanAnswer>> Forecaster::made_exact(PlanAnswer answer) {
  if (!around_.exact) co_return fail(Code::invalid_request, "this k3d has no dry run of the engine", "leave \"exact\" out");
  const auto computed = std::make_shared<const Plan>(answer.plan);
  const auto figures = co_await around_.exact(answer.settled, computed);
  if (!figures) co_return fail(figures.error());
  take_over(*figures, answer.plan);
  co_return answer;
}

Task<Result<PlanAnswer>> Forecaster::answer(PlanQuestion question, SnapshotPtr now, bool fetches) {
  const Result<Profile> profile = asked_profile(question, *now, around_.overridden);
  if (!profile) co_return fail(profile.error());
  Result<Hardware> found = co_await hardware(question, *profile, now);
  if (!found) co_return fail(found.error());
  Study study{now->settings, std::move(question), *profile, std::move(*found)};
  auto work = [this, study] { return work_out(cache_, study); };
  Result<PlanAnswer> answered = co_await offload(pool_, std::move(work));
  // Half a set is on its way here: the hub has all of it.
  const Code code = answered ? Code::internal : answered.error().code;
  const bool missing = code == Code::files_missing || code == Code::shard_missing;
  if (!missing || !fetches || !study.question.path.empty()) co_return answered;
  const Result<HeadersPtr> remote = co_await fetch(now, *profile, answered.error());
  if (!remote) co_return fail(remote.error());
  study.remote = *remote;
  auto again = [this, study] { return work_out(cache_, study); };
  co_return co_await offload(pool_, std::move(again));
}

/// The headers of files that aren't here.
Task<Result<HeadersPtr>> Forecaster::fetch(SnapshotPtr now, Profile profile, Error missing) {
  const auto model = now->settings->models.find(profile.model);
  const bool of_hub = model != now->settings->models.end() && !model->second.repo.empty();
  if (!around_.remote || !of_hub) co_return fail(std::move(missing));
  co_return co_await around_.remote(model->second, profile.quant);
}

Task<Result<Hardware>> Forecaster::hardware(PlanQuestion question, Profile profile, SnapshotPtr now) {
  std::vector<GpuState> gpus;
  if (needs_gpus(question, profile)) {
    Result<std::vector<GpuState>> read = co_await around_.gpus.read();
    if (!read) co_return fail(read.error());
    gpus = std::move(*read);
  }
  Result<Hardware> chosen = choose_gpus(question, profile, gpus, engine_of(*now));
  if (!chosen) co_return chosen;
  if (question.ram_bytes) {
    chosen->ram = planning::HostRam{*question.ram_bytes, *question.ram_bytes};
  } else {
    chosen->ram = co_await ram(now);
  }
  co_return chosen;
}

/// What our engine holds is available to the next one.
Task<std::optional<planning::HostRam>> Forecaster::ram(SnapshotPtr now) {
  auto read = around_.ram;
  std::optional<planning::HostRam> host = co_await offload(pool_, std::move(read));
  if (!host || !now->engine) co_return host;
  auto asked = around_.containers.stats(now->engine->container_id);
  const auto stats = co_await with_deadline<ContainerStats>(std::move(asked), kStatsLimit, "the engine's memory");
  if (stats) host->available_bytes = std::min(host->total_bytes, host->available_bytes + stats->memory_bytes);
  co_return host;
}

Task<void> Forecaster::add_argv(PlanAnswer& answer) {
  Result<Launch> launch = co_await around_.launch(answer.settled);
  if (launch) {
    answer.argv = std::move(launch->argv);
  } else {
    answer.plan.warnings.push_back("the engine's argument list can't be told: " + launch.error().text());
  }
}

Task<std::vector<QuantView>> Forecaster::quants() {
  const SnapshotPtr now = around_.board.read();
  const PlanQuestion question;
  const Profile defaults;
  const Result<Hardware> found = co_await hardware(question, defaults, now);
  const std::optional<Hardware> here = found ? std::optional(*found) : std::nullopt;
  auto list = [this, settings = now->settings, here] { return list_quants(cache_, settings, here); };
  co_return co_await offload(pool_, std::move(list));
}

// ---- outlooks -------------------------------------------------------------------------------------------------------

std::shared_ptr<const Result<PlanAnswer>> Forecaster::outlook(const std::string& profile) const {
  const SnapshotPtr now = around_.board.read();
  const Profile* configured = now->settings ? now->settings->find_profile(profile) : nullptr;
  const auto kept = outlooks_.find(profile);
  if (configured == nullptr || kept == outlooks_.end()) return nullptr;
  // After a reload the old plan is of another profile, though it has the same name.
  const bool same = kept->second.profile == profile_in_force(*configured, *now, around_.overridden);
  return same ? kept->second.answer : nullptr;
}

Task<void> Forecaster::keep_outlooks() {
  Known known;
  SteadyTime renewed;
  do {
    const SnapshotPtr now = around_.board.read();
    const bool old = std::chrono::steady_clock::now() - renewed >= around_.renew;
    if (!now->settings || (!old && known == known_of(*now))) continue;
    known = known_of(*now);
    co_await renew_outlooks(now);
    renewed = std::chrono::steady_clock::now();
  } while (co_await sleep_for(around_.look));
}

Task<void> Forecaster::renew_outlooks(SnapshotPtr now) {
  std::erase_if(outlooks_, [&now](const auto& entry) { return now->settings->find_profile(entry.first) == nullptr; });
  for (const Profile& configured : now->settings->profiles) {
    PlanQuestion question;
    question.profile = configured.name;
    Result<PlanAnswer> answered = co_await answer(std::move(question), now, false);
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return;
    outlooks_[configured.name] = Outlook{profile_in_force(configured, *now, around_.overridden),
                                         std::make_shared<const Result<PlanAnswer>>(std::move(answered))};
  }
}

}  // namespace k3d::forecast
