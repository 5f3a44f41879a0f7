// The exchange on Asio and Beast: connect, TLS, request, response, deadlines. Addresses are read here too.
// Keeps no connection: each call has one of its own, so that no call waits for another or inherits its state.
#include "daemon/base/http_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include "daemon/base/async/sleep.hpp"

namespace k3d::http {
namespace {

namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using Socket = asio::generic::stream_protocol::socket;
using ErrorCode = boost::system::error_code;

constexpr std::size_t kBufferBytes = 64 * kKiB;

Error unreachable(const Endpoint& endpoint, const std::string& cause) {
  return {Code::unreachable, "can't connect to " + endpoint.describe(), {}, cause};
}

Error broken(const Endpoint& endpoint, const std::string& cause) {
  return {Code::protocol, "the exchange with " + endpoint.describe() + " broke off", {}, cause};
}

Error of_read(const Endpoint& endpoint, const ErrorCode& ec) {
  if (ec == asio::error::operation_aborted || ec == asio::error::bad_descriptor) {
    return {Code::cancelled, "the exchange with " + endpoint.describe() + " was ended", {}, {}};
  }
  if (ec == bhttp::error::body_limit) return {Code::body_too_large, "the answer is larger than allowed", {}, {}};
  return broken(endpoint, ec.message());
}

Task<Result<Socket>> connect_unix(Endpoint endpoint) {
  Socket socket(co_await asio::this_coro::executor);
  if (endpoint.unix_path.size() >= sizeof(sockaddr_un::sun_path)) {
    co_return fail(unreachable(endpoint, "the path is too long for a unix socket"));
  }
  const asio::local::stream_protocol::endpoint address(endpoint.unix_path);
  const auto [ec] = co_await socket.async_connect(address, tok);
  if (ec) co_return fail(unreachable(endpoint, ec.message()));
  co_return socket;
}

Task<Result<Socket>> connect_tcp(Endpoint endpoint) {
  const auto executor = co_await asio::this_coro::executor;
  asio::ip::tcp::resolver resolver(executor);
  auto [resolve_ec, addresses] = co_await resolver.async_resolve(endpoint.host, std::to_string(endpoint.port), tok);
  if (resolve_ec) co_return fail(unreachable(endpoint, resolve_ec.message()));
  asio::ip::tcp::socket socket(executor);
  auto [ec, chosen] = co_await asio::async_connect(socket, addresses, tok);
  if (ec) co_return fail(unreachable(endpoint, ec.message()));
  ErrorCode ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  co_return Socket(std::move(socket));
}

Task<Result<Socket>> connect(Endpoint endpoint) {
  if (!endpoint.unix_path.empty()) co_return co_await connect_unix(std::move(endpoint));
  co_return co_await connect_tcp(std::move(endpoint));
}

/// The trust and the client certificate of an endpoint; an unreadable file is an error that names it.
Result<asio::ssl::context> tls_context(const Tls& tls) {
  asio::ssl::context context(asio::ssl::context::tls_client);
  context.set_verify_mode(asio::ssl::verify_peer);
  ErrorCode ec;
  const auto check = [&ec](const std::string& file) -> Status {
    if (!ec) return {};
    return fail(Code::config_invalid, "can't use " + file + " for TLS", "it must be a readable PEM file", ec.message());
  };
  if (tls.ca.empty()) context.set_default_verify_paths(ec);
  if (!tls.ca.empty()) context.load_verify_file(tls.ca, ec);
  if (Status ok = check(tls.ca); !ok) return fail(ok.error());
  if (!tls.cert.empty()) context.use_certificate_chain_file(tls.cert, ec);
  if (Status ok = check(tls.cert); !ok) return fail(ok.error());
  if (!tls.key.empty()) context.use_private_key_file(tls.key, asio::ssl::context::pem, ec);
  if (Status ok = check(tls.key); !ok) return fail(ok.error());
  return context;
}

/// One connection with a response on it; Stream is the plain socket or TLS over it.
template <class Stream>
class Exchange : public ResponseStream {
 public:
  template <class... Arguments>
  explicit Exchange(Endpoint endpoint, Arguments&&... arguments)
      : endpoint_(std::move(endpoint)), stream_(std::forward<Arguments>(arguments)...), buffer_(kBufferBytes * 4) {
    buffer_.reserve(kBufferBytes);
    parser_.body_limit(boost::none);
    parser_.header_limit(static_cast<std::uint32_t>(kBufferBytes));
    parser_.eager(false);
  }

