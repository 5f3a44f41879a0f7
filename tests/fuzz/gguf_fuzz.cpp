// A GGUF header: no bytes may crash the parser, cost more than they are, or lead past the file; read whole or in
// pieces they mean the same.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/planning/split_set.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using k3d::Bytes;
using k3d::planning::GgufFile;
using Outcome = k3d::Result<GgufFile>;

void require(bool fine) {
  if (!fine) std::abort();
}

/// Feeds `least` bytes and `more`, of a file that goes on with zeros to `file_bytes`.
Outcome parse(const std::string& content, Bytes file_bytes, Bytes more) {
  k3d::planning::GgufParser parser("m.gguf", file_bytes);
  while (const auto need = parser.need()) {
    require(need->offset + need->least <= file_bytes);
    const Bytes length = std::min(need->least + more, file_bytes - need->offset);
    std::string piece = need->offset < content.size() ? content.substr(need->offset, length) : std::string();
    piece.resize(length);
    if (const k3d::Status fed = parser.feed(piece); !fed) return std::unexpected(fed.error());
    const auto next = parser.need();
    require(!next || next->offset > need->offset || next->least > need->least);
  }
  return parser.take();
}

void check(const GgufFile& file) {
  Bytes end = file.info.header_bytes;
  for (const k3d::planning::TensorInfo& tensor : file.tensors) {
    require(tensor.offset >= end && tensor.bytes > 0);
    end = tensor.offset + tensor.bytes;
  }
  require(file.tensors.empty() || end <= file.info.file_bytes);
  if (const auto names = k3d::planning::names_of_set("m.gguf", file)) require(names->size() == 1);
  if (const auto names = k3d::planning::names_of_set("m-00001-of-00002.gguf", file)) require(names->size() == 2);
  require(!k3d::planning::join({file, file}));
}

void check_both(const std::string& content, Bytes file_bytes) {
  const Outcome whole = parse(content, file_bytes, file_bytes);
  const Outcome pieces = parse(content, file_bytes, 0);
  require(whole.has_value() == pieces.has_value());
  if (!whole) {
    require(whole.error().text() == pieces.error().text());
    return;
  }
  require(whole->metadata.size() == pieces->metadata.size() && whole->tensors.size() == pieces->tensors.size());
  require(whole->info.header_bytes == pieces->info.header_bytes);
  check(*whole);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string content(reinterpret_cast<const char*>(data), size);
  check_both(content, size);
  check_both(content, size + 4 * k3d::kKiB);
  return 0;
}
