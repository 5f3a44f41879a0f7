#include "daemon/hub/remote_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "daemon/base/shard_name.hpp"

namespace k3d::hub {
namespace {

constexpr Bytes kMostBytes = std::numeric_limits<std::int64_t>::max();

std::string bare_name(const HubFile& file) { return file.path.substr(file.path.rfind('/') + 1); }

bool is_of_quant(const HubFile& file, const std::string& quant) {
  const std::string name = bare_name(file);
  return file.path == quant + "/" + name && name.ends_with(".gguf") && !name.starts_with("mmproj");
}

Status check_sizes(const std::vector<HubFile>& shards) {
  Bytes sum = 0;
  for (const HubFile& shard : shards) {
    if (shard.size == 0) return fail(Code::model_corrupt, "the hub's " + shard.path + " is empty");
    if (shard.size > kMostBytes - sum) {
      return fail(Code::model_corrupt, "the hub's sizes of " + shard.path + " and others can't be");
    }
    sum += shard.size;
  }
  return {};
}

/// `shards` begin with the same words; in order of their names, which is that of their numbers.
Result<std::vector<HubFile>> whole_set(std::vector<HubFile> shards) {
  const auto first = parse_shard_name(bare_name(shards.front()));
  const int count = first ? first->count : 1;
  for (int number = 1; first && number <= count; ++number) {
    const auto index = static_cast<std::size_t>(number - 1);
    const std::string name = shard_name({first->prefix, number, count});
    if (index < shards.size() && bare_name(shards[index]) == name) continue;
    return fail(Code::shard_missing, fmt::format("the hub has no {}; the set has {} files", name, count),
                "choose another revision of the repository");
  }
  if (const Status sizes = check_sizes(shards); !sizes) return fail(sizes.error());
  return shards;
}

}  // namespace

bool is_quant_name(std::string_view quant) {
  const auto is_letter_or_digit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !quant.empty() && quant.size() <= 64 && is_letter_or_digit(quant.front()) &&
         quant.find("..") == std::string_view::npos && std::ranges::all_of(quant, [&](char c) {
           return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
         });
}

Result<std::vector<HubFile>> shards_of_quant(const std::vector<HubFile>& files, const std::string& quant) {
  std::map<std::string, std::vector<HubFile>> models;  // by what their names begin with, and how many they say to be
  for (const HubFile& file : files) {
    if (!is_of_quant(file, quant)) continue;
    const auto name = parse_shard_name(bare_name(file));
    models[name ? fmt::format("{}/{}", name->prefix, name->count) : bare_name(file)].push_back(file);
  }
  if (models.empty()) {
    return fail(Code::files_missing, "the hub has no GGUF file in folder " + quant, "`k3ctl quants` lists what there is");
  }
  if (models.size() > 1) {
    const std::string &one = models.begin()->second.front().path, &other = models.rbegin()->second.front().path;
    return fail(Code::files_missing,
                fmt::format("the hub has more than one model in folder {}: {} and {}", quant, one, other));
  }
  std::vector<HubFile>& shards = models.begin()->second;
  std::ranges::sort(shards, {}, &HubFile::path);
  return whole_set(std::move(shards));
}

}  // namespace k3d::hub
