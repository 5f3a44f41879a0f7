#include "daemon/engine/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>

#include "daemon/model/reserved_flags.hpp"

namespace k3d::engine {
namespace {

/// The recurrent state of one sequence, what a context checkpoint holds.
constexpr double kCheckpointMib = 443.11;
/// What --fit leaves free per GPU: 1024 MiB, the engine's default, runs out of scratch on the first request.
constexpr int kFitTargetMib = 4096;
constexpr int kHybridBatch = 4096;
constexpr int kVramBatch = 2048;

class Arguments {
 public:
  explicit Arguments(const CommandInputs& inputs) : able_(inputs.capabilities), image_(inputs.profile) {}

  /// A flag that the profile can't do without, spelled as the image spells it.
  void need(std::initializer_list<const char*> spellings, const std::string& setting, std::vector<std::string> values) {
    if (add(spellings, std::move(values)) || missing_) return;
    missing_ = Error{Code::flag_missing,
                     fmt::format("the engine image has no {}, which {} needs", *spellings.begin(), setting),
                     "use an image built from a newer source, or another setting of " + setting,
                     {}};
  }

  /// A flag that is left out where the image doesn't know it.
  bool add(std::initializer_list<const char*> spellings, std::vector<std::string> values) {
    for (const char* spelling : spellings) {
      if (!able_.has(spelling)) continue;
      for (const std::string& same : able_.flags.at(spelling)) used_.insert(same);
      list_.emplace_back(spelling);
      list_.insert(list_.end(), std::make_move_iterator(values.begin()), std::make_move_iterator(values.end()));
      return true;
    }
    return false;
  }

  /// The profile's own arguments, last.
  Status extra(const std::vector<std::string>& arguments) {
    for (const std::string& argument : arguments) {
      const std::string flag = argument.substr(0, argument.find('='));
      std::optional<std::string> reason = reserved_flag_reason(argument);
      if (!reason && used_.contains(flag)) reason = "k3d computes it";
      if (reason) {
        return fail(Code::start_refused, fmt::format("extra_args of profile {} has {}: {}", image_.name, flag, *reason),
                    "take it out of extra_args");
      }
      list_.push_back(argument);
    }
    return {};
  }

