#include "daemon/adapters/curl_transfer.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <cstdlib>
#include <new>

namespace k3d::adapters {
namespace {

namespace ip = boost::asio::ip;

constexpr Bytes kMostHeaders = 64 * kKiB;
constexpr Bytes kMostOfARefusal = 2 * kKiB;  // of its body: enough to tell what it says

struct ListFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
struct EasyFree {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};

bool is_private_v4(const ip::address_v4& v4) {
  const auto bytes = v4.to_bytes();
  const auto first = bytes[0], second = bytes[1];
  return first == 0 || first == 10 || first == 127 || (first == 169 && second == 254) || (first == 192 && second == 168) ||
         (first == 172 && (second & 0xF0) == 16) || (first == 100 && (second & 0xC0) == 64) || first >= 224;
}

/// libcurl of Debian 12 doesn't tell whether one was used.
bool proxies_are_set() {
  constexpr std::array kNames{"https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"};
  return std::ranges::any_of(kNames, [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
  });
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::string_view trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

}  // namespace

bool is_private_address(const std::string& address) {
  boost::system::error_code ec;
  const ip::address parsed = ip::make_address(address, ec);
  if (ec) return true;
  if (parsed.is_v4()) return is_private_v4(parsed.to_v4());
  const ip::address_v6 v6 = parsed.to_v6();
  if (v6.is_v4_mapped()) return is_private_v4(ip::make_address_v4(ip::v4_mapped, v6));
  const bool unique_local = (v6.to_bytes()[0] & 0xFE) == 0xFC;
  return v6.is_loopback() || v6.is_link_local() || v6.is_unspecified() || v6.is_multicast() || unique_local;
}

std::string CurlAnswer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

struct CurlTransfer::State {
  CurlRequest request;
  CurlAnswer answer;
  std::unique_ptr<CURL, EasyFree> easy;
  std::unique_ptr<curl_slist, ListFree> headers;
  std::array<char, CURL_ERROR_SIZE> words{};
  Bytes header_bytes = 0;

  void set_headers();
  void set_url();
  void set_limits(const CurlOptions& options);
  void set_callbacks();

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static int on_connected(void* self, char* server, char* ours, int port, int our_port);

  bool take_header(std::string_view line);
  bool take_body(std::string_view piece);
};

void CurlTransfer::State::set_headers() {
  std::vector<std::string> lines = request.headers;
  if (!request.bearer.empty()) lines.push_back("Authorization: Bearer " + request.bearer.reveal());
  for (const std::string& line : lines) {
    curl_slist* longer = curl_slist_append(headers.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    headers.release();
    headers.reset(longer);
  }
  curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, headers.get());
  // A proxy on the way is told where to connect, and nothing that is meant for the server.
  curl_easy_setopt(easy.get(), CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));
}

void CurlTransfer::State::set_url() {
  curl_easy_setopt(easy.get(), CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy.get(), CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy.get(), CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  if (!request.range) return;
  const std::string range =
      fmt::format("{}-{}", request.range->offset, request.range->offset + request.range->length - 1);
  curl_easy_setopt(easy.get(), CURLOPT_RANGE, range.c_str());
}

void CurlTransfer::State::set_limits(const CurlOptions& options) {
  curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_QUICK_EXIT, 1L);  // a name look-up that hangs doesn't hold up the end
  curl_easy_setopt(easy.get(), CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_limit.count()));
  curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(request.limit.count()));
  curl_easy_setopt(easy.get(), CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_limit.count()));
  curl_easy_setopt(easy.get(), CURLOPT_USERAGENT, options.agent.c_str());
  if (options.ca_file.empty()) return;
  // It takes the place of the system's file; the system's folder of the same authorities stays.
  curl_easy_setopt(easy.get(), CURLOPT_CAINFO, options.ca_file.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_CAPATH, "/etc/ssl/certs");
}

void CurlTransfer::State::set_callbacks() {
  curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, words.data());
  curl_easy_setopt(easy.get(), CURLOPT_HEADERFUNCTION, &State::on_header);
  curl_easy_setopt(easy.get(), CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, &State::on_body);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy.get(), CURLOPT_PREREQFUNCTION, &State::on_connected);
  curl_easy_setopt(easy.get(), CURLOPT_PREREQDATA, this);
  // What a proxy answers to CONNECT is not the server's.
  curl_easy_setopt(easy.get(), CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
}

std::size_t CurlTransfer::State::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  return static_cast<State*>(self)->take_header({data, size * count}) ? size * count : 0;
}

std::size_t CurlTransfer::State::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  return static_cast<State*>(self)->take_body({data, size * count}) ? size * count : 0;
}

int CurlTransfer::State::on_connected(void* self, char* server, char* /*ours*/, int /*port*/, int /*our_port*/) {
  State& state = *static_cast<State*>(self);
  state.answer.address = server;
  if (!state.request.public_only || !is_private_address(server)) return CURL_PREREQFUNC_OK;
  state.answer.refused_here = true;
  return CURL_PREREQFUNC_ABORT;
}

bool CurlTransfer::State::take_header(std::string_view line) {
  header_bytes += line.size();
  if (header_bytes > kMostHeaders) return false;
  if (line.starts_with("HTTP/")) answer.headers.clear();  // what came before was "100 Continue" or the like
  const auto colon = line.find(':');
  if (colon != std::string_view::npos) {
    answer.headers[lower(trimmed(line.substr(0, colon)))] = std::string(trimmed(line.substr(colon + 1)));
  }
  return true;
}

bool CurlTransfer::State::take_body(std::string_view piece) {
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  // Whoever ignores the range would send the whole file.
  const bool wanted = status / 100 == 2 && (!request.range || status == 206);
  const Bytes limit = wanted ? request.body_limit : std::min(request.body_limit, kMostOfARefusal);
  const Bytes room = limit - answer.body.size();
  answer.body.append(piece.substr(0, room));
  answer.cut = piece.size() > room;
  return !answer.cut;
}

CurlTransfer::CurlTransfer(CurlRequest request, const CurlOptions& options) : state_(std::make_unique<State>()) {
  state_->request = std::move(request);
  state_->easy.reset(curl_easy_init());
  if (!state_->easy) throw std::bad_alloc();
  curl_easy_setopt(handle(), CURLOPT_PRIVATE, this);
  state_->set_headers();
  state_->set_url();
  state_->set_limits(options);
  state_->set_callbacks();
}

CurlTransfer::~CurlTransfer() = default;

void* CurlTransfer::handle() const { return state_->easy.get(); }

CurlAnswer CurlTransfer::finish(int code) {
  CurlAnswer& answer = state_->answer;
  long status = 0;
  curl_easy_getinfo(handle(), CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  answer.proxied = proxies_are_set();
  const bool cut_by_us = code == CURLE_WRITE_ERROR && answer.cut;
  if (code != CURLE_OK && !cut_by_us) {
    answer.trouble = state_->words[0] != '\0' ? state_->words.data() : curl_easy_strerror(static_cast<CURLcode>(code));
  }
  if (answer.refused_here) answer.trouble = "the server is at the private address " + answer.address;
  constexpr std::array kLasting{CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL, CURLE_SSL_CACERT_BADFILE,
                                CURLE_PEER_FAILED_VERIFICATION};
  answer.refused_here |= std::ranges::find(kLasting, static_cast<CURLcode>(code)) != kLasting.end();
  return std::move(answer);
}

}  // namespace k3d::adapters
