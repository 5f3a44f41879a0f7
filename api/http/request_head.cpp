#include "api/http/request_head.hpp"

#include <algorithm>
#include <array>
#include <boost/beast/core/string.hpp>
#include <charconv>

#include "api/http/field_syntax.hpp"

namespace k3d::api {
namespace {

using boost::beast::iequals;

constexpr std::array<std::string_view, 7> kMethods{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"};
constexpr const char* kMethodList = "GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH";

std::unexpected<Error> bad(std::string message) {
  return fail(Code::invalid_request, std::move(message));
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_blank) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += plus_is_blank && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

/// The decoded path. What a later decoder or a file system could read as another path is refused.
Result<std::string> decode_path(std::string_view raw) {
  const auto path = percent_decode(raw, false);
  if (!path) return bad("the path has a broken percent escape");
  const auto escapes_to = [raw](std::string_view a, std::string_view b) {
    return raw.find(a) != std::string_view::npos || raw.find(b) != std::string_view::npos;
  };
  if (escapes_to("%2f", "%2F") || escapes_to("%5c", "%5C")) return bad("the path hides a slash");
  const bool control = std::any_of(path->begin(), path->end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\';
  });
  if (control || path->find("//") != std::string::npos) return bad("the path is ambiguous");
  if ((*path + "/").find("/../") != std::string::npos || (*path + "/").find("/./") != std::string::npos) {
    return bad("the path has dot segments");
  }
  return *path;
}

Status parse_target(RequestHead& head) {
  const std::string_view target = head.target;
  const bool clean = std::all_of(target.begin(), target.end(), [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7f && c != '#';
  });
  if (!clean || !target.starts_with('/')) return bad("the target must be a path that begins with a slash");
  const std::size_t mark = std::min(target.find('?'), target.size());
  Result<std::string> path = decode_path(target.substr(0, mark));
  if (!path) return fail(path.error());
  head.path = std::move(*path);
  if (mark < target.size()) head.query = target.substr(mark + 1);
  return {};
}

Status parse_request_line(std::string_view line, RequestHead& head) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || last == first) return bad("the request line is not METHOD TARGET VERSION");
  head.method = line.substr(0, first);
  head.target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return bad("the version must be HTTP/1.1 or HTTP/1.0");
  head.minor_version = version.back() - '0';
  if (!is_token(head.method)) return bad("the method is not a token");
  if (std::find(kMethods.begin(), kMethods.end(), head.method) == kMethods.end()) {
    return fail(Code::method_not_allowed, "the method " + head.method + " is not served", kMethodList);
  }
  return parse_target(head);
}

Status parse_field(std::string_view line, RequestHead& head) {
  const std::size_t colon = line.find(':');
  if (line.starts_with(' ') || line.starts_with('\t')) return bad("folded header lines are not served");
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
    return bad("a header line has no valid name");
  const std::string_view value = trim_blanks(line.substr(colon + 1));
  if (has_control_byte(value)) return bad("a header value has a control byte");
  // Allowed blanks, but some servers then see another coding than others.
  const bool framing = iequals(line.substr(0, colon), "Transfer-Encoding");
  if (framing && line.find('\t') != std::string_view::npos) return bad("a tab beside Transfer-Encoding");
  if (head.fields.size() == kFieldLimit) return fail(Code::head_too_large, "more than 100 header lines");
  head.fields.emplace_back(line.substr(0, colon), value);
  return {};
}

Status check_length(std::string_view value, RequestHead& head) {
  if (head.content_length) return bad("more than one Content-Length");
  const bool digits = !value.empty() && value.size() <= 19 &&
                      std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
  std::uint64_t number = 0;
  if (digits) std::from_chars(value.data(), value.data() + value.size(), number);
  if (!digits) return bad("Content-Length must be 1 to 19 digits");
  head.content_length = number;
  return {};
}

Status check_transfer_encoding(std::string_view value, RequestHead& head) {
  if (head.chunked || !iequals(value, "chunked")) return bad("Transfer-Encoding must be exactly chunked, once");
  if (head.minor_version == 0) return bad("Transfer-Encoding needs HTTP/1.1");
  head.chunked = true;
  return {};
}

/// Framing, connection and expectation: the fields that decide where the request ends.
Status interpret(RequestHead& head) {
  int hosts = 0;
  head.keep_alive = head.minor_version == 1;
  for (const auto& [name, value] : head.fields) {
    Status checked;
    if (iequals(name, "Host")) ++hosts;
    if (iequals(name, "Content-Length")) checked = check_length(value, head);
    if (iequals(name, "Transfer-Encoding")) checked = check_transfer_encoding(value, head);
    if (iequals(name, "Connection") && list_has(value, "close")) head.keep_alive = false;
    if (iequals(name, "Connection") && head.minor_version == 0 && list_has(value, "keep-alive")) head.keep_alive = true;
    if (iequals(name, "Expect")) {
      if (!iequals(value, "100-continue")) return fail(Code::invalid_request, "the only Expect served is 100-continue");
      head.expect_continue = head.minor_version == 1;
    }
    if (!checked) return checked;
  }
  if (hosts > 1 || (hosts == 0 && head.minor_version == 1)) return bad("exactly one Host is needed");
  if (head.chunked && head.content_length) return bad("Content-Length beside Transfer-Encoding");
  return {};
}

}  // namespace

std::string_view RequestHead::field(std::string_view name) const {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [name](const auto& f) { return iequals(f.first, name); });
  return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

Result<std::size_t> HeadEnd::find(std::string_view received) {
  for (; at_ < std::min(received.size(), kHeadLimit); ++at_) {
    const char c = received[at_];
    if (c == '\0') return bad("a NUL byte in the head");
    if (c != '\n') continue;
    // Whoever ends lines with LF alone never sends CR LF CR LF: refused at once instead of waited for.
    if (at_ == 0 || received[at_ - 1] != '\r') return bad("lines must end with CR LF");
    if (at_ >= 3 && received[at_ - 2] == '\n') return ++at_;
    if (at_ == 1) return bad("an empty line before the request");
  }
  if (received.size() >= kHeadLimit) return fail(Code::head_too_large, "the request head is over 64 KiB");
  return std::size_t{0};
}

Result<RequestHead> parse_head(std::string_view raw) {
  if (raw.size() > kHeadLimit) return fail(Code::head_too_large, "the request head is over 64 KiB");
  RequestHead head;
  bool first = true;
  while (!raw.empty()) {
    const std::size_t end = raw.find("\r\n");
    if (end == std::string_view::npos) return bad("lines must end with CR LF");
    const std::string_view line = raw.substr(0, end);
    raw.remove_prefix(end + 2);
    if (line.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) return bad("a bare CR, LF or NUL");
    if (line.empty() && !first && raw.empty()) break;
    if (line.empty()) return bad("an empty line inside the head");
    Status parsed = first ? parse_request_line(line, head) : parse_field(line, head);
    if (!parsed) return fail(parsed.error());
    first = false;
  }
  if (first) return bad("an empty request");
  if (Status ok = interpret(head); !ok) return fail(ok.error());
  return head;
}

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (percent_decode(pair.substr(0, equals), true) != std::string(name)) continue;
    return percent_decode(pair.substr(std::min(equals + 1, pair.size())), true);
  }
  return std::nullopt;
}

}  // namespace k3d::api
