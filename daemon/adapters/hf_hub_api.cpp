#include "daemon/adapters/hf_hub_api.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>

namespace k3d::adapters {
namespace {

constexpr std::size_t kMostOfAName = 96, kMostOfAPath = 1024, kMostOfAUrl = 16 * kKiB, kMostOfASample = 160;

bool is_letter_or_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostOfAName && is_letter_or_digit(name.front()) &&
         name.find("..") == std::string_view::npos &&
         std::ranges::all_of(name, [](char c) { return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_commit(std::string_view text) {
  return text.size() == 40 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string encoded(std::string_view text, bool keep_slashes) {
  std::string out;
  for (const char c : text) {
    const bool plain = is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~' || (keep_slashes && c == '/');
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

struct UrlFree {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, UrlFree>;

std::string part(const Url& url, CURLUPart which) {
  char* text = nullptr;
  const unsigned flags = which == CURLUPART_PORT ? CURLU_DEFAULT_PORT : 0;
  if (curl_url_get(url.get(), which, &text, flags) != CURLUE_OK) return {};
  std::string out(text);
  curl_free(text);
  return out;
}

std::string origin_of(const Url& url) {
  return part(url, CURLUPART_SCHEME) + "://" + part(url, CURLUPART_HOST) + ":" + part(url, CURLUPART_PORT);
}

std::optional<Bytes> number(std::string_view text) {
  Bytes value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Without W/ and quotes.
std::string bare_etag(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  return std::string(etag);
}

std::unexpected<Error> refused(const std::string& what) { return fail(Code::protocol, "the hub's redirect " + what); }

}  // namespace

bool is_plain_path(std::string_view path) {
  if (path.empty() || path.size() > kMostOfAPath) return false;
  const auto is_odd = [](unsigned char c) { return c == '\\' || c < 0x20 || c == 0x7F; };
  if (std::ranges::any_of(path, is_odd)) return false;
  const std::string framed = "/" + std::string(path) + "/";
  return framed.find("//") == std::string::npos && framed.find("/./") == std::string::npos &&
         framed.find("/../") == std::string::npos;
}

Status check_names(const std::string& repo, const std::string& revision, std::string_view path) {
  const auto slash = repo.find('/');
  const bool is_repo = slash != std::string::npos && is_name(repo.substr(0, slash)) && is_name(repo.substr(slash + 1));
  if (!is_repo) {
    return fail(Code::invalid_request, "\"" + sample_of(repo) + "\" is no repository of a hub", "write owner/name");
  }
  if (!is_commit(revision)) {
    return fail(Code::invalid_request, "\"" + sample_of(revision) + "\" is no whole commit", "write its 40 digits");
  }
  if (path.empty() || is_plain_path(path)) return {};
  return fail(Code::invalid_request, "\"" + sample_of(path) + "\" is no path within a repository");
}

std::string tree_url(const std::string& endpoint, const HubFolder& folder) {
  std::string url = endpoint + "/api/models/" + folder.repo + "/tree/" + encoded(folder.revision, false);
  if (!folder.path.empty()) url += "/" + encoded(folder.path, false);
  return url + "?recursive=true&expand=false";
}

std::string file_url(const std::string& endpoint, const HubRange& range) {
  return endpoint + "/" + range.repo + "/resolve/" + encoded(range.revision, false) + "/" + encoded(range.file.path, true);
}

std::optional<std::string> next_page(std::string_view link_header) {
  // <url>; rel="next", <url>; rel="last": an address may have commas in it, but no ">".
  while (!link_header.empty()) {
    const auto from = link_header.find('<'), to = link_header.find('>', from);
    if (from == std::string_view::npos || to == std::string_view::npos) return std::nullopt;
    const auto end = link_header.find('<', to);
    const std::string_view parameters = link_header.substr(to + 1, end == std::string_view::npos ? end : end - to - 1);
    const bool next = parameters.find("rel=\"next\"") != std::string_view::npos ||
                      parameters.find("rel=next") != std::string_view::npos;
    if (next) return std::string(link_header.substr(from + 1, to - from - 1));
    link_header = end == std::string_view::npos ? std::string_view() : link_header.substr(end);
  }
  return std::nullopt;
}

std::string host_of(const std::string& url) {
  const Url parsed(curl_url());
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return "an unknown host";
  const std::string origin = origin_of(parsed);
  return origin.substr(origin.find("://") + 3);
}

Result<Hop> follow(const std::string& from, const std::string& location) {
  if (location.empty() || location.size() > kMostOfAUrl) return refused("has no usable address");
  const Url url(curl_url());
  if (curl_url_set(url.get(), CURLUPART_URL, from.c_str(), 0) != CURLUE_OK) return refused("starts nowhere");
  const std::string old_origin = origin_of(url), old_scheme = part(url, CURLUPART_SCHEME);
  if (curl_url_set(url.get(), CURLUPART_URL, location.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) {
    return refused("has no usable address");
  }
  const std::string scheme = part(url, CURLUPART_SCHEME);
  if (scheme != "https" && scheme != "http") return refused("leads to " + sample_of(scheme) + ", which is not the web");
  if (old_scheme == "https" && scheme == "http") return refused("leads from https to http");
  if (!part(url, CURLUPART_USER).empty()) return refused("has a user's name in it");
  return Hop{part(url, CURLUPART_URL), origin_of(url) == old_origin};
}

void read_linked(const CurlAnswer& answer, Linked& linked) {
  if (const std::string commit = answer.header("x-repo-commit"); !commit.empty()) linked.commit = commit;
  if (const std::string etag = answer.header("x-linked-etag"); !etag.empty()) linked.etag = bare_etag(etag);
  if (const auto size = number(answer.header("x-linked-size"))) linked.size = size;
}

Status check_linked(const Linked& linked, const HubRange& range) {
  const auto wrong = [&range](const std::string& what) {
    return fail(Code::protocol, "the hub answers for another file than it listed as " + range.file.path + ": " + what);
  };
  if (!linked.commit.empty() && linked.commit != range.revision) return wrong("its commit is " + sample_of(linked.commit));
  if (linked.size && *linked.size != range.file.size) {
    return wrong(fmt::format("it has {} bytes, not {}", *linked.size, range.file.size));
  }
  if (linked.etag.empty() || range.file.sha256.empty() || linked.etag == range.file.sha256) return {};
  return wrong("its SHA-256 is " + sample_of(linked.etag));
}

Status check_part(const CurlAnswer& answer, const HubRange& range) {
  const std::string& file = range.file.path;
  if (answer.status == 200) {
    return fail(Code::protocol, "the hub sends the whole of " + file + " instead of a part",
                range.version.empty() ? "the hub, or a proxy on the way, does not know byte ranges" : "its file changed");
  }
  if (answer.status == 416) return fail(Code::protocol, "the hub's " + file + " is shorter than it was listed");
  const std::string expected =
      fmt::format("bytes {}-{}/{}", range.offset, range.offset + range.length - 1, range.file.size);
  const std::string got = answer.header("content-range");
  if (answer.status != 206 || got != expected) {
    return fail(Code::protocol, fmt::format("the hub sends \"{}\" of {}, not \"{}\"", sample_of(got), file, expected));
  }
  const std::string encoding = answer.header("content-encoding");
  if (!encoding.empty() && encoding != "identity") return fail(Code::protocol, "the hub sends " + file + " encoded");
  if (answer.cut) return fail(Code::protocol, "the hub sends more of " + file + " than it was asked for");
  return {};
}

std::string version_of(const CurlAnswer& answer) {
  const std::string etag = answer.header("etag");
  return etag.starts_with('"') ? etag : std::string();
}

std::string sample_of(std::string_view body) {
  std::string out;
  for (const char c : body.substr(0, kMostOfASample)) out += c >= 0x20 && c < 0x7F ? c : ' ';
  return out;
}

}  // namespace k3d::adapters
