// In-memory stand-in of the hub: files by path, ranges of them, and what was asked.
#pragma once

#include <map>
#include <optional>

#include "daemon/ports/hub.hpp"

namespace k3d::doubles {

class FakeHub final : public Hub {
 public:
  std::map<std::string, std::string> files;
  std::optional<Error> list_error, read_error;
  std::vector<HubFolder> lists;
  std::vector<HubRange> reads;
  Bytes sent = 0;

  Task<Result<std::vector<HubFile>>> list(HubFolder folder) override {
    lists.push_back(folder);
    if (list_error) co_return fail(*list_error);
    std::vector<HubFile> found;
    for (const auto& [path, bytes] : files) {
      if (path.starts_with(folder.path + "/")) found.push_back({path, bytes.size(), {}});
    }
    if (found.empty()) co_return fail(Code::not_found, "there is no such folder");
    co_return found;
  }

  Task<Result<HubBytes>> read(HubRange range) override {
    reads.push_back(range);
    if (read_error) co_return fail(*read_error);
    sent += range.length;
    co_return HubBytes{files.at(range.file.path).substr(range.offset, range.length), "v1"};
  }
};

}  // namespace k3d::doubles
