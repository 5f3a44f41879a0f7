#include "daemon/engine/failure_signs.hpp"

#include <algorithm>
#include <array>

namespace k3d::engine {
namespace {

constexpr std::string_view kFabric =
    "start nvidia-fabricmanager (`systemctl status nvidia-fabricmanager`): without it the GPUs of an NVSwitch host "
    "can't be used";
constexpr std::string_view kDriver = "update the NVIDIA driver of this host, or use an image built for an older CUDA";
constexpr std::string_view kContainerLost =
    "the container lost its GPUs, as happens when `systemctl daemon-reload` rewrites its device rules: use CDI, or the "
    "cgroupfs driver of Docker; then activate again";
constexpr std::string_view kCacheFlash = "take --flash-attn off out of extra_args, or use cache_type: f16";
constexpr std::string_view kRenamed = "give the file back its name PREFIX-00001-of-000NN.gguf";

constexpr std::array kSigns{
    // Arguments: bare lines, before anything else is logged. An image may also set them by its environment.
    FailureSign{"gpu_unavailable", Moment::loading, Lines::bare, "error while handling *: invalid device:"},
    FailureSign{"cache_type_unsupported", Moment::loading, Lines::bare,
                "error while handling *: Unsupported cache type:"},
    FailureSign{"unknown_flag", Moment::loading, Lines::bare, "error: invalid argument:"},
    FailureSign{"unknown_flag", Moment::loading, Lines::bare, "error: unknown argument:"},
    FailureSign{"bad_argument", Moment::loading, Lines::bare, "error while handling argument"},
    FailureSign{"bad_argument",
                Moment::loading,
                Lines::bare,
                "error while handling environment variable",
                {},
                "the image sets it by its environment: use another image"},
    FailureSign{"bad_argument", Moment::loading, Lines::bare, "error: "},
    FailureSign{"gpu_unavailable", Moment::loading, Lines::bare, "*error while loading shared libraries: libcuda.so"},
    FailureSign{"image_error", Moment::loading, Lines::bare, "*error while loading shared libraries:"},
    FailureSign{"port_in_use", Moment::loading, Lines::error, "couldn't bind HTTP server socket"},
    // Files. What a vision file lacks is logged like what a model lacks, so it comes first.
    FailureSign{"mmproj_mismatch", Moment::loading, Lines::error, "mismatch between text model"},
    FailureSign{"mmproj_mismatch", Moment::loading, Lines::error, "mtmd_init_from_file: error:"},
    FailureSign{"mmproj_mismatch", Moment::loading, Lines::error, "Failed to load CLIP model from"},
    FailureSign{"mmproj_mismatch", Moment::loading, Lines::error, "failed to load multimodal model"},
    FailureSign{"not_first_shard", Moment::loading, Lines::error, "illegal split file idx:"},
    FailureSign{"not_first_shard", Moment::loading, Lines::error, "invalid split file name:", {}, kRenamed},
    FailureSign{"shard_missing", Moment::loading, Lines::error, "failed to load GGUF split from"},
    FailureSign{"model_missing", Moment::loading, Lines::error, "failed to open GGUF file"},
    FailureSign{"model_truncated", Moment::loading, Lines::error, "data is not within the file bounds"},
    FailureSign{"model_corrupt", Moment::loading, Lines::error, "invalid magic characters"},
    FailureSign{"model_corrupt", Moment::loading, Lines::error, "number of * is * but must be in"},
    FailureSign{"model_corrupt", Moment::loading, Lines::error, "this GGUF file is version"},
    FailureSign{"model_truncated", Moment::loading, Lines::error, "gguf_init_from_reader: failed to read"},
    FailureSign{"model_truncated", Moment::loading, Lines::error, "unexpectedly reached end of file"},
    FailureSign{"model_corrupt",
                Moment::loading,
                Lines::error,
                "error loading model: read error:",
                {},
                "see `dmesg` and `smartctl` for errors of the disk, then fetch the file again"},
    FailureSign{"unknown_architecture", Moment::loading, Lines::error, "unknown model architecture:"},
    // The cache.
    FailureSign{"cache_types_differ", Moment::loading, Lines::error, "model does not support different K"},
    FailureSign{"cache_type_unsupported",
                Moment::loading,
                Lines::error,
                "quantized V cache requires flash_attn",
                {},
                kCacheFlash},
    FailureSign{"cache_type_unsupported",
                Moment::loading,
                Lines::error,
                "V cache quantization requires flash_attn",
                {},
                kCacheFlash},
    // GPUs.
    FailureSign{"draft_device", Moment::any, Lines::error_or_bare, "pre-allocated tensor (",
                "cannot run the operation"},
    FailureSign{
        "gpu_unavailable", Moment::loading, Lines::error_or_bare, "CUDA*: system not yet initialized", {}, kFabric},
    FailureSign{"gpu_unavailable",
                Moment::loading,
                Lines::error_or_bare,
                "CUDA*: CUDA driver version is insufficient",
                {},
                kDriver},
    FailureSign{"gpu_unavailable", Moment::loading, Lines::error_or_bare, "failed to initialize CUDA"},
    FailureSign{"gpu_unavailable",
                Moment::any,
                Lines::error,
                "CUDA error: no kernel image is available",
                {},
                "use an image built for these GPUs (cuda_architectures of its source)"},
    FailureSign{"gpu_unavailable", Moment::loading, Lines::error, "CUDA error: no CUDA-capable device"},
    FailureSign{"gpu_unavailable", Moment::loading, Lines::error, "CUDA error: CUDA-capable device(s) is/are busy"},
    FailureSign{"gpu_lost", Moment::any, Lines::error, "CUDA error: no CUDA-capable device", {}, kContainerLost},
    FailureSign{"gpu_lost", Moment::any, Lines::error, "CUDA error: OS call failed", {}, kContainerLost},
    FailureSign{"gpu_lost", Moment::any, Lines::error_or_bare, "Failed to initialize NVML", {}, kContainerLost},
    FailureSign{"gpu_lost", Moment::any, Lines::error_or_bare, "GPU is lost"},
    FailureSign{"gpu_lost", Moment::any, Lines::error_or_bare, "NVRM: Xid"},
    FailureSign{"gpu_lost", Moment::any, Lines::error, "CUDA error: CUDA-capable device(s) is/are busy"},
    FailureSign{"gpu_lost", Moment::any, Lines::error, "CUDA error: uncorrectable"},
    FailureSign{"gpu_lost", Moment::any, Lines::error, "CUDA error: hardware stack error"},
    FailureSign{"gpu_lost", Moment::any, Lines::error, "CUDA error: unspecified launch failure"},
    // Memory.
    FailureSign{"cuda_out_of_memory_on_request", Moment::serving, Lines::error, "CUDA error: out of memory"},
    FailureSign{"cuda_out_of_memory_on_request", Moment::serving, Lines::error, "cudaMalloc failed: out of memory"},
    FailureSign{
        "fit_given_up", Moment::loading, Lines::warning, "failed to fit params to free device memory", {}, {}, true},
    FailureSign{
        "fit_given_up", Moment::loading, Lines::error, "trying to fit params to free device memory:", {}, {}, true},
    FailureSign{"cuda_out_of_memory", Moment::loading, Lines::error, "cudaMalloc failed: out of memory"},
    FailureSign{"cuda_out_of_memory", Moment::loading, Lines::error, "CUDA error: out of memory"},
    FailureSign{"oom", Moment::any, Lines::error, "failed to allocate CUDA_Host buffer"},
    FailureSign{"cuda_out_of_memory", Moment::loading, Lines::error, "failed to allocate CUDA"},
    FailureSign{"cuda_out_of_memory", Moment::loading, Lines::error, "unable to allocate CUDA"},
    FailureSign{"oom", Moment::any, Lines::error, "failed to allocate CPU"},
    FailureSign{"oom", Moment::loading, Lines::error, "mmap failed: Cannot allocate memory"},
    FailureSign{"oom", Moment::loading, Lines::error_or_bare, "std::bad_alloc"},
    FailureSign{"oom", Moment::any, Lines::bare, "terminate called after throwing an instance of 'std::bad_alloc'"},
    // What is left of a load that failed, and last words.
    FailureSign{"model_corrupt", Moment::loading, Lines::error, "error loading model:"},
    FailureSign{"killed", Moment::any, Lines::bare, "Received second interrupt, terminating immediately"},
    FailureSign{"crash", Moment::any, Lines::error, "CUDA error: "},
    FailureSign{"crash", Moment::any, Lines::abort},
    FailureSign{"crash", Moment::any, Lines::bare, "  what(): "},
};

/// An allocation that failed before it was of no consequence.
constexpr std::string_view kTriedAgain = "retrying without pipeline parallelism";

/// Whether `text` holds `pattern`, in which * is anything; from the beginning if `anchored`.
bool holds(std::string_view text, std::string_view pattern, bool anchored) {
  std::size_t at = 0;
  bool fixed = anchored;
  while (!pattern.empty()) {
    const std::string_view piece = pattern.substr(0, pattern.find('*'));
    const std::size_t found = text.find(piece, at);
    if (found == std::string_view::npos || (fixed && found != at)) return false;
    at = found + piece.size();
    fixed = false;
    pattern.remove_prefix(std::min(piece.size() + 1, pattern.size()));
  }
  return true;
}

bool is_of(Lines lines, LineLevel level) {
  switch (lines) {
    case Lines::error:
      return level == LineLevel::error;
    case Lines::warning:
      return level == LineLevel::warning;
    case Lines::bare:
      return level == LineLevel::bare;
    case Lines::error_or_bare:
      return level == LineLevel::error || level == LineLevel::bare;
    case Lines::abort:
      return level == LineLevel::bare;
  }
  return false;
}

bool matches(const FailureSign& sign, const EngineLine& line, bool ready) {
  if (!is_of(sign.lines, line.level) || (sign.lines == Lines::abort && !is_abort(line))) return false;
  // Once it serves, bare lines may be the text of requests: only the engine's own last words count then.
  const bool bare = line.level == LineLevel::bare;
  if (bare && ready && !is_abort(line) && !line.text.starts_with(sign.pattern)) return false;
  return holds(line.text, sign.pattern, sign.lines == Lines::bare) && holds(line.text, sign.also, false);
}

bool is_of_memory(const FailureSign& sign) {
  return sign.code == "cuda_out_of_memory" || sign.code == "oom";
}

/// The last line that shows it.
std::optional<std::size_t> last_line(const FailureSign& sign, const std::vector<EngineLine>& lines, bool ready) {
  for (std::size_t i = lines.size(); i > 0; --i) {
    const EngineLine& line = lines[i - 1];
    if (is_of_memory(sign) && line.level == LineLevel::warning && holds(line.text, kTriedAgain, false)) break;
    if (matches(sign, line, ready)) return i - 1;
  }
  return std::nullopt;
}

bool ran_out_of_memory(const std::vector<EngineLine>& lines, bool ready) {
  return std::any_of(kSigns.begin(), kSigns.end(), [&lines, ready](const FailureSign& sign) {
    return is_of_memory(sign) && last_line(sign, lines, ready).has_value();
  });
}

}  // namespace

std::span<const FailureSign> failure_signs() {
  return kSigns;
}

std::optional<Finding> find_sign(const std::vector<EngineLine>& lines, bool ready) {
  for (const FailureSign& sign : kSigns) {
    if (sign.moment == (ready ? Moment::loading : Moment::serving)) continue;
    if (sign.after_out_of_memory && !ran_out_of_memory(lines, ready)) continue;
    if (const auto line = last_line(sign, lines, ready)) return Finding{&sign, *line};
  }
  return std::nullopt;
}

bool is_abort(const EngineLine& line) {
  if (line.level != LineLevel::bare) return false;
  const std::string_view place = std::string_view(line.text).substr(0, line.text.find(": "));
  if (place.size() == line.text.size() || place.find(' ') != std::string_view::npos) return false;
  const std::size_t colon = place.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == place.size()) return false;
  const std::string_view file = place.substr(0, colon);
  const std::string_view number = place.substr(colon + 1);
  constexpr std::array<std::string_view, 6> kSources{".c", ".cpp", ".cu", ".cuh", ".h", ".hpp"};
  return std::any_of(kSources.begin(), kSources.end(), [file](std::string_view end) { return file.ends_with(end); }) &&
         std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace k3d::engine
