// The SSE parser gives the same events however the bytes are cut, and never more than was fed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "api/client/sse.hpp"

namespace {

std::string all_events(std::string_view bytes, std::size_t piece) {
  k3d::api::SseParser parser(1024);
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const bool fed = parser.feed(bytes.substr(at, piece)).has_value();
    while (const auto event = parser.next()) out += event->event + '\1' + event->id + '\1' + event->data + '\2';
    if (!fed) break;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (all_events(bytes, 1) != all_events(bytes, 7)) std::abort();
  return 0;
}
