// The rows of the catalogue of failures.
#pragma once

#include <array>
#include <string_view>

namespace k3d::engine {

struct CatalogueRow {
  std::string_view code, title, advice;
  bool retryable;
  std::string_view pattern;         ///< must stand in one line; empty: decided by exit code alone
  std::string_view second_pattern;  ///< must stand in some line too; empty: none
  int when_ready;                   ///< 1: only after it was ready; 0: only before; -1: either
};

inline constexpr std::array kCatalogue{
    CatalogueRow{"cuda_out_of_memory_on_request", "The GPU ran out of memory on a request",
                 "raise placement.fit_target_mib, or lower ubatch to 2048", true, "CUDA error: out of memory",
                 "in function alloc", 1},
    CatalogueRow{"draft_device", "The draft model is on the wrong GPU",
                 "put it on the GPU that holds output.weight: speculative.device: last", false,
                 "pre-allocated tensor (output.weight)", "", -1},
    CatalogueRow{"gpu_lost", "A GPU fell off the bus",
                 "look at `dmesg | grep Xid` and `nvidia-smi`; a reset or reboot may be needed", false, "GPU is lost",
                 "", -1},
    CatalogueRow{"gpu_lost", "A GPU fell off the bus",
                 "look at `dmesg | grep Xid` and `nvidia-smi`; a reset or reboot may be needed", false,
                 "unspecified launch failure", "", 1},
    CatalogueRow{"gpu_unavailable", "The engine can't use the GPUs",
                 "check the driver, the CDI specification and `nvidia-smi`", false,
                 "ggml_cuda_init: failed to initialize CUDA", "", 0},
    CatalogueRow{"gpu_unavailable", "The engine can't use the GPUs",
                 "check the driver, the CDI specification and `nvidia-smi`", false,
                 "no CUDA-capable device is detected", "", -1},
    CatalogueRow{"cuda_out_of_memory", "The model does not fit into GPU memory",
                 "free GPU memory, lower context or slots, or keep more experts on the CPU (placement)", false,
                 "cudaMalloc failed: out of memory", "", 0},
    CatalogueRow{"cuda_out_of_memory", "The model does not fit into GPU memory",
                 "free GPU memory, lower context or slots, or keep more experts on the CPU (placement)", false,
                 "unable to allocate CUDA", "", 0},
    CatalogueRow{"cuda_out_of_memory_on_request", "The GPU ran out of memory on a request",
                 "raise placement.fit_target_mib, or lower ubatch to 2048", true, "CUDA error: out of memory", "", 1},
    CatalogueRow{"cache_types_differ", "The K and V cache types differ", "set one cache_type for both", false,
                 "does not support different K", "", 0},
    CatalogueRow{"cache_type_unsupported", "The engine does not know that cache type", "set cache_type to f16 or q8_0",
                 false, "Unsupported cache type", "", 0},
    CatalogueRow{"mmproj_mismatch", "The vision projector does not fit the model or the engine",
                 "check mmproj of the model, and use a source with vision", false, "Failed to load CLIP model", "", 0},
    CatalogueRow{"unknown_architecture", "This engine does not know the model's architecture",
                 "use an image built from a newer source", false, "unknown model architecture", "", 0},
    CatalogueRow{"not_first_shard", "The model's path is not its first shard", "set the model to the file -00001-of-…",
                 false, "illegal split file idx", "", 0},
    CatalogueRow{"shard_missing", "A shard of the model is missing", "complete the download: every shard must be there",
                 false, "failed to load GGUF split", "", 0},
    CatalogueRow{"model_truncated", "A model file is cut short", "complete or repeat its download", false,
                 "data is not within the file bounds", "", 0},
    CatalogueRow{"model_missing", "The model file can't be opened",
                 "check that it exists and that k3d's user may read it", false, "failed to open GGUF file", "", 0},
    CatalogueRow{"model_corrupt", "A model file is damaged", "check it against its hash and download it again", false,
                 "gguf_init_from", "", 0},
    CatalogueRow{"port_in_use", "The engine's port is taken", "activate again: another port is taken", true,
                 "couldn't bind HTTP server socket", "", 0},
    CatalogueRow{"unknown_flag", "The engine does not know a flag", "check extra_args against the image's --help",
                 false, "error: invalid argument:", "", 0},
    CatalogueRow{"bad_argument", "The engine refuses an argument", "check the profile's settings and extra_args", false,
                 "error while handling argument", "", 0},
    CatalogueRow{"oom", "The engine can't get enough memory", "free RAM, or lower context, slots or cache_ram", false,
                 "failed to allocate", "", 0},
    CatalogueRow{"model_corrupt", "The model can't be loaded", "check it against its hash and download it again", false,
                 "error loading model", "", 0},
};

}  // namespace k3d::engine
