#include "daemon/model/reserved_flags.hpp"

#include <algorithm>
#include <array>

namespace k3d {
namespace {

struct Reserved {
  std::string_view flags;   ///< separated by spaces; a * at the end of one stands for anything
  std::string_view reason;  ///< what to use instead
};

constexpr std::array kReserved{
    Reserved{"-m --model -mu --model-url -hf* --hf-* -dr --docker-repo",
             "k3d gives the model's files; use model and quant"},
    Reserved{"--host --port --reuse-port", "k3d gives the engine an address of its own; use proxy.listen"},
    Reserved{"--api-key --api-key-file", "the engine's key is k3d's own; use proxy.api_keys_file"},
    Reserved{"--api-prefix", "k3d and its clients count on llama-server's own paths"},
    Reserved{"--path --media-path", "it serves files of the container to everyone"},
    Reserved{"--ssl-*", "the engine speaks to k3d alone; put TLS in front of proxy.listen"},
    Reserved{"--rpc", "it gives memory and computing to other hosts, unguarded"},
    Reserved{"-a --alias", "k3d answers for names; use aliases"},
    Reserved{"-c --ctx-size", "use context"},
    Reserved{"-np --parallel", "use slots"},
    Reserved{"-b --batch-size", "use batch"},
    Reserved{"-ub --ubatch-size", "use ubatch"},
    Reserved{"-t --threads -tb --threads-batch", "use threads"},
    Reserved{"-ngl --gpu-layers --n-gpu-layers", "use gpus and placement"},
    Reserved{"-dev --device", "use gpus"},
    Reserved{"-ts --tensor-split", "use placement: {mode: n_cpu_moe, tensor_split: [...]}"},
    Reserved{"-ot --override-tensor", "use placement: {mode: override, tensors: [...]}"},
    Reserved{"-cmoe --cpu-moe -ncmoe --n-cpu-moe", "use placement: {mode: n_cpu_moe, layers: N}"},
    Reserved{"-fit* --fit --fit-*", "use placement: {mode: fit, fit_target_mib: N}"},
    Reserved{"-ctk -ctv --cache-type-k --cache-type-v", "use cache_type"},
    Reserved{"-cram --cache-ram", "use cache_ram"},
    Reserved{"-ctxcp --ctx-checkpoints --swa-checkpoints", "use ctx_checkpoints"},
    Reserved{"-mm -mmu --mmproj* --no-mmproj*", "use mmproj of the model, and a source with vision"},
    Reserved{"-sm --split-mode", "k3d plans by layers"},
    Reserved{"--numa", "k3d sets it by the host"},
    Reserved{"--load-mode --mlock --mmap --no-mmap -dio --direct-io --no-direct-io",
             "k3d sets how files are read, since it watches the load"},
    Reserved{"--jinja --no-jinja", "k3d sets it, since the model's template needs it"},
    Reserved{"--log-* --no-log-* -lv -v --verbose --verbosity", "k3d sets how the log is written, since it reads it"},
    Reserved{"--models-* --no-models-*", "one engine serves one model; use profiles"},
    Reserved{"--sleep-idle-seconds", "the engine would drop the model behind k3d's back; use idle_stop_seconds"},
    Reserved{"-md --model-draft --draft* --spec-*", "use speculative"},
    Reserved{"--slot-save-path --lora*", "it opens files of the container at a client's word"},
    Reserved{"--tools* --webui-mcp* --ui-mcp* --mcp-servers* -ag --agent",
             "it lets clients run things inside the container"},
    Reserved{"-h --help --usage --version -cl --cache-list --completion-bash --list-devices --license",
             "the engine would print something and end"},
    Reserved{"--embd-gemma* --fim-qwen* --gpt-oss* --vision-gemma*", "it fetches another model; use model and quant"},
};

bool matches(std::string_view flag, std::string_view pattern) {
  if (!pattern.ends_with('*')) return flag == pattern;
  return flag.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool is_one_of(std::string_view flag, std::string_view patterns) {
  while (!patterns.empty()) {
    const std::size_t end = std::min(patterns.find(' '), patterns.size());
    if (matches(flag, patterns.substr(0, end))) return true;
    patterns.remove_prefix(std::min(end + 1, patterns.size()));
  }
  return false;
}

}  // namespace

std::optional<std::string> reserved_flag_reason(std::string_view arg) {
  if (!arg.starts_with('-')) return std::nullopt;
  std::string flag(arg.substr(0, arg.find('=')));
  if (flag.starts_with("--")) std::ranges::replace(flag, '_', '-');
  const auto found = std::ranges::find_if(kReserved, [&flag](const Reserved& r) { return is_one_of(flag, r.flags); });
  if (found == kReserved.end()) return std::nullopt;
  return std::string(found->reason);
}

}  // namespace k3d
