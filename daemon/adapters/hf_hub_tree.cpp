#include "daemon/adapters/hf_hub_tree.hpp"

#include <algorithm>

#include "daemon/adapters/hf_hub_api.hpp"
#include "daemon/base/json.hpp"

namespace k3d::adapters {
namespace {

bool is_sha256(std::string_view text) {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// Of one file; the text says what is wrong with it.
std::expected<HubFile, std::string> file_of(const Json& item) {
  HubFile file;
  file.path = json_string(item, "path").value_or("");
  if (!is_plain_path(file.path)) return std::unexpected("the path \"" + sample_of(file.path) + "\"");
  const auto size = json_int(item, "size");
  if (!size || *size < 0) return std::unexpected("no size of " + file.path);
  file.size = static_cast<Bytes>(*size);
  const Json& lfs = json_member(item, "lfs");
  if (!lfs.is_object()) return file;
  const auto real_size = json_int(lfs, "size");
  file.sha256 = json_string(lfs, "oid").value_or("");
  if (!real_size || *real_size != *size) return std::unexpected("two sizes of " + file.path);
  if (!is_sha256(file.sha256)) return std::unexpected("no SHA-256 of " + file.path);
  return file;
}

}  // namespace

std::unexpected<Error> HubTree::wrong(const std::string& what) const {
  return fail(Code::protocol, "the hub's list of the files of " + folder_.repo + " has " + what,
              "see whether hub.endpoint is a model hub, and what is in front of it");
}

Status HubTree::add_page(std::string_view body) {
  const Result<Json> page = parse_json(body);
  if (!page || !page->is_array()) return wrong("no JSON list in it but \"" + sample_of(body) + "\"");
  if (++pages_ > TreeLimits::pages) return wrong("no end");
  const std::string inside = folder_.path.empty() ? "" : folder_.path + "/";
  for (const Json& item : *page) {
    if (json_string(item, "type").value_or("") != "file") continue;
    auto file = file_of(item);
    if (!file) return wrong(file.error());
    if (!file->path.starts_with(inside)) return wrong("a file of another folder, " + file->path);
    if (!paths_.insert(file->path).second) return wrong(file->path + " twice");
    if (files_.size() >= TreeLimits::files) return wrong("too many files");
    files_.push_back(std::move(*file));
  }
  return {};
}

}  // namespace k3d::adapters
