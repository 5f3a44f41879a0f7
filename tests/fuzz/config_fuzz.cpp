// YAML to settings: no text may crash it, hang it, or leave a mistake outside the file.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "config/config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const k3d::config::Decoded decoded = k3d::config::decode(text, "k3d.yaml");
  for (const k3d::config::Mistake& mistake : decoded.mistakes) {
    if (mistake.line < 1 || mistake.column < 1 || mistake.what.empty()) std::abort();
  }
  return 0;
}