  Stream& stream() { return stream_; }

  Task<Status> send(Request request) {
    bhttp::request<bhttp::string_body> message(bhttp::string_to_verb(request.method), request.target, 11);
    if (message.method() == bhttp::verb::unknown) message.method_string(request.method);
    message.set(bhttp::field::host, host_field());
    message.set(bhttp::field::connection, "close");
    for (const auto& [name, value] : request.headers) message.set(name, value);
    if (!request.content_type.empty()) message.set(bhttp::field::content_type, request.content_type);
    message.body() = std::move(request.body);
    if (!message.body().empty() || request.method == "POST" || request.method == "PUT") message.prepare_payload();
    parser_.skip(request.method == "HEAD");
    const auto [write_ec, written] = co_await bhttp::async_write(stream_, message, tok);
    // A server that answers and closes before it has read everything still gets its answer read.
    if (write_ec == asio::error::operation_aborted) co_return fail(of_read(endpoint_, write_ec));
    const auto [ec, n] = co_await bhttp::async_read_header(stream_, buffer_, parser_, tok);
    if (ec) co_return fail(of_read(endpoint_, write_ec ? write_ec : ec));
    head_.status = parser_.get().result_int();
    for (const auto& field : parser_.get()) head_.headers.emplace_back(field.name_string(), field.value());
    co_return Status{};
  }

  [[nodiscard]] const Response& head() const override { return head_; }

  Task<Result<std::size_t>> read_some(std::span<char> space) override {
    while (!parser_.is_done()) {
      parser_.get().body().data = space.data();
      parser_.get().body().size = space.size();
      const auto [ec, n] = co_await bhttp::async_read_some(stream_, buffer_, parser_, tok);
      const std::size_t got = space.size() - parser_.get().body().size;
      if (ec && ec != bhttp::error::need_buffer) co_return fail(of_read(endpoint_, ec));
      if (got > 0) co_return got;
    }
    co_return std::size_t{0};
  }

  Task<Result<std::string>> read_all(Bytes limit) override {
    std::string body;
    std::vector<char> piece(kBufferBytes);
    for (;;) {
      const auto n = co_await read_some(piece);
      if (!n) co_return fail(n.error());
      if (*n == 0) co_return body;
      if (body.size() + *n > limit) {
        co_return fail(Code::body_too_large,
                       "the answer of " + endpoint_.describe() + " is larger than " + format_bytes(limit));
      }
      body.append(piece.data(), *n);
    }
  }

  void close() override {
    ErrorCode ignored;
    beast::get_lowest_layer(stream_).close(ignored);
  }

 private:
  [[nodiscard]] std::string host_field() const {
    if (!endpoint_.unix_path.empty()) return endpoint_.host;
    const bool ipv6 = endpoint_.host.find(':') != std::string::npos;
    return fmt::format("{}{}{}:{}", ipv6 ? "[" : "", endpoint_.host, ipv6 ? "]" : "", endpoint_.port);
  }

  Endpoint endpoint_;
  Stream stream_;
  beast::flat_buffer buffer_;
  bhttp::response_parser<bhttp::buffer_body> parser_;
  Response head_;
};

using PlainExchange = Exchange<Socket>;

/// Keeps the context alive as long as the stream that uses it.
class TlsExchange : public Exchange<asio::ssl::stream<Socket>> {
 public:
  TlsExchange(Endpoint endpoint, Socket socket, std::shared_ptr<asio::ssl::context> context)
      : Exchange(std::move(endpoint), std::move(socket), *context), context_(std::move(context)) {}

