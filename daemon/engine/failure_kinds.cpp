#include "daemon/engine/failure_kinds.hpp"

#include <algorithm>
#include <array>

namespace k3d::engine {
namespace {

constexpr std::string_view kBefore = "k3d looks before the start";
constexpr bool kAgain = true, kFinal = false;

constexpr std::array kKinds{
    // Files.
    FailureKind{"model_missing", "A model file can't be opened",
                "see that the file is there and that k3d's user may read it and enter its folders", kFinal, kBefore},
    FailureKind{"model_corrupt", "A model file is damaged or no GGUF that this engine knows",
                "fetch the file again and compare its hash; files of other llama.cpp forks may use types that this "
                "image lacks",
                kFinal, kBefore},
    FailureKind{"model_truncated", "A model file is cut short",
                "compare the files' sizes with the repository's and fetch the short one again", kFinal},
    FailureKind{"shard_missing", "A shard of the model is missing or can't be read",
                "fetch the named file into the folder of the others", kFinal, kBefore},
    FailureKind{"not_first_shard", "The model was not given by its first shard",
                "write the name of the file *-00001-of-*.gguf in path", kFinal, kBefore},
    FailureKind{"unknown_architecture", "The engine does not know this model's architecture",
                "use an image of a llama.cpp that has it: mainline from ad1de39 on for kimi-k3", kFinal},
    FailureKind{"mmproj_mismatch", "The vision file does not fit",
                "use the mmproj of the model's own repository, and a source that knows it (vision: true)", kFinal},
    // Arguments and the image.
    FailureKind{"bad_argument", "The engine refuses an argument", "mend the profile's value of that flag", kFinal,
                kBefore},
    FailureKind{"unknown_flag", "The engine does not know a flag",
                "take it out of extra_args, or use an image of a llama.cpp that has it", kFinal, kBefore},
    FailureKind{"cache_type_unsupported", "The engine can't use this cache type",
                "use cache_type: f16, which every image knows", kFinal},
    FailureKind{"cache_types_differ", "The cache types of K and V differ", "use cache_type, which sets both", kFinal},
    FailureKind{"port_in_use", "The engine's address is taken", "activate again: another one is chosen", kAgain},
    FailureKind{"image_error", "The image can't run llama-server",
                "name an image whose entrypoint is a llama-server that runs on this host", kFinal, kBefore},
    // GPUs and memory.
    FailureKind{"cuda_out_of_memory", "The model does not fit into the GPUs' memory",
                "see with nvidia-smi who else holds memory; or placement fit, fewer slots, less context, a smaller "
                "quant",
                kFinal},
    FailureKind{"cuda_out_of_memory_on_request", "A GPU ran out of memory while serving",
                "raise placement.fit_target_mib (4096 to 6144), or lower ubatch; see with nvidia-smi who else holds "
                "memory",
                kAgain},
    FailureKind{"fit_given_up", "The engine could not fit the model to the GPUs, and ran out of memory",
                "the log says why; free the GPUs, or lower context, slots or fit_target_mib, or use a smaller quant",
                kFinal},
    FailureKind{"draft_device", "The draft model is on another GPU than the output layer",
                "put it on the last GPU of the split (speculative.device: last)", kFinal},
    FailureKind{"gpu_unavailable", "The engine can't use the GPUs",
                "run nvidia-smi on this host, write the CDI specification anew (nvidia-ctk cdi generate), and see that "
                "the image was built for these GPUs and this driver",
                kFinal},
    FailureKind{"gpu_lost", "A GPU was lost while it computed",
                "look at `dmesg | grep Xid` and nvidia-smi; the GPU may need a reset, or the host a reboot", kFinal},
    FailureKind{"vram_not_released", "The GPUs' memory is not free",
                "see with nvidia-smi which process holds it and end that; memory that no process holds needs a reset "
                "of the GPU or a reboot of the host",
                kAgain, "the GPUs' memory before the start, watched until it is free or the patience is over"},
    FailureKind{"oom", "This host ran out of memory",
                "lower cache_ram, ctx_checkpoints, context or slots, or keep fewer experts on the CPU; see `dmesg` "
                "for who else",
                kFinal},
    // Ends and silences.
    FailureKind{"killed", "Someone else ended the engine",
                "nobody asked k3d for it: see who may use Docker, and `journalctl -k`; then activate again", kAgain},
    FailureKind{"removed_externally", "Someone removed the engine's container",
                "nobody asked k3d for it: see who may use Docker; then activate the profile again", kFinal,
                "Docker no longer knows the container"},
    FailureKind{"docker_restart", "Docker ended the engine when it was restarted",
                "switch on \"live-restore\" in /etc/docker/daemon.json, then activate again", kAgain},
    FailureKind{"host_rebooted", "The host was rebooted while the model ran",
                "activate the profile again; boot: last does it by itself from now on", kFinal,
                "another boot id than when k3d last ran, and no engine"},
    FailureKind{"crash", "The engine crashed", "activate again; if it repeats, report it to llama.cpp with the log",
                kAgain},
    FailureKind{"engine_unreachable", "The engine's process lives, but nothing listens at its address",
                "activate again; if it repeats, report it to llama.cpp with the log", kAgain,
                "connections are refused for 60 s while the process is there"},
    FailureKind{"load_stalled", "The load stands still",
                "see whether the disk or a network file system hangs (`dmesg`, `iostat -x 1`); a slow disk needs a "
                "longer stall_seconds",
                kAgain, "nothing read, computed or logged for stall_seconds"},
};

}  // namespace

std::span<const FailureKind> failure_kinds() {
  return kKinds;
}

const FailureKind* find_kind(std::string_view code) {
  const auto* const found =
      std::find_if(kKinds.begin(), kKinds.end(), [code](const FailureKind& kind) { return kind.code == code; });
  return found == kKinds.end() ? nullptr : found;
}

}  // namespace k3d::engine
