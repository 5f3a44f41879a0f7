// One file's header, read in windows from wherever its bytes are, and kept as it was read. Blocking only in so far as it
// parses. Not here: who fetches the bytes (remote_headers).
#pragma once

#include <optional>
#include <string>

#include "daemon/planning/gguf_parser.hpp"

namespace k3d::hub {

class RemoteShard {
 public:
  struct Window {
    Bytes offset = 0, length = 0;
  };

  /// `holds_metadata`: of the whole model, with its vocabulary: some megabytes. The others have some kilobytes.
  RemoteShard(std::string name, Bytes file_bytes, bool holds_metadata);

  /// What to feed next; nothing once the header is complete.
  [[nodiscard]] std::optional<Window> next() const;
  /// `bytes` are next()'s window. Errors: the parser's.
  Status feed(std::string bytes);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Bytes file_bytes() const { return file_bytes_; }
  /// The file's beginning, in the end its header; what the parser has no use for may be zeros.
  [[nodiscard]] const std::string& head() const { return head_; }
  /// Once nothing is to be fed.
  planning::GgufFile take() { return std::move(file_); }

 private:
  std::string name_;
  Bytes file_bytes_;
  Bytes window_;
  planning::GgufParser parser_;
  planning::GgufFile file_;
  std::string head_;
};

}  // namespace k3d::hub
