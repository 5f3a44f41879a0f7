// Port: a hub of models: what a folder of a repository holds, and bytes of its files. Implemented by adapters/hf_hub.
// Not here: which files make up a quant, and what is in them (daemon/hub).
#pragma once

#include <string>
#include <vector>

#include "daemon/base/async/task.hpp"
#include "daemon/base/result.hpp"
#include "daemon/base/units.hpp"

namespace k3d {

/// A folder of a repository, at one commit for good: what a branch's name means changes.
struct HubFolder {
  std::string repo;      ///< owner/name
  std::string revision;  ///< 40 hexadecimal digits
  std::string path;      ///< from the repository's root; empty: the root
};

struct HubFile {
  std::string path;  ///< from the repository's root: no empty part, no "." and no ".."
  Bytes size = 0;    ///< of the file itself, not of a pointer to it
  std::string sha256;  ///< 64 hexadecimal digits; empty for small files, which the hub keeps in git

  friend bool operator==(const HubFile&, const HubFile&) = default;
};

struct HubRange {
  std::string repo, revision;
  HubFile file;  ///< as it was listed
  Bytes offset = 0, length = 0;
  /// Of an earlier answer for this file: bytes of another version of it are refused then. May be empty.
  std::string version;
};

struct HubBytes {
  std::string bytes;    ///< exactly the range
  std::string version;  ///< for the next range of this file; may be empty
};

class Hub {
 public:
  virtual ~Hub() = default;
  /// Every file below the folder. Errors: not_found (no such repository, revision or folder), unreachable (with what
  /// the hub said, after the tries that its patience allows), protocol (what no hub answers), invalid_request (names).
  virtual Task<Result<std::vector<HubFile>>> list(HubFolder folder) = 0;
  /// The range must lie within the file. Errors as above; protocol also for a file that isn't the listed one.
  virtual Task<Result<HubBytes>> read(HubRange range) = 0;
};

}  // namespace k3d
