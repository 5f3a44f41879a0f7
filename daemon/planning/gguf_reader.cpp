#include "daemon/planning/gguf_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace k3d::planning {
namespace {

constexpr Bytes kFirstWindow = kMiB, kLargestWindow = 4 * kMiB;

Result<GgufFile> read_shard(const std::string& name, std::size_t count, const OpenByName& open) {
  const auto source = open(name);
  if (!source && source.error().code == Code::files_missing) {
    return fail(Code::shard_missing, fmt::format("{} is missing; its set has {} files", name, count),
                "put it beside the others");
  }
  if (!source) return std::unexpected(source.error());
  return read_gguf(**source);
}

}  // namespace

Result<GgufFile> read_gguf(ByteSource& source) {
  GgufParser parser(source.name(), source.size());
  Bytes window = kFirstWindow;
  while (const auto need = parser.need()) {
    const Bytes length = std::min(std::max(need->least, window), source.size() - need->offset);
    const Result<std::string> bytes = source.read(need->offset, length);
    if (!bytes) return std::unexpected(bytes.error());
    if (const Status fed = parser.feed(*bytes); !fed) return std::unexpected(fed.error());
    window = std::min(2 * window, kLargestWindow);
  }
  return parser.take();
}

Result<ModelHeaders> read_model(const std::string& file_name, const OpenByName& open) {
  const auto source = open(file_name);
  if (!source) return std::unexpected(source.error());
  Result<GgufFile> given = read_gguf(**source);
  if (!given) return std::unexpected(given.error());
  const Result<std::vector<std::string>> names = names_of_set(file_name, *given);
  if (!names) return std::unexpected(names.error());
  std::vector<GgufFile> files;
  for (const std::string& name : *names) {
    Result<GgufFile> file = name == file_name ? std::move(given) : read_shard(name, names->size(), open);
    if (!file) return std::unexpected(file.error());
    files.push_back(std::move(*file));
  }
  return join(std::move(files));
}

Result<ModelHeaders> read_model(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.parent_path();
  return read_model(path.filename().string(), [&folder](const std::string& name) { return open_file(folder / name); });
}

}  // namespace k3d::planning