  [[nodiscard]] const std::optional<Error>& missing() const { return missing_; }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  const EngineCapabilities& able_;
  const Profile& image_;
  std::vector<std::string> list_;
  std::set<std::string> used_;
  std::optional<Error> missing_;
};

std::string joined(const auto& values) {
  std::string out;
  for (const auto& value : values) out += fmt::format("{}{}", out.empty() ? "" : ",", value);
  return out;
}

std::string alias_list(const Profile& profile) {
  std::vector<std::string> names{profile.name};
  if (profile.model != profile.name) names.push_back(profile.model);
  names.insert(names.end(), profile.aliases.begin(), profile.aliases.end());
  return joined(names);
}

/// Whether any expert is computed on the CPU: then larger micro-batches pay, since each copies all of them to a GPU.
bool hybrid(const Profile& profile) {
  const Placement& placement = profile.placement;
  if (placement.mode == PlacementMode::n_cpu_moe) return placement.n_cpu_moe.value_or(0) > 0;
  return placement.mode == PlacementMode::override_tensors &&
         std::any_of(placement.tensors.begin(), placement.tensors.end(),
                     [](const std::string& tensor) { return tensor.ends_with("=CPU"); });
}

void add_placement(Arguments& out, const Profile& profile) {
  const Placement& placement = profile.placement;
  if (profile.gpus.choice == GpuChoice::none) {
    out.need({"--device", "-dev"}, "gpus: none", {"none"});
    out.need({"--gpu-layers", "-ngl"}, "gpus: none", {"0"});
    out.add({"--fit", "-fit"}, {"off"});
    return;
  }
  out.need({"--split-mode", "-sm"}, "gpus", {"layer"});
  if (placement.mode == PlacementMode::fit) {
    const std::vector<int> margins =
        placement.fit_target_mib.empty() ? std::vector{kFitTargetMib} : placement.fit_target_mib;
    out.need({"--fit", "-fit"}, "placement fit", {"on"});
    out.need({"--fit-target", "-fitt"}, "placement.fit_target_mib", {joined(margins)});
    return;
  }
  out.need({"--gpu-layers", "-ngl"}, "placement", {"999"});
  if (placement.mode == PlacementMode::n_cpu_moe) {
    out.need({"--n-cpu-moe", "-ncmoe"}, "placement.layers", {std::to_string(placement.n_cpu_moe.value_or(0))});
  } else {
    out.need({"--override-tensor", "-ot"}, "placement.tensors", {joined(placement.tensors)});
  }
  if (!placement.tensor_split.empty()) {
    out.need({"--tensor-split", "-ts"}, "placement.tensor_split", {joined(placement.tensor_split)});
  }
  out.add({"--fit", "-fit"}, {"off"});
}

void add_memory(Arguments& out, const CommandInputs& inputs) {
  const Profile& profile = inputs.profile;
  const int cache =
      profile.cache_ram ? static_cast<int>(*profile.cache_ram / kMiB) : auto_cache_ram_mib(inputs.host.ram_bytes);
  const int checkpoints = profile.ctx_checkpoints.value_or(auto_checkpoints(inputs.host.ram_bytes, profile.slots));
  const int batch = profile.batch.value_or(hybrid(profile) ? kHybridBatch : kVramBatch);
  out.need({"--ctx-size", "-c"}, "context", {std::to_string(profile.context)});
  out.need({"--parallel", "-np"}, "slots", {std::to_string(profile.slots)});
  out.need({"--batch-size", "-b"}, "batch", {std::to_string(batch)});
  out.need({"--ubatch-size", "-ub"}, "ubatch", {std::to_string(profile.ubatch.value_or(batch))});
  out.need({"--cache-type-k", "-ctk"}, "cache_type", {profile.cache_type});
  out.need({"--cache-type-v", "-ctv"}, "cache_type", {profile.cache_type});
  if (profile.cache_ram) out.need({"--cache-ram", "-cram"}, "cache_ram", {std::to_string(cache)});
  if (!profile.cache_ram) out.add({"--cache-ram", "-cram"}, {std::to_string(cache)});
  if (profile.ctx_checkpoints)
    out.need({"--ctx-checkpoints", "-ctxcp"}, "ctx_checkpoints", {std::to_string(checkpoints)});
  if (!profile.ctx_checkpoints) out.add({"--ctx-checkpoints", "-ctxcp"}, {std::to_string(checkpoints)});
}

void add_host(Arguments& out, const CommandInputs& inputs) {
  const std::string threads = std::to_string(inputs.profile.threads.value_or(inputs.host.physical_cores));
  out.need({"--threads", "-t"}, "threads", {threads});
  out.need({"--threads-batch", "-tb"}, "threads", {threads});
  out.need({"--numa"}, "NUMA hosts", {"distribute"});
  // mmap pages CPU experts in on first use: one request then stalls for 20 minutes.
  if (!out.add({"--load-mode", "-lm"}, {"none"})) out.need({"--no-mmap"}, "loading", {});
}

void add_logging(Arguments& out, bool to_file) {
  // Level 4 shows placement and buffer sizes. Through Docker only warnings: a pipe that Docker doesn't drain hangs the
  // engine after some 200 requests at the default level.
  out.need({"--verbosity", "-lv", "--log-verbosity"}, "logging", {to_file ? "4" : "2"});
  out.add({"--log-colors"}, {"off"});
  out.add({"--no-webui", "--no-ui"}, {});
}

}  // namespace

int auto_cache_ram_mib(std::optional<Bytes> ram) {
  const Bytes mib = ram.value_or(0) / kMiB / 16 / 256 * 256;
  return static_cast<int>(std::clamp<Bytes>(mib, 1024, 65536));
}

int auto_checkpoints(std::optional<Bytes> ram, int slots) {
  const double share = static_cast<double>(ram.value_or(0)) / static_cast<double>(kMiB) / 16;
  return std::clamp(static_cast<int>(share / kCheckpointMib / std::max(1, slots)), 2, 32);
}

Result<std::vector<std::string>> command_line(const CommandInputs& inputs) {
  Arguments out(inputs);
  const Profile& profile = inputs.profile;
  const EngineAddress& address = inputs.address;
  out.need({"--model", "-m"}, "model", {inputs.model_path});
  out.need({"--alias", "-a"}, "aliases", {alias_list(profile)});
  if (inputs.vision && inputs.mmproj_path) out.need({"--mmproj", "-mm"}, "mmproj", {*inputs.mmproj_path});
  out.need({"--host"}, "listening", {address.unix_path.empty() ? "127.0.0.1" : address.unix_path});
  if (address.unix_path.empty()) out.need({"--port"}, "listening", {std::to_string(address.port)});
  add_host(out, inputs);
  add_memory(out, inputs);
  add_placement(out, profile);
  out.add({"--jinja"}, {});
  add_logging(out, inputs.log_to_file);
  if (out.missing()) return fail(*out.missing());
  if (Status extra = out.extra(profile.extra_args); !extra) return fail(extra.error());
  return out.take();
}

}  // namespace k3d::engine
