// k3ctl chat TEXT: one question to the running model through the proxy, the answer as it is written.
#include <fmt/format.h>

#include <istream>
#include <iterator>
#include <ostream>

#include "api/client/address.hpp"
#include "api/client/sse.hpp"
#include "api/k3ctl/chat_stream.hpp"
#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/present.hpp"
#include "api/k3ctl/safe_text.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {
namespace {

/// Until the answer's head: the proxy may hold a request for minutes while a model loads.
constexpr milliseconds kHeadDeadline{3'600'000};
constexpr std::size_t kReadBytes = 16 * kKiB;
constexpr Bytes kMaxRefusal = kMiB;

std::string request_json(const ChatCommand& command, const std::string& text) {
  Json message = Json::object();
  message["role"] = "user";
  message["content"] = text;
  Json out = Json::object();
  if (!command.model.empty()) out["model"] = command.model;
  out["messages"] = Json::array();
  out["messages"].push_back(std::move(message));
  out["stream"] = true;
  if (command.max_tokens) out["max_tokens"] = *command.max_tokens;
  return dump_json(out);
}

/// Prints deltas: the answer on standard output; thoughts dimmed on a terminal, else on standard error.
class AnswerPrinter {
 public:
  explicit AnswerPrinter(Session& session) : session_(session) {}

  void take(const api::SseEvent& event) {
    const ChatDelta delta = chat_delta(event.data);
    finished_ = finished_ || delta.finished;
    if (!delta.error.empty()) error_ = delta.error;
    if (delta.tokens) tokens_ = delta.tokens;
    if (delta.tokens_per_second) speed_ = delta.tokens_per_second;
    if (session_.json) {
      session_.out << event.data << '\n' << std::flush;
      return;
    }
    if (!delta.thought.empty()) print_thought(delta.thought);
    if (!delta.text.empty()) print_text(delta.text);
  }

  /// The last words, and the exit status.
  int finish() {
    end_thoughts();
    if (wrote_ && !session_.json) session_.out << '\n';
    session_.out.flush();
    if (!error_.empty()) {
      session_.err << "k3ctl: " << safe_text(error_) << std::endl;
      return kRefused;
    }
    if (!finished_) {
      session_.err << "k3ctl: the answer broke off before its end; see `k3ctl status`" << std::endl;
      return kRefused;
    }
    if (session_.terminal.live && tokens_ && speed_ && !session_.json) {
      session_.err << fmt::format("{:.0f} tokens, {:.1f} tokens/s", *tokens_, *speed_) << std::endl;
    }
    return kDone;
  }
  /// Whether nothing of interest can come any more.
  [[nodiscard]] bool ended() const { return !error_.empty(); }

 private:
  void print_thought(const std::string& thought) {
    std::ostream& to = session_.terminal.live ? session_.out : session_.err;
    if (!thinking_ && session_.terminal.live) to << "\x1b[2m";
    thinking_ = true;
    to << safe_text(thought, Lines::many) << std::flush;
  }
  void print_text(const std::string& text) {
    end_thoughts();
    wrote_ = true;
    session_.out << safe_text(text, Lines::many) << std::flush;
  }
  void end_thoughts() {
    if (!thinking_) return;
    thinking_ = false;
    if (session_.terminal.live) {
      session_.out << "\x1b[0m\n\n" << std::flush;
    } else {
      session_.err << '\n' << std::flush;
    }
  }

