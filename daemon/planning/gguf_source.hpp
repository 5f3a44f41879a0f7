// Where the bytes of a GGUF file come from: any source of byte ranges, and the files of this host.
// Not here: what the bytes mean (gguf_parser), ranges over HTTP.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "daemon/base/result.hpp"
#include "daemon/base/units.hpp"

namespace k3d::planning {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// As errors and plans call it.
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual Bytes size() const = 0;
  /// Exactly these bytes, which must lie within `size`. May block.
  virtual Result<std::string> read(Bytes offset, Bytes length) = 0;
};

/// Opens a file by its bare name, beside the others of its set. Error: files_missing if there is none.
using OpenByName = std::function<Result<std::unique_ptr<ByteSource>>(const std::string& file_name)>;

/// A regular file of this host, read by pread. Errors: files_missing, io_failed, model_corrupt (no regular file).
Result<std::unique_ptr<ByteSource>> open_file(const std::filesystem::path& path);

}  // namespace k3d::planning
