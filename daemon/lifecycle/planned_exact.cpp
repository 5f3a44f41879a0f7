#include "daemon/lifecycle/planned_exact.hpp"

#include <filesystem>

#include "daemon/base/log.hpp"
#include "daemon/engine/fit_params.hpp"
#include "daemon/lifecycle/effects.hpp"
#include "daemon/lifecycle/planned_tool.hpp"
#include "daemon/lifecycle/step.hpp"
#include "daemon/lifecycle/supervisor.hpp"

namespace k3d::lifecycle {
namespace {

constexpr seconds kLimit{300};
constexpr const char* kProgram = "llama-fit-params";

/// Beside the image's own program.
std::string program_of(const ImageInfo& image) {
  const std::filesystem::path own = image.entrypoint.empty() ? "/usr/bin/llama-server" : image.entrypoint.front();
  const std::filesystem::path folder = own.has_parent_path() ? own.parent_path() : "/usr/bin";
  return (folder / kProgram).string();
}

/// The same image, devices and weights; nothing of the attempt.
LaunchSpec dry_spec(const Launch& launch, const std::string& program, const std::string& instance) {
  LaunchSpec spec = launch.container;
  spec.name += "-preflight";
  spec.entrypoint = {program};
  spec.env.erase("LLAMA_API_KEY");
  spec.env.erase("K3D_LOG");
  spec.labels = {{"k3d.help", instance}};
  spec.host_network = false;
  spec.memlock_unlimited = false;
  std::erase_if(spec.mounts, [](const BindMount& mount) { return !mount.read_only; });
  return spec;
}

std::string last_words(const std::string& text) {
  constexpr std::size_t kMost = 400;
  return text.size() <= kMost ? text : text.substr(text.size() - kMost);
}

/// What the program answers, or why it ended.
Task<Result<std::vector<std::string>>> answer_of(Containers& containers, LaunchSpec spec, std::string program) {
  const Result<ToolRun> run = co_await run_tool(containers, std::move(spec), program, true, kLimit);
  if (!run && run.error().code == Code::not_found) {
    co_return fail(Code::image_missing, "preflight: exact needs " + std::string(kProgram) + ", and the image has no " + program,
                   "use an image that has it, or preflight: computed");
  }
  if (!run) co_return fail(run.error());
  if (run->exit_code != 0) {
    co_return fail(Code::does_not_fit, "the engine's own dry run ended with exit code " + std::to_string(run->exit_code),
                   "see what it says, and lower context, slots or ubatch", last_words(run->text));
  }
  co_return run->answer;
}

Bytes total(const engine::Buffers& buffers) { return buffers.model + buffers.context + buffers.compute; }
Bytes total(const PlannedDevice& device) { return device.model_bytes + device.context_bytes + device.compute_bytes; }

std::string parts(Bytes model, Bytes context, Bytes compute) {
  return format_bytes(model) + " of weights, " + format_bytes(context) + " of context, " + format_bytes(compute) +
         " of compute buffers";
}

}  // namespace

Task<Result<engine::Breakdown>> engine_figures(Containers& containers, Launch launch, std::string instance) {
  const Result<ImageInfo> image = co_await containers.image(launch.container.image);
  if (!image) co_return fail(image.error());
  const std::string program = program_of(*image);
  LaunchSpec spec = dry_spec(launch, program, instance);
  spec.args = engine::fit_params_arguments(launch.argv);
  if (engine::asks_for_fit(launch.argv)) {
    const auto fitted = co_await answer_of(containers, spec, program);
    if (!fitted) co_return fail(fitted.error());
    spec.args = engine::with_fitted(spec.args, engine::fitted_arguments(fitted->empty() ? "" : fitted->back()));
  }
  spec.args.insert(spec.args.end(), {"-fitp", "on"});
  const auto answer = co_await answer_of(containers, spec, program);
  if (!answer) co_return fail(answer.error());
  const auto figures = engine::fit_params_figures(*answer);
  if (!figures) co_return fail(Code::protocol, "the engine's dry run tells no figures", "use preflight: computed");
  co_return *figures;
}

std::vector<std::string> beside(const Plan& plan, const engine::Breakdown& figures) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(plan.devices.size(), figures.devices.size()); ++i) {
    const PlannedDevice& ours = plan.devices[i];
    const engine::Buffers& its = figures.devices[i];
    lines.push_back("GPU " + std::to_string(ours.index) + ": the engine counts " + parts(its.model, its.context, its.compute) +
                    "; planned are " + parts(ours.model_bytes, ours.context_bytes, ours.compute_bytes));
  }
  const engine::Buffers& host = figures.host;
  lines.push_back("host RAM: the engine counts " + parts(host.model, host.context, host.compute) + "; planned are " +
                  parts(plan.host.model_bytes, plan.host.context_bytes, plan.host.compute_bytes));
  return lines;
}

Status check_figures(const Plan& plan, const engine::Breakdown& figures) {
  Error error{Code::does_not_fit, {}, "lower context, slots or ubatch; \"accept_risk\" starts it all the same", {}};
  for (std::size_t i = 0; i < std::min(plan.devices.size(), figures.devices.size()); ++i) {
    const PlannedDevice& ours = plan.devices[i];
    // The draft and the projector aren't in its figures; the plan has them.
    const Bytes need = total(figures.devices[i]) + ours.reserve_bytes;
    if (need <= ours.free_bytes) continue;
    error.breaks.push_back({"vram", ours.index, need, ours.free_bytes});
    if (!error.message.empty()) continue;
    error.message = "by the engine's own figures GPU " + std::to_string(ours.index) + " would need " + format_bytes(need) +
                    " (planned " + format_bytes(total(ours) + ours.reserve_bytes) + "); " + format_bytes(ours.free_bytes) +
                    " are free";
  }
  if (error.breaks.empty()) return {};
  return fail(std::move(error));
}

/// A step of the activation. What was not planned has nothing to be held against.
Task<Status> Effects::ask_engine_first(Launch launch) {
  const Target* target = target_of(owner_.state_);
  const bool accept_risk = target != nullptr && risk_accepted(*target);
  owner_.registry_.step(operation_of(owner_.state_), "preflight", std::chrono::system_clock::now());
  owner_.publish();
  const auto figures = co_await engine_figures(owner_.ports_.containers, launch, owner_.settings_->instance);
  if (!figures && !accept_risk) co_return fail(figures.error());
  if (!figures) log::warning("the engine's dry run failed", {{"cause", figures.error().text()}});
  if (!figures || launch.plan == nullptr) co_return Status{};
  for (const std::string& line : beside(*launch.plan, *figures)) log::info("preflight", {{"figures", line}});
  const Status fits = check_figures(*launch.plan, *figures);
  co_return fits || accept_risk ? Status{} : fits;
}

}  // namespace k3d::lifecycle
