#include "daemon/engine/command_line.hpp"

#include <algorithm>
#include <set>

#include "daemon/engine/arguments.hpp"
#include "daemon/engine/batches.hpp"
#include "daemon/engine/extra_args.hpp"
#include "daemon/engine/placement_flags.hpp"

namespace k3d::engine {
namespace {

/// A sixteenth of the RAM for the prompt cache, and one for checkpoints. A cached prompt of Kimi-K3 takes 0.9 to
/// 1.4 GB, so the engine's own 8 GiB would churn.
constexpr Bytes kRamShare = 16;
constexpr Bytes kMinCache = kGiB, kMaxCache = 64 * kGiB, kCacheStep = 256 * kMiB;
/// A context checkpoint is the recurrent state of a sequence in F32: 69 * (128 * 128 * 96 + 3 * 3 * 96 * 128) * 4.
constexpr Bytes kCheckpointBytes = 464'633'856;
constexpr Bytes kMinCheckpoints = 2, kMaxCheckpoints = 32;

std::string image_name(const Profile& profile) {
  return profile.image.empty() ? "of source " + profile.source : profile.image;
}

/// llama-server sorts the list, and reports the first.
std::string alias_list(const Profile& profile) {
  std::set<std::string> names(profile.aliases.begin(), profile.aliases.end());
  names.insert(profile.name);
  if (!profile.model.empty()) names.insert(profile.model);
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
  return list;
}

void add_address(Arguments& arguments, const EngineAddress& address) {
  if (!address.unix_path.empty()) {
    arguments.need({"--host"}, "the engine's socket", address.unix_path);
    return;
  }
  arguments.need({"--host"}, "the engine's address", "127.0.0.1");
  arguments.need({"--port"}, "the engine's address", std::to_string(address.port));
}

void add_batches(Arguments& arguments, const Profile& profile) {
  const Batches batches = batches_of(profile);
  arguments.need({"--batch-size", "-b"}, "batch", std::to_string(batches.batch));
  arguments.need({"--ubatch-size", "-ub"}, "ubatch", std::to_string(batches.ubatch));
}

/// In MiB, a multiple of 256.
Bytes cache_mib(Bytes ram) {
  const Bytes share = std::clamp(ram / kRamShare, kMinCache, kMaxCache);
  return (share + kCacheStep / 2) / kCacheStep * kCacheStep / kMiB;
}

/// How many per slot the share of the RAM holds for all slots.
Bytes checkpoints(Bytes ram, int slots) {
  const Bytes one_per_slot = static_cast<Bytes>(std::max(slots, 1)) * kCheckpointBytes;
  return std::clamp(ram / kRamShare / one_per_slot, kMinCheckpoints, kMaxCheckpoints);
}

/// Where the RAM isn't known, the engine's own defaults hold.
void add_host_memory(Arguments& arguments, const Profile& profile, const HostFacts& host) {
  if (profile.cache_ram) {
    arguments.need({"--cache-ram", "-cram"}, "cache_ram", std::to_string((*profile.cache_ram + kMiB - 1) / kMiB));
  } else if (host.ram_bytes) {
    arguments.wish({"--cache-ram", "-cram"}, std::to_string(cache_mib(*host.ram_bytes)));
  }
  if (profile.ctx_checkpoints) {
    arguments.need({"--ctx-checkpoints", "-ctxcp"}, "ctx_checkpoints", std::to_string(*profile.ctx_checkpoints));
  } else if (host.ram_bytes) {
    arguments.wish({"--ctx-checkpoints", "-ctxcp"}, std::to_string(checkpoints(*host.ram_bytes, profile.slots)));
  }
}

/// Everything is read up front: pages of a mapped file that come in on first use stall a request for minutes.
void add_loading(Arguments& arguments) {
  if (!arguments.can({"--load-mode", "-lm"}) && arguments.can({"--no-mmap"})) {
    arguments.wish({"--no-mmap"});
  } else {
    arguments.need({"--load-mode", "-lm"}, "loading the weights up front", "none");
  }
}

/// Level 4 shows where layers and experts went. Through Docker only warnings: a log that nobody drains blocks the
/// engine. No --log-jsonl: it holds no more of the placement, and people read this file.
void add_log(Arguments& arguments, bool to_file) {
  arguments.wish({"--verbosity", "-lv", "--log-verbosity"}, to_file ? "4" : "2");
  // An older --log-colors takes no value and switches them on.
  if (arguments.image().values.contains("--log-colors")) arguments.wish({"--log-colors"}, "off");
}

}  // namespace

Result<std::vector<std::string>> command_line(const CommandInputs& inputs) {
  const Profile& profile = inputs.profile;
  Arguments arguments(inputs.capabilities, image_name(profile));
  arguments.need({"--model", "-m"}, "model", inputs.model_path);
  if (inputs.vision && inputs.mmproj_path) arguments.need({"--mmproj", "-mm"}, "mmproj", *inputs.mmproj_path);
  arguments.need({"--alias", "-a"}, "aliases", alias_list(profile));
  add_address(arguments, inputs.address);
  arguments.need({"--ctx-size", "-c"}, "context", std::to_string(profile.context));
  arguments.need({"--parallel", "-np"}, "slots", std::to_string(profile.slots));
  add_batches(arguments, profile);
  const std::string threads = std::to_string(std::max(1, profile.threads.value_or(inputs.host.physical_cores)));
  arguments.need({"--threads", "-t"}, "threads", threads);
  arguments.wish({"--threads-batch", "-tb"}, threads);
  arguments.need({"--cache-type-k", "-ctk"}, "cache_type", profile.cache_type);
  arguments.need({"--cache-type-v", "-ctv"}, "cache_type", profile.cache_type);
  add_placement(arguments, profile);
  if (profile.speculative) add_speculative(arguments, *profile.speculative, inputs.draft);
  add_host_memory(arguments, profile, inputs.host);
  add_loading(arguments);
  arguments.wish({"--numa"}, "distribute");
  arguments.wish({"--jinja"});
  arguments.wish({"--no-webui", "--no-ui"});
  add_log(arguments, inputs.log_to_file);
  if (Status fine = check_extra_args(profile.extra_args, arguments); !fine) return fail(fine.error());
  arguments.append(profile.extra_args);
  return arguments.take();
}

}  // namespace k3d::engine