 private:
  std::shared_ptr<asio::ssl::context> context_;
};

using StreamPtr = std::unique_ptr<ResponseStream>;

Task<Result<StreamPtr>> open_tls(Endpoint endpoint, Socket socket, Request request) {
  auto made = tls_context(*endpoint.tls);
  if (!made) co_return fail(made.error());
  auto context = std::make_shared<asio::ssl::context>(std::move(*made));
  auto exchange = std::make_unique<TlsExchange>(endpoint, std::move(socket), std::move(context));
  // A server name is a name: RFC 6066 (3) allows no address there.
  ErrorCode not_an_address;
  asio::ip::make_address(endpoint.host, not_an_address);
  if (not_an_address) SSL_set_tlsext_host_name(exchange->stream().native_handle(), endpoint.host.c_str());
  exchange->stream().set_verify_callback(asio::ssl::host_name_verification(endpoint.host));
  const auto [ec] = co_await exchange->stream().async_handshake(asio::ssl::stream_base::client, tok);
  if (ec) co_return fail(unreachable(endpoint, "TLS: " + ec.message()));
  if (Status sent = co_await exchange->send(std::move(request)); !sent) co_return fail(sent.error());
  co_return StreamPtr(std::move(exchange));
}

Task<Result<StreamPtr>> open_exchange(Endpoint endpoint, Request request) {
  Result<Socket> socket = co_await connect(endpoint);
  if (!socket) co_return fail(socket.error());
  if (endpoint.tls) co_return co_await open_tls(std::move(endpoint), std::move(*socket), std::move(request));
  auto exchange = std::make_unique<PlainExchange>(endpoint, std::move(*socket));
  if (Status sent = co_await exchange->send(std::move(request)); !sent) co_return fail(sent.error());
  co_return StreamPtr(std::move(exchange));
}

Task<Result<Response>> call_exchange(Endpoint endpoint, Request request, Bytes max_body) {
  Result<StreamPtr> stream = co_await open_exchange(std::move(endpoint), std::move(request));
  if (!stream) co_return fail(stream.error());
  Result<std::string> body = co_await (*stream)->read_all(max_body);
  if (!body) co_return fail(body.error());
  Response response = (*stream)->head();
  response.body = std::move(*body);
  co_return response;
}

std::string describe_call(const Request& request, const Endpoint& endpoint) {
  return request.method + " " + request.target.substr(0, request.target.find('?')) + " at " + endpoint.describe();
}

}  // namespace

Result<Endpoint> Endpoint::parse(std::string_view text) {
  Endpoint endpoint;
  if (text.starts_with("unix:")) {
    std::string_view path = text.substr(5);
    if (path.starts_with("//")) path.remove_prefix(2);
    if (!path.starts_with('/')) return fail(Code::invalid_request, "a unix socket needs an absolute path: " + std::string(text));
    endpoint.unix_path = path;
    return endpoint;
  }
  const auto url = boost::urls::parse_uri(text);
  const bool known = url && (url->scheme() == "http" || url->scheme() == "tcp" || url->scheme() == "https");
  if (!known || url->host().empty()) {
    return fail(Code::invalid_request, "\"" + std::string(text) + "\" is not an address",
                "write unix:/path, http://host:port, tcp://host:port or https://host:port");
  }
  endpoint.host = url->host_type() == boost::urls::host_type::ipv6 ? url->host_address() : url->host();
  const bool tls = url->scheme() == "https";
  endpoint.port = url->port_number() != 0 ? url->port_number() : tls ? 443 : 80;
  if (tls) endpoint.tls = Tls{};
  return endpoint;
}

std::string Endpoint::describe() const {
  return unix_path.empty() ? host + ":" + std::to_string(port) : unix_path;
}

std::string Response::header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [name](const auto& header) { return beast::iequals(header.first, name); });
  return found == headers.end() ? std::string() : found->second;
}

Task<Result<Response>> Client::call(Request request, milliseconds deadline, Bytes max_body) const {
  std::string what = describe_call(request, endpoint_);
  auto exchange = call_exchange(endpoint_, std::move(request), max_body);
  co_return co_await with_deadline<Response>(std::move(exchange), deadline, std::move(what));
}

Task<Result<std::unique_ptr<ResponseStream>>> Client::open(Request request, milliseconds deadline) const {
  std::string what = describe_call(request, endpoint_);
  auto exchange = open_exchange(endpoint_, std::move(request));
  co_return co_await with_deadline<StreamPtr>(std::move(exchange), deadline, std::move(what));
}

std::string url_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                            c == '.' || c == '_' || c == '~';
    out += unreserved ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace k3d::http
