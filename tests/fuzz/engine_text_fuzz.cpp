// What an engine writes, its help and its log: no text may crash a reader, escape into what people see, or get lost.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "daemon/engine/capabilities.hpp"
#include "daemon/engine/failures.hpp"
#include "daemon/engine/log_reader.hpp"
#include "daemon/engine/log_signs.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void require(bool fine) {
  if (!fine) std::abort();
}

void read_help(std::string_view text) {
  const k3d::EngineCapabilities image = k3d::engine::parse_help(text);
  const auto back = k3d::engine::capabilities_from_json(k3d::engine::capabilities_to_json(image));
  require(back.has_value() && back->flags.size() == image.flags.size() && back->values.size() == image.values.size());
}

void read_log(std::string_view text, bool ready, int exit_code) {
  k3d::engine::LineSplitter splitter(4096);
  std::vector<std::string> lines = splitter.feed(text.substr(0, text.size() / 2));
  for (std::string& line : splitter.feed(text.substr(text.size() / 2))) lines.push_back(std::move(line));
  if (auto rest = splitter.finish()) lines.push_back(std::move(*rest));
  const k3d::Failure failure = k3d::engine::classify({exit_code, false, false, false, ready, lines});
  require(!failure.code.empty() && !failure.advice.empty() && failure.log_excerpt.size() <= 20);
  for (const std::string& line : failure.log_excerpt) require(k3d::engine::printable(line) == line);
  for (const std::string& line : lines)
    require(k3d::engine::printable(k3d::engine::printable(line)) == k3d::engine::printable(line));
}

void read_signs(std::string_view text) {
  k3d::engine::LogSignReader whole;
  k3d::engine::LogSignReader pieces;
  whole.feed(text);
  for (; !text.empty(); text.remove_prefix(std::min<std::size_t>(text.size(), 7))) pieces.feed(text.substr(0, 7));
  require(whole.signs().buffers.size() <= 64 && whole.signs().loaded == pieces.signs().loaded);
  require(k3d::engine::host_model_bytes(whole.signs()) == k3d::engine::host_model_bytes(pieces.signs()));
  require(k3d::engine::spilled_bytes(whole.signs()) == k3d::engine::spilled_bytes(pieces.signs()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_help(text);
  const int exit_code = size % 3 == 0 ? 1 : size % 3 == 1 ? 134 : 127;
  read_log(text, size % 2 == 0, exit_code);
  read_signs(text);
  return 0;
}
