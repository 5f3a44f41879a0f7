// How one speaks with a Hugging Face hub: names that may go into its addresses, the addresses, where a redirect may
// lead, and whether an answer is what was asked for. Pure. Not here: its lists of files (hf_hub_tree), when to try again
// (hf_hub_pace), and the asking (hf_hub).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/adapters/curl_transfer.hpp"
#include "daemon/base/result.hpp"
#include "daemon/ports/hub.hpp"

namespace k3d::adapters {

/// Error invalid_request for anything but owner/name, 40 hexadecimal digits and, of paths, plain parts.
Status check_names(const std::string& repo, const std::string& revision, std::string_view path);
/// No empty part, ".", "..", leading "/", backslash or control character, valid in the cache as on the hub; 1024 bytes.
bool is_plain_path(std::string_view path);

/// The first page of a folder's files. `endpoint` is an origin, maybe with a path.
std::string tree_url(const std::string& endpoint, const HubFolder& folder);
std::string file_url(const std::string& endpoint, const HubRange& range);

/// The address of the next page in a Link header; nothing if this was the last one.
std::optional<std::string> next_page(std::string_view link_header);

/// "host" or "host:port" as errors and logs tell an address: what is behind it may be signed.
std::string host_of(const std::string& url);

struct Hop {
  std::string url;
  bool same_origin = false;  ///< scheme, host and port; else nothing that is secret goes there
};
/// Where `location` leads from `from`. Error protocol: not http or https, from https to http, a name and password, or no
/// address at all.
Result<Hop> follow(const std::string& from, const std::string& location);

/// What the hub's own host says of a file before it sends elsewhere.
struct Linked {
  std::string commit, etag;
  std::optional<Bytes> size;
};
void read_linked(const CurlAnswer& answer, Linked& linked);

/// Whether `linked` is of the listed file. Error protocol.
Status check_linked(const Linked& linked, const HubRange& range);
/// Whether the answer is exactly the range of a file of that size. Error protocol.
Status check_part(const CurlAnswer& answer, const HubRange& range);
/// Its version, for If-Range: a strong ETag or nothing.
std::string version_of(const CurlAnswer& answer);

/// What a refusal says, printable and short.
std::string sample_of(std::string_view body);

}  // namespace k3d::adapters
