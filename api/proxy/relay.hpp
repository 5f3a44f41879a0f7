// One request on its way to the engine and back: both directions streamed with bounded memory, each piece sent on as
// it comes, the client watched from the head's end to the answer's end.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/request_head.hpp"
#include "api/proxy/request_body.hpp"
#include "api/proxy/upstream_head.hpp"
#include "api/proxy/worker.hpp"

namespace k3d::proxy {

class Relay {
 public:
  Relay(Worker& worker, asio::ip::tcp::socket& client_socket, Worker::Watch& watch, std::string& pending, Client client)
      : worker_(worker), socket_(client_socket), watch_(watch), pending_(pending), client_(std::move(client)) {}

  /// `window` is the part of the body that was read already. False when the client's connection is over.
  Task<bool> run(const api::RequestHead& head, RequestBody& body, std::string window, EngineAddress engine,
                 Flight& flight);

 private:
  enum class Outcome { done, failed_before_head, broken };

  Task<Outcome> exchange(const api::RequestHead& head, RequestBody& body, std::string first, UpstreamPtr upstream);
  Task<void> client_side(std::string first, RequestBody& body, bool chunked, UpstreamPtr upstream);
  Task<void> upload(std::string first, RequestBody& body, bool chunked, UpstreamPtr upstream);
  Task<Outcome> download(const api::RequestHead& head, const RequestBody& body, UpstreamPtr upstream);
  Task<Result<UpstreamHead>> read_upstream_head(bool head_request, UpstreamPtr upstream);
  Task<Outcome> deliver(UpstreamHead head, UpstreamPtr upstream, std::string out);
  [[nodiscard]] bool may_ask_again(const api::RequestHead& head, const Flight& flight, bool reused) const;
  Error what_failed(const Flight& flight) const;
  void client_left(const UpstreamPtr& upstream);
  Task<bool> write_client(std::string_view bytes);
  Task<bool> refuse(Error error, bool head_only);

  Worker& worker_;
  asio::ip::tcp::socket& socket_;
  Worker::Watch& watch_;
  std::string& pending_;
  Client client_;
  std::string received_;  ///< from the engine, not yet passed on
  Delivery delivery_ = Delivery::none;
  bool ending_ = false;  ///< the answer is over: the client's side must not wait on
  bool client_gone_ = false;
  bool sent_any_ = false;    ///< some byte of the request has reached the engine's socket
  bool got_any_ = false;     ///< some byte of an answer has come
  bool body_begun_ = false;  ///< more of the body was read than can be sent again
  bool uploaded_ = false;    ///< the whole request has reached the engine's socket
  std::optional<Error> error_;
  bool keep_alive_ = true;  ///< of the client's connection
  bool upstream_reusable_ = false;
};

}  // namespace k3d::proxy
