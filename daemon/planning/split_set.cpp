#include "daemon/planning/split_set.hpp"

#include <fmt/format.h>

#include <set>

#include "daemon/base/shard_name.hpp"

namespace k3d::planning {
namespace {

constexpr std::int64_t kMostShards = 99'999;  // five digits

/// What a file says about its set. A file that says nothing is a set of its own.
struct Split {
  std::int64_t number = 0;  ///< from 0
  std::int64_t count = 1;
  std::optional<std::int64_t> tensors;  ///< of the whole set
};

std::unexpected<Error> mixed_up(std::string message) {
  return fail(Code::model_corrupt, std::move(message), "get the whole set again, from one revision");
}

std::optional<std::int64_t> integer(const GgufFile& file, const std::string& key) {
  const auto at = file.metadata.find(key);
  if (at == file.metadata.end()) return std::nullopt;
  const auto* value = std::get_if<std::int64_t>(&at->second);
  return value ? std::optional(*value) : std::nullopt;
}

Result<Split> split_of(const GgufFile& file) {
  for (const char* key : {"split.no", "split.count", "split.tensors.count"}) {
    if (file.metadata.contains(key) && !integer(file, key)) {
      return mixed_up(fmt::format("{}: {} is no integer", file.info.name, key));
    }
  }
  const Split split{integer(file, "split.no").value_or(0), integer(file, "split.count").value_or(1),
                    integer(file, "split.tensors.count")};
  // The engine takes a count of 0 for a file that isn't split.
  const std::int64_t count = split.count == 0 ? 1 : split.count;
  if (count < 1 || count > kMostShards || split.number < 0 || split.number >= count) {
    return mixed_up(fmt::format("{}: split.no is {} and split.count {}", file.info.name, split.number, split.count));
  }
  return Split{split.number, count, split.tensors};
}

Status check_places(const std::vector<GgufFile>& files, const std::vector<Split>& splits) {
  const auto count = static_cast<std::int64_t>(files.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    if (splits[index].number == i && splits[index].count == count) continue;
    return mixed_up(fmt::format("{} says that it is shard {} of {}; here it is shard {} of {}", files[index].info.name,
                                splits[index].number + 1, splits[index].count, i + 1, count));
  }
  return {};
}

Status check_tensors(const std::vector<GgufFile>& files, const std::vector<Split>& splits) {
  std::set<std::string_view> names;
  for (const GgufFile& file : files) {
    for (const TensorInfo& tensor : file.tensors) {
      if (names.insert(tensor.name).second) continue;
      return mixed_up(fmt::format("{}: tensor {} is in another file of the set too", file.info.name, tensor.name));
    }
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto wanted = splits[i].tensors;
    if (!wanted || *wanted == static_cast<std::int64_t>(names.size())) continue;
    return mixed_up(
        fmt::format("{} says that the set has {} tensors; it has {}", files[i].info.name, *wanted, names.size()));
  }
  return {};
}

Status check_set(const std::vector<GgufFile>& files) {
  if (files.empty()) return mixed_up("a model of no files");
  std::vector<Split> splits;
  for (const GgufFile& file : files) {
    const Result<Split> split = split_of(file);
    if (!split) return std::unexpected(split.error());
    splits.push_back(*split);
  }
  const Status places = check_places(files, splits);
  return places ? check_tensors(files, splits) : places;
}

}  // namespace

Result<std::vector<std::string>> names_of_set(const std::string& file_name, const GgufFile& file) {
  const Result<Split> split = split_of(file);
  if (!split) return std::unexpected(split.error());
  const auto name = parse_shard_name(file_name);
  if (!name && split->count == 1) return std::vector{file_name};
  if (!name || name->number != split->number + 1 || name->count != split->count) {
    return mixed_up(
        fmt::format("{} is called so, and says that it is shard {} of {}", file_name, split->number + 1, split->count));
  }
  std::vector<std::string> names;
  for (int number = 1; number <= name->count; ++number)
    names.push_back(shard_name({name->prefix, number, name->count}));
  return names;
}

Result<ModelHeaders> join(std::vector<GgufFile> files) {
  if (const Status checked = check_set(files); !checked) return std::unexpected(checked.error());
  ModelHeaders headers;
  headers.metadata = std::move(files.front().metadata);
  for (GgufFile& file : files) {
    for (TensorInfo& tensor : file.tensors) {
      tensor.shard = static_cast<int>(headers.shards.size());
      headers.tensors.push_back(std::move(tensor));
    }
    headers.shards.push_back(std::move(file.info));
  }
  return headers;
}

}  // namespace k3d::planning
