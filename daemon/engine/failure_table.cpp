#include "daemon/engine/failure_table.hpp"

#include <array>

namespace k3d::engine {
namespace {

constexpr std::string_view kTruncated = "A model file is cut short";
constexpr std::string_view kTruncatedAdvice =
    "compare the files' sizes with the repository's and fetch the short one again";
constexpr std::string_view kCorrupt = "A model file is damaged or no GGUF that this engine knows";
constexpr std::string_view kCorruptAdvice =
    "fetch the file again and compare its hash; files of other llama.cpp forks may use types that this image lacks";
constexpr std::string_view kMissing = "A model file can't be opened";
constexpr std::string_view kMissingAdvice =
    "see that the file is there and that k3d's user may read it and enter its folders";
constexpr std::string_view kMmproj = "The vision file does not fit";
constexpr std::string_view kMmprojAdvice =
    "use the mmproj of the model's own repository, and a source that knows it (vision: true)";
constexpr std::string_view kLoadOom = "The model does not fit into the GPUs' memory";
constexpr std::string_view kLoadOomAdvice =
    "see with nvidia-smi who else holds memory; or placement fit, fewer slots, less context, a smaller quant";
constexpr std::string_view kRequestOom = "A GPU ran out of memory while serving";
constexpr std::string_view kRequestOomAdvice =
    "raise placement.fit_target_mib (4096 to 6144), or lower ubatch; see with nvidia-smi who else holds memory";
constexpr std::string_view kNoGpu = "The engine can't use the GPUs";
constexpr std::string_view kNoGpuAdvice =
    "run nvidia-smi on this host, write the CDI specification anew (nvidia-ctk cdi generate), and see that the image "
    "was built for these GPUs and this driver";
constexpr std::string_view kLostGpu = "A GPU failed while it computed";
constexpr std::string_view kLostGpuAdvice =
    "look at `dmesg | grep Xid` and nvidia-smi; the GPU may need a reset, or the host a reboot";
constexpr std::string_view kOom = "This host ran out of memory";
constexpr std::string_view kOomAdvice =
    "lower cache_ram, ctx_checkpoints, context or slots, or keep fewer experts on the CPU; see `dmesg` for who else";
constexpr std::string_view kCacheType = "The engine does not know this cache type";
constexpr std::string_view kCacheTypeAdvice = "use cache_type: f16, which every image knows";
constexpr std::string_view kImage = "The image can't run llama-server";
constexpr std::string_view kImageAdvice = "name an image whose entrypoint is a llama-server that runs on this host";

constexpr std::array kTable{
    // Arguments: bare lines, before anything else is logged.
    FailureRow{"gpu_unavailable", kNoGpu, kNoGpuAdvice, false, Moment::loading, Lines::bare,
               "error while handling argument \"*\": invalid device:", ""},
    FailureRow{"cache_type_unsupported", kCacheType, kCacheTypeAdvice, false, Moment::loading, Lines::bare,
               "error while handling argument \"*\": Unsupported cache type:", ""},
    FailureRow{"unknown_flag", "The engine does not know a flag",
               "take it out of extra_args, or use an image of a llama.cpp that has it", false, Moment::loading,
               Lines::bare, "error: invalid argument:", ""},
    FailureRow{"unknown_flag", "The engine does not know a flag",
               "take it out of extra_args, or use an image of a llama.cpp that has it", false, Moment::loading,
               Lines::bare, "error: unknown argument:", ""},
    FailureRow{"bad_argument", "The engine refuses an argument", "mend the profile's value of that flag", false,
               Moment::loading, Lines::bare, "error while handling argument", ""},
    FailureRow{"bad_argument", "The engine refuses its arguments", "mend the profile's value of that flag", false,
               Moment::loading, Lines::bare, "error: ", ""},
    FailureRow{"gpu_unavailable", kNoGpu, kNoGpuAdvice, false, Moment::loading, Lines::bare,
               "*error while loading shared libraries: libcuda.so", ""},
    FailureRow{"image_error", kImage, kImageAdvice, false, Moment::loading, Lines::bare,
               "*error while loading shared libraries:", ""},
    // The address.
    FailureRow{"port_in_use", "The engine's address is taken", "activate again: another one is chosen", true,
               Moment::loading, Lines::error, "couldn't bind HTTP server socket", ""},
    // The files. What a vision file lacks is logged like what a model lacks, so it comes first.
    FailureRow{"mmproj_mismatch", kMmproj, kMmprojAdvice, false, Moment::loading, Lines::error,
               "Failed to load CLIP model from", ""},
    FailureRow{"mmproj_mismatch", kMmproj, kMmprojAdvice, false, Moment::loading, Lines::error,
               "failed to load multimodal model", ""},
    FailureRow{"not_first_shard", "The engine was given another shard than the first",
               "write the name of the file *-00001-of-*.gguf in path", false, Moment::loading, Lines::error,
               "illegal split file idx:", ""},
    FailureRow{"not_first_shard", "A shard has lost its name", "give it back its name PREFIX-00001-of-000NN.gguf",
               false, Moment::loading, Lines::error, "invalid split file name:", ""},
    FailureRow{"shard_missing", "A shard of the model is missing or can't be read",
               "fetch the file that the log names into the folder of the others", false, Moment::loading, Lines::error,
               "failed to load GGUF split from", ""},
    FailureRow{"model_missing", kMissing, kMissingAdvice, false, Moment::loading, Lines::error,
               "failed to open GGUF file", ""},
    FailureRow{"model_truncated", kTruncated, kTruncatedAdvice, false, Moment::loading, Lines::error,
               "data is not within the file bounds", ""},
    FailureRow{"model_corrupt", kCorrupt, kCorruptAdvice, false, Moment::loading, Lines::error,
               "invalid magic characters", ""},
    FailureRow{"model_corrupt", kCorrupt, kCorruptAdvice, false, Moment::loading, Lines::error,
               "number of * is * but must be in", ""},
    FailureRow{"model_corrupt", kCorrupt, kCorruptAdvice, false, Moment::loading, Lines::error,
               "this GGUF file is version", ""},
    FailureRow{"model_truncated", kTruncated, kTruncatedAdvice, false, Moment::loading, Lines::error,
               "gguf_init_from_reader: failed to read", ""},
    FailureRow{"unknown_architecture", "The engine does not know this model's architecture",
               "use an image of a llama.cpp that has it: mainline from ad1de39 on for kimi-k3", false, Moment::loading,
               Lines::error, "unknown model architecture:", ""},
    // The cache.
    FailureRow{"cache_types_differ", "The cache types of K and V differ", "use cache_type, which sets both", false,
               Moment::loading, Lines::error, "model does not support different K", ""},
    FailureRow{"cache_type_unsupported", kCacheType, kCacheTypeAdvice, false, Moment::loading, Lines::error,
               "V cache quantization requires flash_attn", ""},
    // Devices and memory.
    FailureRow{"draft_device", "The draft model is on another GPU than the output layer",
               "put it on the last GPU of the split (--spec-draft-device)", false, Moment::any, Lines::error_or_bare,
               "pre-allocated tensor (", "cannot run the operation"},
    FailureRow{"gpu_unavailable", kNoGpu, kNoGpuAdvice, false, Moment::loading, Lines::error,
               "failed to initialize CUDA", ""},
    FailureRow{"gpu_unavailable", kNoGpu, kNoGpuAdvice, false, Moment::any, Lines::error,
               "CUDA error: no kernel image is available", ""},
    FailureRow{"cuda_out_of_memory_on_request", kRequestOom, kRequestOomAdvice, true, Moment::serving, Lines::error,
               "CUDA error: out of memory", ""},
    FailureRow{"cuda_out_of_memory_on_request", kRequestOom, kRequestOomAdvice, true, Moment::serving, Lines::error,
               "cudaMalloc failed: out of memory", ""},
    FailureRow{"fit_given_up", "The engine could not fit the model to the GPUs, and ran out of memory",
               "the log says why; free the GPUs, or lower context, slots or fit_target_mib, or use a smaller quant",
               false, Moment::loading, Lines::warning, "failed to fit params to free device memory", "", true},
    FailureRow{"cuda_out_of_memory", kLoadOom, kLoadOomAdvice, false, Moment::loading, Lines::error,
               "cudaMalloc failed: out of memory", ""},
    FailureRow{"cuda_out_of_memory", kLoadOom, kLoadOomAdvice, false, Moment::loading, Lines::error,
               "CUDA error: out of memory", ""},
    FailureRow{"cuda_out_of_memory", kLoadOom, kLoadOomAdvice, false, Moment::loading, Lines::error,
               "failed to allocate CUDA", ""},
    FailureRow{"oom", kOom, kOomAdvice, false, Moment::any, Lines::error, "failed to allocate CPU buffer", ""},
    FailureRow{"oom", kOom, kOomAdvice, false, Moment::any, Lines::error, "failed to allocate CUDA_Host buffer", ""},
    FailureRow{"oom", kOom, kOomAdvice, false, Moment::loading, Lines::error_or_bare, "std::bad_alloc", ""},
    FailureRow{"gpu_lost", kLostGpu, kLostGpuAdvice, false, Moment::any, Lines::error, "CUDA error: *GPU is lost", ""},
    FailureRow{"gpu_lost", kLostGpu, kLostGpuAdvice, false, Moment::any, Lines::error,
               "CUDA error: unspecified launch failure", ""},
    // What is left of a load that failed.
    FailureRow{"model_corrupt", kCorrupt, kCorruptAdvice, false, Moment::loading, Lines::error,
               "error loading model:", ""},
    // Ends that the log does not explain, by exit code and by what Docker says.
    FailureRow{"killed", "Someone else ended the engine",
               "nobody asked k3d for it: see `journalctl -k` and who may use Docker; then activate again", true,
               Moment::any, Lines::bare, "Received second interrupt, terminating immediately", ""},
    FailureRow{"crash", "The engine crashed", "activate again; if it repeats, report it to llama.cpp with the log",
               true, Moment::any, Lines::error, "", ""},
    FailureRow{"image_error", kImage, kImageAdvice, false, Moment::any, Lines::error, "", ""},
    FailureRow{
        "load_stalled", "The load stands still",
        "see whether the disk or a network file system hangs (`dmesg`, `iostat -x 1`), and that kernel.numa_balancing "
        "is 0; a slow disk needs a longer stall_seconds",
        true, Moment::loading, Lines::error, "", ""},
    FailureRow{"docker_restart", "Docker ended the engine when it was restarted",
               "switch on \"live-restore\" in /etc/docker/daemon.json, then activate again", true, Moment::any,
               Lines::error, "", ""},
    FailureRow{"removed_externally", "Someone removed the engine's container", "activate the profile again", true,
               Moment::any, Lines::error, "", ""},
};

}  // namespace

std::span<const FailureRow> failure_table() {
  return kTable;
}

}  // namespace k3d::engine
