// One GGUF file's header, version 2 or 3, little-endian: pure, and fed in pieces by whoever can read the file.
// Trusts nothing: no length, count or offset leads to more memory than the bytes that were fed, or past the file.
// Not here: sets of files (split_set), where bytes come from (gguf_source).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "daemon/planning/gguf_cursor.hpp"
#include "daemon/planning/gguf_value.hpp"
#include "daemon/planning/model_headers.hpp"

namespace k3d::planning {

struct GgufFile {
  ShardInfo info;
  std::map<std::string, MetadataValue> metadata;
  std::vector<TensorInfo> tensors;  ///< in the order of the file, all with shard 0
};

/// Limits that no model comes near. ggml itself allows more, and so would have us read for hours.
struct GgufLimits {
  static constexpr Bytes header = 64 * kMiB;
  static constexpr Bytes text = 4 * kMiB;  ///< a chat template has some 10 KiB
  static constexpr Bytes key = 0xFFFF;
  static constexpr std::uint64_t keys = 100'000;
  static constexpr std::uint64_t tensors = 1'000'000;
  static constexpr std::uint64_t kept_elements = 1024;  ///< of an array; longer ones are counted
};

class GgufParser {
 public:
  /// What to feed next: at least `least` bytes from `offset` on, within the file. More saves reads.
  struct Need {
    Bytes offset = 0;
    Bytes least = 0;
  };

  GgufParser(std::string name, Bytes file_bytes);

  /// Nothing when the header is complete.
  [[nodiscard]] std::optional<Need> need() const;

  /// `bytes` begin at need()->offset; what is left of a half value is asked for again.
  /// Errors, with file and byte: model_corrupt; model_truncated if the file ends before its header or its data do.
  /// After an error the parser is of no more use.
  Status feed(std::string_view bytes);

  /// Once nothing is needed.
  GgufFile take() { return std::move(file_); }

 private:
  enum class Stage { head, keys, skipped_texts, tensors, done };

  // Each reads one thing, or leaves everything as it was if `in` lacks a part of it.
  Status step(GgufCursor& in);
  Status head(GgufCursor& in);
  Status key(GgufCursor& in);
  Status text(GgufCursor& in, const std::string& key);
  Status single(GgufCursor& in, const std::string& key, GgufType type);
  Status array(GgufCursor& in, const std::string& key);
  Status kept_numbers(GgufCursor& in, const std::string& key, GgufType type, std::uint64_t count);
  Status kept_texts(GgufCursor& in, const std::string& key, std::uint64_t count);
  Status skipped_text(GgufCursor& in);
  Status tensor(GgufCursor& in);

  Status store(const std::string& key, MetadataValue value);
  Status place(TensorInfo tensor, Bytes offset);
  Status next_stage();
  Status finish();
  Status ask(Bytes until);
  [[nodiscard]] std::unexpected<Error> damaged(Bytes at, const std::string& what) const;
  [[nodiscard]] std::unexpected<Error> endless() const;
  [[nodiscard]] std::unexpected<Error> truncated(std::string_view part, Bytes needed) const;

  GgufFile file_;
  Stage stage_ = Stage::head;
  Bytes position_ = 0;  ///< everything before it is done
  Bytes least_ = 0;     ///< from there on, to get any further
  std::uint64_t tensors_left_ = 0, keys_left_ = 0, texts_left_ = 0;
  Bytes alignment_ = 32;
  Bytes data_end_ = 0;  ///< of the tensors so far, padded, from where the data begins
  std::set<std::string, std::less<>> names_;
};

}  // namespace k3d::planning
