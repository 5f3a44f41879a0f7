#include "daemon/engine/log_signs.hpp"

#include <charconv>
#include <numeric>

namespace k3d::engine {
namespace {

/// The breakdown of a fit counts in whole MiB.
constexpr Bytes kRounding = 2 * kMiB;
/// More memories than any engine has: the log comes from outside.
constexpr std::size_t kMostDevices = 64;

/// The next word of `text`, taken off it.
std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

/// "1190.00" as bytes; nothing if it is no size that memory can have.
std::optional<Bytes> mib(std::string_view number) {
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || end != number.data() + number.size() || !(value >= 0 && value < 1e9)) return std::nullopt;
  return static_cast<Bytes>(value * static_cast<double>(kMiB));
}

struct Buffer {
  std::string_view device, kind;
  Bytes bytes = 0;
};

/// "load_tensors:        CUDA0 model buffer size = 130503.90 MiB".
std::optional<Buffer> buffer_of(std::string_view text) {
  Buffer buffer;
  const std::string_view teller = take_word(text);
  // That of the projector comes with the first image; the engine's own breakdown has none of it either.
  if (!teller.ends_with(':') || teller == "alloc_compute_meta:") return std::nullopt;
  buffer.device = take_word(text);
  buffer.kind = take_word(text);
  for (const std::string_view word : {"buffer", "size", "="}) {
    if (take_word(text) != word) return std::nullopt;
  }
  const std::optional<Bytes> bytes = mib(take_word(text));
  if (!bytes || take_word(text) != "MiB") return std::nullopt;
  buffer.bytes = *bytes;
  return buffer;
}

/// "common_memory_breakdown_print: |   - Host               |   1558 =   1190 +       0 +     368                |".
std::optional<Bytes> host_model_of(std::string_view text) {
  if (take_word(text) != "common_memory_breakdown_print:") return std::nullopt;
  for (const std::string_view word : {"|", "-", "Host", "|"}) {
    if (take_word(text) != word) return std::nullopt;
  }
  if (!mib(take_word(text)) || take_word(text) != "=") return std::nullopt;
  return mib(take_word(text));
}

void add(Buffers& to, const Buffer& buffer) {
  if (buffer.kind == "model") to.model += buffer.bytes;
  if (buffer.kind == "KV" || buffer.kind == "RS") to.context += buffer.bytes;
  if (buffer.kind == "compute" || buffer.kind == "output") to.compute += buffer.bytes;
}

bool is_host(std::string_view device) {
  return device.starts_with("CPU") || device == "AMX" || device.ends_with("_Host");
}

/// 7 of "CUDA7".
std::optional<std::size_t> index_of(std::string_view device) {
  constexpr std::string_view kCuda = "CUDA";
  if (!device.starts_with(kCuda)) return std::nullopt;
  device.remove_prefix(kCuda.size());
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), index);
  if (error != std::errc{} || end != device.data() + device.size() || index >= kMostDevices) return std::nullopt;
  return index;
}

/// What follows `words` in `text`, if they are there.
std::optional<std::string> after(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(at + words.size()));
}

}  // namespace

Bytes host_model_bytes(const LogSigns& signs) {
  return std::accumulate(signs.buffers.begin(), signs.buffers.end(), Bytes{0}, [](Bytes sum, const auto& entry) {
    return sum + (is_host(entry.first) ? entry.second.model : 0);
  });
}

Breakdown breakdown(const LogSigns& signs) {
  Breakdown out;
  for (const auto& [device, buffers] : signs.buffers) {
    const std::optional<std::size_t> index = index_of(device);
    if (!index && !is_host(device)) continue;
    if (index) out.devices.resize(std::max(out.devices.size(), *index + 1));
    Buffers& to = index ? out.devices[*index] : out.host;
    to.model += buffers.model;
    to.context += buffers.context;
    to.compute += buffers.compute;
  }
  return out;
}

std::optional<Bytes> spilled_bytes(const LogSigns& signs) {
  if (!signs.loaded || !signs.host_model_at_best || !signs.fit_given_up.empty()) return std::nullopt;
  const Bytes now = host_model_bytes(signs);
  const Bytes best = *signs.host_model_at_best + kRounding;
  return now > best ? now - *signs.host_model_at_best : 0;
}

void LogSignReader::feed(std::string_view bytes) {
  for (const std::string& line : splitter_.feed(bytes)) {
    if (!signs_.loaded) read(read_engine_line(line));
  }
}

void LogSignReader::load_ended() {
  signs_.loaded = true;
  signs_.fitted = fit_.outcome();
}

void LogSignReader::read(const EngineLine& line) {
  const std::string_view text = line.text;
  if (line.level == LineLevel::info) {
    fit_.read(text);
    if (line.component == "srv" && text == "llama_server: model loaded") load_ended();
    if (const auto buffer = buffer_of(text); buffer && signs_.buffers.size() < kMostDevices) {
      add(signs_.buffers[std::string(buffer->device)], *buffer);
    }
    // The first breakdown is that of everything in the GPUs; what follows are tries.
    if (!signs_.host_model_at_best) signs_.host_model_at_best = host_model_of(text);
    return;
  }
  if (line.level == LineLevel::debug) return;
  for (const std::string_view words :
       {"failed to fit params to free device memory: ", "trying to fit params to free device memory: "}) {
    if (const auto reason = after(text, words)) signs_.fit_given_up = *reason;
  }
  for (const std::string_view words : {"failed to initialize CUDA", "no usable GPU found"}) {
    if (after(text, words)) signs_.no_gpu = text;
  }
}

}  // namespace k3d::engine
