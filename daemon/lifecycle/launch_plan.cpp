#include "daemon/lifecycle/launch_plan.hpp"

#include <sys/stat.h>

#include "daemon/base/async/offload.hpp"
#include "daemon/base/secret.hpp"
#include "daemon/engine/capabilities.hpp"
#include "daemon/engine/command_line.hpp"
#include "daemon/engine/log_wrapper.hpp"
#include "daemon/hub/model_files.hpp"
#include "daemon/lifecycle/attempt_folder.hpp"
#include "daemon/lifecycle/devices.hpp"
#include "daemon/lifecycle/planned_profile.hpp"
#include "daemon/lifecycle/planned_tool.hpp"

namespace k3d::lifecycle {
namespace {

constexpr seconds kHelpLimit{60};
constexpr const char* kModels = "/models";
constexpr const char* kDraft = "/draft";

/// Where a file below the mounted folder is inside the container.
std::string inside(const std::filesystem::path& file, const hub::ModelFiles& files, const char* mount = kModels) {
  return (std::filesystem::path(mount) / file.lexically_relative(files.mount_folder)).string();
}

/// A draft model's files are found as those of a profile that serves it.
Profile draft_profile(const Profile& profile) {
  Profile draft;
  draft.name = profile.name;
  draft.model = profile.speculative->model;
  return draft;
}

/// Everything on the disks that a start is made of. Blocking.
Result<StartSubject> subject_of(std::shared_ptr<const Settings> settings, Profile profile, HostFacts host) {
  Result<hub::ModelFiles> files = hub::find_model_files(*settings, profile);
  if (!files) return fail(files.error());
  StartSubject subject{std::move(settings), std::move(profile), std::move(*files), std::nullopt, std::move(host)};
  if (!subject.profile.speculative || subject.profile.speculative->model.empty()) return subject;
  Result<hub::ModelFiles> draft = hub::find_model_files(*subject.settings, draft_profile(subject.profile));
  if (!draft) return fail(draft.error());
  subject.draft = std::move(*draft);
  return subject;
}

bool has_vision(const Settings& settings, const Profile& profile) {
  const auto source = settings.sources.find(profile.source);
  return source != settings.sources.end() && source->second.vision;
}

/// k3d's supplementary groups, since weights may be readable by one of them; never the one that may use Docker.
std::vector<std::string> engine_groups(const HostFacts& facts, const DockerSettings& docker) {
  constexpr std::string_view kUnix = "unix://";
  std::vector<std::string> groups = facts.groups;
  struct stat st{};
  if (docker.host.starts_with(kUnix) && ::stat(docker.host.substr(kUnix.size()).c_str(), &st) == 0) {
    std::erase(groups, std::to_string(st.st_gid));
  }
  return groups;
}

engine::CommandInputs command_inputs(const Launch& launch, const PlannedStart& start, const EngineCapabilities& able,
                                     const StartSubject& subject) {
  engine::CommandInputs inputs;
  inputs.profile = start.profile;
  inputs.vision = has_vision(*subject.settings, subject.profile);
  inputs.capabilities = able;
  inputs.model_path = inside(subject.files.first_shard, subject.files);
  if (!subject.files.mmproj.empty()) inputs.mmproj_path = inside(subject.files.mmproj, subject.files);
  if (subject.draft) {
    inputs.draft = {inside(subject.draft->first_shard, *subject.draft, kDraft),
                    draft_device(start.profile, start.plan.get(), start.gpus)};
  }
  inputs.host = subject.host;
  inputs.address = launch.address;
  inputs.log_to_file = able.has_shell;
  return inputs;
}

/// Mounts and devices are the caller's.
LaunchSpec container_of(const Launch& launch, const Profile& profile, const Settings& settings, const HostFacts& host) {
  LaunchSpec spec;
  spec.name = "k3d-" + settings.instance + "-" + std::to_string(launch.attempt);
  spec.image = image_tag(settings, profile);
  spec.args = launch.argv;
  spec.env = profile.env;
  spec.env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  spec.env["CUDA_CACHE_PATH"] = "/tmp";
  if (!launch.address.api_key.empty()) spec.env["LLAMA_API_KEY"] = launch.address.api_key;
  spec.user = std::to_string(host.uid) + ":" + std::to_string(host.gid);
  spec.groups = host.groups;
  spec.labels = {{"k3d.instance", settings.instance}, {"k3d.profile", profile.name},
                 {"k3d.attempt", std::to_string(launch.attempt)}, {"k3d.boot_id", host.boot_id},
                 {"k3d.spec", launch.spec_hash}};
  return spec;
}

/// What is shown beside the engine, and where the state keeps what its load measures.
void remember_plan(const StartSubject& subject, const PlannedStart& start, Launch& launch) {
  launch.plan = start.plan;
  launch.measured_key = start.measured_key;
  launch.pinned_key = start.pinned_key;
  launch.load_rate_key = start.load_rate_key;
  launch.unproven = start.unproven;
  launch.exact_preflight = subject.profile.preflight == Preflight::exact;
}

Error image_missing(const std::string& tag, const Profile& profile, const Error& error) {
  if (error.code != Code::not_found && error.code != Code::image_missing) return error;
  std::string hint = "pull or build it, or name another image in profile " + profile.name;
  if (profile.source == "debian") hint = "make it with packaging/engine/make_demo_image.sh";
  return {Code::image_missing, "Docker has no image " + tag, hint, error.cause};
}

}  // namespace

LaunchPlanner::LaunchPlanner(Containers& containers, HostProbe& host, GpuProbe& gpus, Journal& journal,
                             std::shared_ptr<const Settings> settings, asio::thread_pool& files)
    : containers_(containers),
      host_(host),
      journal_(journal),
      settings_(std::move(settings)),
      files_(files),
      starts_(gpus, journal, files) {}

Task<Result<StartSubject>> LaunchPlanner::look(std::shared_ptr<const Settings> settings, Profile profile) {
  auto work = [settings = std::move(settings), profile = std::move(profile), &host = host_] {
    HostFacts facts = host.facts();
    facts.groups = engine_groups(facts, settings->docker);
    return subject_of(settings, profile, std::move(facts));
  };
  co_return co_await offload(files_, std::move(work));
}

Task<Result<PlannedStart>> LaunchPlanner::plan_start(Profile profile, StartTerms terms) {
  Result<StartSubject> subject = co_await look(settings_, std::move(profile));
  if (!subject) co_return fail(subject.error());
  co_return co_await starts_.plan(std::move(*subject), std::move(terms));
}

Task<Result<Launch>> LaunchPlanner::plan(Profile profile, std::uint64_t attempt, StartTerms terms) {
  // One configuration for the whole launch: a reload may put another in its place while something is asked.
  const std::shared_ptr<const Settings> settings = settings_;
  const Result<StartSubject> subject = co_await look(settings, profile);
  if (!subject) co_return fail(subject.error());
  const Result<PlannedStart> start = co_await starts_.plan(*subject, std::move(terms));
  if (!start) co_return fail(start.error());
  const std::string tag = image_tag(*settings, profile);
  const Result<ImageInfo> image = co_await containers_.image(tag);
  if (!image) co_return fail(image_missing(tag, profile, image.error()));
  const Result<EngineCapabilities> able = co_await capabilities(*image, settings->instance);
  if (!able) co_return fail(able.error());
  const auto cdi = co_await devices(profile.gpus, subject->host.gpu_uuids);
  if (!cdi) co_return fail(cdi.error());
  co_return assemble(*subject, *start, *image, *able, *cdi, attempt);
}

Result<Launch> LaunchPlanner::assemble(const StartSubject& subject, const PlannedStart& start, const ImageInfo& image,
                                       const EngineCapabilities& able, const std::vector<std::string>& cdi,
                                       std::uint64_t attempt) {
  Launch launch;
  launch.profile = subject.profile.name;
  launch.attempt = attempt;
  launch.image_id = image.id;
  launch.weight_bytes = subject.files.total_bytes;
  launch.folder = attempt_folder(subject.settings->state, attempt);
  if (able.has_shell) launch.log = launch.folder / "engine.log";
  launch.address = address_of(able, launch.folder);
  launch.spec_hash = spec_hash(subject.profile, image.id, identity_of(subject));
  remember_plan(subject, start, launch);
  auto argv = engine::command_line(command_inputs(launch, start, able, subject));
  if (!argv) return fail(argv.error());
  launch.argv = std::move(*argv);
  launch.container = container_of(launch, subject.profile, *subject.settings, subject.host);
  launch.container.mounts = {{subject.files.mount_folder, kModels, true}, {launch.folder, launch.folder, false}};
  if (subject.draft) launch.container.mounts.push_back({subject.draft->mount_folder, kDraft, true});
  launch.container.cdi_devices = cdi;
  if (able.has_shell) engine::wrap_for_log(launch.container, image.entrypoint, launch.log.string());
  launch.container.labels["k3d.launch"] = launch_label(launch);
  return launch;
}

/// A unix socket of the attempt; loopback with a key where the image can't.
EngineAddress LaunchPlanner::address_of(const EngineCapabilities& able, const std::filesystem::path& folder) {
  EngineAddress address;
  if (able.unix_socket) {
    address.unix_path = (folder / "engine.sock").string();
  } else {
    address.port = host_.free_port();
    address.api_key = random_hex(32);
  }
  return address;
}

Task<Result<std::vector<std::string>>> LaunchPlanner::devices(Gpus gpus, std::vector<std::string> uuids) {
  if (gpus.choice == GpuChoice::none) co_return std::vector<std::string>();
  const Result<DockerInfo> docker = co_await containers_.info();
  if (!docker) co_return fail(docker.error());
  co_return cdi_devices(gpus, *docker, uuids);
}

Task<Result<EngineCapabilities>> LaunchPlanner::capabilities(ImageInfo image, std::string instance) {
  const std::string key = "capabilities:" + image.id;
  if (const auto kept = co_await journal_.get(key)) {
    Result<EngineCapabilities> known = engine::capabilities_from_json(*kept);
    if (known) co_return known;
  }
  Result<EngineCapabilities> asked = co_await ask_image(image, std::move(instance));
  if (asked) journal_.put(key, engine::capabilities_to_json(*asked));
  co_return asked;
}

/// Runs the image's own --help, without network, devices or mounts, and looks for a shell.
Task<Result<EngineCapabilities>> LaunchPlanner::ask_image(ImageInfo image, std::string instance) {
  LaunchSpec spec;
  spec.name = "k3d-" + instance + "-help-" + random_hex(4);
  spec.image = image.id;
  spec.args = {"--help"};
  spec.labels = {{"k3d.help", instance}};
  spec.host_network = false;
  spec.host_ipc = false;
  spec.memlock_unlimited = false;
  const Result<ToolRun> run = co_await run_tool(containers_, std::move(spec), "/bin/sh", false, kHelpLimit);
  if (!run) co_return fail(run.error());
  const std::string& help = run->text;
  if (run->exit_code == 126 || run->exit_code == 127) {
    co_return fail(Code::image_missing, "the image's program can't be run (exit code " + std::to_string(run->exit_code) + ")",
                   "name an image whose entrypoint is llama-server, built for this machine", help.substr(0, 200));
  }
  EngineCapabilities able = engine::parse_help(help);
  if (able.flags.empty()) {
    co_return fail(Code::image_missing, "the image's --help names no flag, so it is no llama-server",
                   "name an image whose entrypoint is llama-server", help.substr(0, 200));
  }
  able.image_id = image.id;
  able.has_shell = run->file_there;
  co_return able;
}

}  // namespace k3d::lifecycle