  Session& session_;
  bool thinking_ = false, wrote_ = false, finished_ = false;
  std::string error_;
  std::optional<double> tokens_, speed_;
};

/// An address, or the exit status of what has been said already.
struct Found {
  std::string url;
  int status = kDone;
};

std::vector<std::string> listen_of(const Json& status) {
  std::vector<std::string> out;
  const Json& addresses = json_member(json_member(status, "proxy"), "listen");
  if (!addresses.is_array()) return out;
  for (const Json& address : addresses) {
    if (address.is_string()) out.push_back(address.get<std::string>());
  }
  return out;
}

/// The proxy's address: as given, else as the daemon says.
Task<Found> find_proxy(Session& session, std::string given) {
  Found found;
  found.url = std::move(given);
  if (!found.url.empty()) co_return found;
  Result<api::Answer> answer = co_await session.client.get("/api/v1/status");
  if (!answer) found.status = report_unreachable(session, answer.error());
  if (answer && !answer->ok()) found.status = report_refusal(session, *answer);
  if (found.status != kDone) co_return found;
  const Result<Json> status = parse_json(answer->body);
  if (!status) {
    found.status = report_nonsense(session, status.error());
    co_return found;
  }
  const http::Endpoint& daemon = session.client.endpoint();
  const auto url = proxy_url(listen_of(*status), daemon.unix_path.empty() ? daemon.host : std::string());
  if (url) {
    found.url = *url;
    co_return found;
  }
  session.err << "k3ctl: "
              << error_text("the daemon's proxy has no address that can be reached from here", "",
                            "give it with --proxy http://host:port, or set proxy.listen")
              << std::endl;
  found.status = kRefused;
  co_return found;
}

int report_proxy_unreachable(Session& session, const http::Endpoint& proxy, const Error& error) {
  if (error.code == Code::cancelled) return kInterrupted;
  session.err << error_text("the proxy does not answer at " + proxy.describe(),
                            error.cause.empty() ? error.message : error.cause,
                            "see its addresses with `k3ctl status`, or start k3d with `systemctl start k3d`")
              << std::endl;
  return kUnreachable;
}

Task<int> stream_answer(Session& session, http::ResponseStream& stream) {
  AnswerPrinter printer(session);
  api::SseParser parser;
  std::vector<char> buffer(kReadBytes);
  while (!printer.ended()) {
    const Result<std::size_t> n = co_await stream.read_some(buffer);
    if (!n && n.error().code == Code::cancelled) co_return kInterrupted;
    // Broken off or ended: the printer knows whether the answer was complete.
    if (!n || *n == 0) break;
    if (!parser.feed(std::string_view(buffer.data(), *n))) break;
    while (const std::optional<api::SseEvent> event = parser.next()) printer.take(*event);
  }
  co_return printer.finish();
}

Task<int> ask(Session& session, http::Endpoint proxy, http::Request request) {
  http::Client client(proxy);
  Result<std::unique_ptr<http::ResponseStream>> stream = co_await client.open(std::move(request), kHeadDeadline);
  if (!stream) co_return report_proxy_unreachable(session, proxy, stream.error());
  const unsigned status = (*stream)->head().status;
  if (status == 200) co_return co_await stream_answer(session, **stream);
  const Result<std::string> body = co_await (*stream)->read_all(kMaxRefusal);
  if (session.json && body) print_raw(session, *body);
  session.err << "k3ctl: " << safe_text(chat_error(status, body ? *body : std::string())) << std::endl;
  co_return kRefused;
}

}  // namespace

Task<int> run_chat(Session& session, ChatCommand command) {
  std::string text = command.text;
  if (text == "-") text = std::string(std::istreambuf_iterator<char>(session.in), {});
  const Result<Secret> key = api::resolve_token(command.key_file, session.api_key);
  if (!key) {
    session.err << "k3ctl: " << error_text(key.error()) << std::endl;
    co_return kUsage;
  }
  const Found found = co_await find_proxy(session, command.proxy);
  if (found.status != kDone) co_return found.status;
  Result<http::Endpoint> proxy = http::Endpoint::parse(found.url);
  if (!proxy) {
    session.err << "k3ctl: " << error_text(proxy.error()) << std::endl;
    co_return kUsage;
  }
  http::Request request;
  request.method = "POST";
  request.target = "/v1/chat/completions";
  request.content_type = "application/json";
  request.body = request_json(command, text);
  if (!key->empty()) request.headers.emplace_back("Authorization", "Bearer " + key->reveal());
  co_return co_await ask(session, std::move(*proxy), std::move(request));
}

}  // namespace k3d::cli
