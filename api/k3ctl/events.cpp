// k3ctl events: the daemon's Server-Sent Events as lines, through one restart of the daemon.
#include <ostream>

#include "api/client/sse.hpp"
#include "api/contract/operation.hpp"
#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/present.hpp"
#include "api/k3ctl/progress.hpp"
#include "api/k3ctl/safe_text.hpp"
#include "api/k3ctl/status_view.hpp"
#include "daemon/base/async/sleep.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {
namespace {

constexpr milliseconds kRetryPause{500};
constexpr std::size_t kReadBytes = 64 * kKiB;

std::string raw_line(const api::SseEvent& event) {
  Json out = Json::object();
  out["event"] = event.event;
  out["id"] = event.id;
  Result<Json> data = parse_json(event.data);
  out["data"] = data ? std::move(*data) : Json(event.data);
  return dump_json(out);
}

/// What the event says to a person.
std::string words_of(const api::SseEvent& event) {
  const Result<Json> data = parse_json(event.data);
  if (!data) return safe_text(event.data);
  if (event.event == "status") return status_line(*data);
  if (event.event == "log") return safe_text(json_text(*data, "line"));
  const Result<Operation> operation = api::operation_from_object(*data);
  if (event.event != "operation" || !operation) return safe_text(event.data);
  std::string out = safe_text(operation->id.value) + " " + operation_title(*operation) + ", " +
                    std::string(to_string(operation->state));
  return operation->ended() ? out : out + ": " + progress_line(*operation, 100);
}

/// Prints one connection's events until it ends; says whether any came.
Task<Result<bool>> print_events(Session& session, http::ResponseStream& stream) {
  api::SseParser parser;
  std::vector<char> buffer(kReadBytes);
  std::string last;
  bool any = false;
  for (;;) {
    const Result<std::size_t> n = co_await stream.read_some(buffer);
    if (!n) co_return fail(n.error());
    if (*n == 0) co_return any;
    if (Status fed = parser.feed(std::string_view(buffer.data(), *n)); !fed) co_return fail(fed.error());
    while (const std::optional<api::SseEvent> event = parser.next()) {
      any = true;
      const std::string words = session.json ? raw_line(*event) : event->event + "  " + words_of(*event);
      // Figures move every second without changing what there is to say.
      if (!session.json && words == last) continue;
      last = words;
      if (!session.json) session.out << local_time(std::chrono::system_clock::now()) << "  ";
      session.out << words << std::endl;
    }
  }
}

}  // namespace

Task<int> run_events(Session& session, EventsCommand) {
  std::optional<SteadyTime> away_since;
  for (;;) {
    Error lost{Code::unreachable, "the daemon ended the stream", {}, {}};
    Result<api::StreamAnswer> answer = co_await session.client.open("/api/v1/events", "text/event-stream");
    if (answer && !answer->stream) co_return report_refusal(session, answer->refusal);
    if (answer) {
      away_since.reset();
      const Result<bool> printed = co_await print_events(session, *answer->stream);
      if (!printed) lost = printed.error();
    } else {
      lost = answer.error();
      // The very first try: nothing was there to be lost.
      if (!away_since) co_return report_unreachable(session, lost);
    }
    if (lost.code == Code::cancelled) co_return kInterrupted;
    const SteadyTime now = std::chrono::steady_clock::now();
    if (!away_since) {
      away_since = now;
      session.err << "the stream ended; connecting again" << std::endl;
    }
    if (now - *away_since >= session.patience) co_return report_unreachable(session, lost);
    if (!co_await sleep_for(kRetryPause)) co_return kInterrupted;
  }
}

}  // namespace k3d::cli
