#include "daemon/hub/remote_cache.hpp"

#include <map>

#include "daemon/base/files.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/sha256.hpp"
#include "daemon/planning/gguf_reader.hpp"

namespace k3d::hub {
namespace {

// A line with the SHA-256 of everything after it, a line of JSON that tells whose headers these are and how long each
// file's is, then the headers one after the other.
constexpr std::size_t kHashLine = 65;
constexpr Bytes kMostKept = 256 * kMiB;
constexpr std::int64_t kFormat = 1;

struct Head {
  Bytes file_bytes = 0;
  std::string bytes;
};

/// What is in the cache under a file's name.
class KeptSource final : public planning::ByteSource {
 public:
  KeptSource(std::string name, Head head) : name_(std::move(name)), head_(std::move(head)) {}
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Bytes size() const override { return head_.file_bytes; }
  /// The reader takes large windows; behind what was kept nothing is of use to it.
  Result<std::string> read(Bytes offset, Bytes length) override {
    std::string bytes = offset < head_.bytes.size() ? head_.bytes.substr(offset, length) : std::string();
    bytes.resize(length);
    return bytes;
  }

 private:
  std::string name_;
  Head head_;
};

std::filesystem::path file_of(const std::filesystem::path& folder, const RemoteQuant& quant) {
  return folder / (sha256_hex(quant.repo + "\n" + quant.revision + "\n" + quant.quant) + ".headers");
}

Json index_of(const RemoteQuant& quant, const std::vector<RemoteShard>& shards) {
  Json files = Json::array();
  for (const RemoteShard& shard : shards) {
    files.push_back({{"name", shard.name()}, {"size", shard.file_bytes()}, {"head", shard.head().size()}});
  }
  return {{"format", kFormat}, {"repo", quant.repo}, {"revision", quant.revision}, {"quant", quant.quant}, {"files", files}};
}

bool is_of(const Json& index, const RemoteQuant& quant) {
  return json_int(index, "format") == kFormat && json_string(index, "repo") == quant.repo &&
         json_string(index, "revision") == quant.revision && json_string(index, "quant") == quant.quant &&
         json_member(index, "files").is_array() && !json_member(index, "files").empty();
}

/// The heads by file name. The hash was right: what isn't there was never written, and gives a source that fails.
std::map<std::string, Head> heads_of(const Json& index, std::string_view bytes) {
  std::map<std::string, Head> heads;
  for (const Json& file : json_member(index, "files")) {
    const auto length = static_cast<std::size_t>(json_int(file, "head").value_or(0));
    heads[json_string(file, "name").value_or("")] = {static_cast<Bytes>(json_int(file, "size").value_or(0)),
                                                     std::string(bytes.substr(0, length))};
    bytes.remove_prefix(std::min(length, bytes.size()));
  }
  return heads;
}

}  // namespace

std::optional<planning::ModelHeaders> read_kept(const std::filesystem::path& folder, const RemoteQuant& quant) {
  const Result<std::string> text = read_file(file_of(folder, quant), kMostKept);
  if (!text || text->size() < kHashLine) return std::nullopt;
  const std::string_view rest = std::string_view(*text).substr(kHashLine);
  if (std::string_view(*text).substr(0, kHashLine) != sha256_hex(rest) + "\n") return std::nullopt;
  const auto line = rest.find('\n');
  const Result<Json> index = parse_json(rest.substr(0, line));
  if (!index || line == std::string_view::npos || !is_of(*index, quant)) return std::nullopt;
  const auto heads = heads_of(*index, rest.substr(line + 1));
  const auto open = [&heads](const std::string& name) -> Result<std::unique_ptr<planning::ByteSource>> {
    const auto head = heads.find(name);
    if (head == heads.end()) return fail(Code::files_missing, name + " is not kept");
    return std::make_unique<KeptSource>(name, head->second);
  };
  auto headers = planning::read_model(json_string(json_member(*index, "files").front(), "name").value_or(""), open);
  return headers ? std::optional(std::move(*headers)) : std::nullopt;
}

Status keep(const std::filesystem::path& folder, const RemoteQuant& quant, const std::vector<RemoteShard>& shards) {
  if (const Status made = make_folder(folder); !made) return made;
  std::string rest = dump_json(index_of(quant, shards)) + "\n";
  for (const RemoteShard& shard : shards) rest += shard.head();
  return write_file(file_of(folder, quant), sha256_hex(rest) + "\n" + rest);
}

}  // namespace k3d::hub
