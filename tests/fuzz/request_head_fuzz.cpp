// Fuzzes what reads requests from strangers: the head's end, the strict gate, and the chunk scanner. Beside memory
// errors it looks for answers that differ by how the bytes arrive, and for accepted heads that hide something.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/http/chunked.hpp"
#include "api/http/request_head.hpp"

namespace {

using namespace k3d;

void require(bool holds) {
  if (!holds) std::abort();
}

/// The head's length when the bytes arrive `step` at a time; -1 if they are refused, 0 if it isn't whole.
long head_length(std::string_view bytes, std::size_t step) {
  api::HeadEnd end;
  for (std::size_t n = std::min(step, bytes.size());; n = std::min(n + step, bytes.size())) {
    const Result<std::size_t> found = end.find(bytes.substr(0, n));
    if (!found) return -1;
    if (*found > 0 || n == bytes.size()) return static_cast<long>(*found);
  }
}

void check_head(std::string_view raw) {
  const Result<api::RequestHead> head = api::parse_head(raw);
  if (!head) return;
  require(raw.find('\0') == std::string_view::npos);
  require(!(head->chunked && head->content_length));
  require(head->path.starts_with('/') && (head->path + "/").find("/../") == std::string::npos);
  require(head->path.find("//") == std::string::npos && head->path.find('\\') == std::string::npos);
  require(std::count_if(head->path.begin(), head->path.end(), [](char c) { return c >= 0 && c < 0x20; }) == 0);
  int hosts = 0;
  for (const auto& [name, value] : head->fields) {
    require(name.find_first_of(" \t\r\n:") == std::string::npos && !name.empty());
    require(value.find_first_of("\r\n") == std::string::npos);
    hosts += name.size() == 4 && (name[0] | 32) == 'h' && (name[1] | 32) == 'o' && (name[2] | 32) == 's' &&
             (name[3] | 32) == 't';
  }
  require(hosts <= 1 && (hosts == 1 || head->minor_version == 0));
  // What was accepted is read the same when it is written down again.
  std::string again = head->method + " " + head->target + " HTTP/1." + std::to_string(head->minor_version) + "\r\n";
  for (const auto& [name, value] : head->fields) again += name + ": " + value + "\r\n";
  again += "\r\n";
  if (again.size() > api::kHeadLimit) return;
  const Result<api::RequestHead> second = api::parse_head(again);
  require(second.has_value() && second->fields == head->fields && second->path == head->path);
}

struct Scanned {
  bool fine = true;
  std::size_t used = 0;
  std::string payload;
};

Scanned scan(std::string_view bytes, std::size_t step) {
  Scanned out;
  api::ChunkScanner scanner;
  while (out.used < bytes.size() && !scanner.done()) {
    const Result<std::size_t> used = scanner.consume(bytes.substr(out.used, step), out.payload);
    if (!used) return Scanned{false, 0, {}};
    out.used += *used;
  }
  return out;
}

void check_chunks(std::string_view body) {
  const Scanned whole = scan(body, body.size() + 1);
  const Scanned dripped = scan(body, 1);
  require(whole.fine == dripped.fine && whole.used == dripped.used && whole.payload == dripped.payload);
  require(whole.payload.size() <= body.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const long length = head_length(bytes, size + 1);
  require(length == head_length(bytes, 1));
  if (length > 0) {
    check_head(bytes.substr(0, static_cast<std::size_t>(length)));
    check_chunks(bytes.substr(static_cast<std::size_t>(length)));
  }
  check_head(bytes);
  check_chunks(bytes);
  api::query_value(bytes, "tail");
  return 0;
}
