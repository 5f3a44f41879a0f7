#include "daemon/lifecycle/launch_plan.hpp"

#include <sys/stat.h>

#include "daemon/base/async/offload.hpp"
#include "daemon/base/async/sleep.hpp"
#include "daemon/base/log.hpp"
#include "daemon/base/secret.hpp"
#include "daemon/engine/capabilities.hpp"
#include "daemon/engine/command_line.hpp"
#include "daemon/engine/log_wrapper.hpp"
#include "daemon/hub/model_files.hpp"
#include "daemon/lifecycle/attempt_folder.hpp"
#include "daemon/lifecycle/devices.hpp"

namespace k3d::lifecycle {
namespace {

constexpr seconds kHelpLimit{60};
constexpr const char* kModels = "/models";

/// Where a file below the mounted folder is inside the container.
std::string inside(const std::filesystem::path& file, const hub::ModelFiles& files) {
  return (std::filesystem::path(kModels) / file.lexically_relative(files.mount_folder)).string();
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

engine::CommandInputs command_inputs(const Launch& launch, const Profile& profile, const EngineCapabilities& able,
                                     const hub::ModelFiles& files, const HostFacts& host, bool vision) {
  engine::CommandInputs inputs;
  inputs.profile = profile;
  inputs.vision = vision;
  inputs.capabilities = able;
  inputs.model_path = inside(files.first_shard, files);
  if (!files.mmproj.empty()) inputs.mmproj_path = inside(files.mmproj, files);
  inputs.host = host;
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

Error image_missing(const std::string& tag, const Profile& profile, const Error& error) {
  if (error.code != Code::not_found && error.code != Code::image_missing) return error;
  std::string hint = "pull or build it, or name another image in profile " + profile.name;
  if (profile.source == "debian") hint = "make it with packaging/engine/make_demo_image.sh";
  return {Code::image_missing, "Docker has no image " + tag, hint, error.cause};
}

}  // namespace

LaunchPlanner::LaunchPlanner(Containers& containers, HostProbe& host, Journal& journal,
                             std::shared_ptr<const Settings> settings, asio::thread_pool& files)
    : containers_(containers), host_(host), journal_(journal), settings_(std::move(settings)), files_(files) {}

Task<Result<Launch>> LaunchPlanner::plan(Profile profile, std::uint64_t attempt) {
  // One configuration for the whole launch: a reload may put another in its place while something is asked.
  const std::shared_ptr<const Settings> settings = settings_;
  auto look = [settings, profile, &host = host_] {
    HostFacts facts = host.facts();
    facts.groups = engine_groups(facts, settings->docker);
    return std::pair(hub::find_model_files(*settings, profile), std::move(facts));
  };
  const auto [files, host] = co_await offload(files_, std::move(look));
  if (!files) co_return fail(files.error());
  const std::string tag = image_tag(*settings, profile);
  const Result<ImageInfo> image = co_await containers_.image(tag);
  if (!image) co_return fail(image_missing(tag, profile, image.error()));
  const Result<EngineCapabilities> able = co_await capabilities(*image, settings->instance);
  if (!able) co_return fail(able.error());
  const auto cdi = co_await devices(profile.gpus, host.gpu_uuids);
  if (!cdi) co_return fail(cdi.error());

  Launch launch;
  launch.profile = profile.name;
  launch.attempt = attempt;
  launch.image_id = image->id;
  launch.weight_bytes = files->total_bytes;
  launch.folder = attempt_folder(settings->state, attempt);
  if (able->has_shell) launch.log = launch.folder / "engine.log";
  launch.address = address_of(*able, launch.folder);
  launch.spec_hash = spec_hash(profile, image->id, files->identity);
  const auto argv = engine::command_line(
      command_inputs(launch, profile, *able, *files, host, has_vision(*settings, profile)));
  if (!argv) co_return fail(argv.error());
  launch.argv = *argv;
  launch.container = container_of(launch, profile, *settings, host);
  launch.container.mounts = {{files->mount_folder, kModels, true}, {launch.folder, launch.folder, false}};
  launch.container.cdi_devices = *cdi;
  if (able->has_shell) engine::wrap_for_log(launch.container, image->entrypoint, launch.log.string());
  launch.container.labels["k3d.launch"] = launch_label(launch);
  co_return launch;
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
  const Result<ContainerId> id = co_await containers_.create(spec);
  if (!id) co_return fail(id.error());
  Status ran = co_await containers_.start(*id);
  std::string help;
  int exit_code = 0;
  if (ran) {
    auto wait = containers_.wait(*id);
    const auto ended = co_await with_deadline<ContainerInfo>(std::move(wait), kHelpLimit, "the image's --help");
    if (!ended) ran = fail(ended.error());
    if (ended) exit_code = ended->exit_code.value_or(0);
    const auto stream = containers_.logs(*id, LogRequest{});
    for (auto line = co_await stream->next(); line && *line; line = co_await stream->next()) help += (*line)->text + "\n";
  }
  const Result<bool> shell = co_await containers_.has_file(*id, "/bin/sh");
  const Status removed = co_await containers_.remove(*id);
  if (!removed) log::warning("a container stays behind", {{"name", spec.name}, {"cause", removed.error().text()}});
  if (!ran) co_return fail(ran.error());
  if (exit_code == 126 || exit_code == 127) {
    co_return fail(Code::image_missing, "the image's program can't be run (exit code " + std::to_string(exit_code) + ")",
                   "name an image whose entrypoint is llama-server, built for this machine", help.substr(0, 200));
  }
  EngineCapabilities able = engine::parse_help(help);
  if (able.flags.empty()) {
    co_return fail(Code::image_missing, "the image's --help names no flag, so it is no llama-server",
                   "name an image whose entrypoint is llama-server", help.substr(0, 200));
  }
  able.image_id = image.id;
  able.has_shell = shell && *shell;
  co_return able;
}

}  // namespace k3d::lifecycle
