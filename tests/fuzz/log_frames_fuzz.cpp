// Docker's log frames from anywhere: the demux never reads past its input, holds no more than its caps, and gives
// the same lines however the bytes are cut.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "docker_driver/log_demux.hpp"

namespace {

using k3d::docker::Framing;
using k3d::docker::LogDemux;

std::vector<k3d::LogLine> lines_of(std::string_view bytes, std::size_t step, Framing framing) {
  LogDemux demux(framing);
  std::vector<k3d::LogLine> lines;
  while (!bytes.empty()) {
    if (!demux.feed(bytes.substr(0, step), lines)) return lines;
    bytes.remove_prefix(bytes.size() < step ? bytes.size() : step);
  }
  demux.finish(lines);
  return lines;
}

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Framing framing = data[0] % 2 == 0 ? Framing::multiplexed : Framing::raw;
  const std::size_t step = data[1] % 64 + std::size_t{1};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto whole = lines_of(bytes, bytes.size() + 1, framing);
  const auto cut = lines_of(bytes, step, framing);
  require(whole.size() == cut.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    require(whole[i].text == cut[i].text && whole[i].stamp == cut[i].stamp);
    require(whole[i].is_stderr == cut[i].is_stderr && whole[i].truncated == cut[i].truncated);
    require(whole[i].text.size() <= LogDemux::kMaxLine);
  }
  return 0;
}
