// GET logs: the engine's lines, as plain text or as events, of the newest or an earlier attempt.
#include "api/contract/status.hpp"
#include "api/control/control.hpp"
#include "api/control/log_cursor.hpp"
#include "api/http/problem.hpp"
#include "daemon/base/json.hpp"

namespace k3d::api {
namespace {

constexpr std::size_t kLinesAtOnce = 1000;
constexpr milliseconds kInterval{250};

struct LogAsk {
  std::filesystem::path file;
  std::uint64_t attempt = 0;
  std::optional<std::size_t> tail;
  bool follow = false;
  bool events = false;
};

Result<LogAsk> read_ask(ControlDependencies& deps, const Exchange& exchange) {
  LogAsk ask;
  const auto attempt = query_number(exchange, "attempt", 0, 1, std::int64_t{1} << 53);
  if (!attempt) return fail(attempt.error());
  const auto tail = query_number(exchange, "tail", -1, 0, 1'000'000);
  if (!tail) return fail(tail.error());
  const auto follow = query_number(exchange, "follow", 0, 0, 1);
  if (!follow) return fail(follow.error());
  ask.file = deps.supervisor.log_file(static_cast<std::uint64_t>(*attempt));
  if (ask.file.empty()) {
    return fail(Code::not_found, *attempt == 0 ? "no engine was started yet" : "that attempt's log is not kept",
                "the logs of the last 5 attempts are kept");
  }
  ask.attempt = std::strtoull(ask.file.parent_path().filename().c_str(), nullptr, 10);
  if (*tail >= 0) ask.tail = static_cast<std::size_t>(*tail);
  ask.follow = *follow == 1;
  ask.events = exchange.head().field("Accept").find("text/event-stream") != std::string_view::npos;
  return ask;
}

/// One line as it is sent; bytes that aren't UTF-8 are replaced, also in plain text.
std::string shaped(const LogAsk& ask, const std::string& line) {
  if (ask.events) return "event: log\ndata: " + log_event_json(ask.attempt, line) + "\n\n";
  const Result<Json> clean = parse_json(dump_json(Json(line)));
  return (clean ? clean->get<std::string>() : std::string()) + "\n";
}

bool still_written(ControlDependencies& deps, const LogAsk& ask) {
  const SnapshotPtr snapshot = deps.supervisor.snapshot();
  return snapshot->engine && snapshot->engine->attempt == ask.attempt;
}

Task<void> get_logs(ControlDependencies& deps, Exchange& exchange) {
  const Result<LogAsk> ask = read_ask(deps, exchange);
  if (!ask) {
    co_await exchange.reply(problem_response(ask.error()));
    co_return;
  }
  if (!co_await exchange.begin_stream(ask->events ? "text/event-stream" : "text/plain; charset=utf-8")) co_return;
  LogCursor cursor = ask->tail ? LogCursor::last(ask->file, *ask->tail) : LogCursor(ask->file, false);
  for (bool more = true; more;) {
    const bool written = still_written(deps, *ask);  // asked before reading: what comes last is read too
    const std::vector<std::string> lines = cursor.next(kLinesAtOnce);
    std::string piece;
    for (const std::string& line : lines) piece += shaped(*ask, line);
    if (!piece.empty() && !co_await exchange.write(std::move(piece))) co_return;
    if (!lines.empty()) continue;
    more = ask->follow && written && !exchange.client_gone();
    if (more) {
      const std::string revision = deps.supervisor.snapshot()->revision;
      co_await deps.supervisor.changed(revision, std::chrono::steady_clock::now() + kInterval);
    }
  }
}

}  // namespace

std::vector<Route> log_routes(ControlDependencies& deps) {
  return {{"GET", "/api/v1/logs", "get_logs", Scope::read, [&deps](Exchange& e) { return get_logs(deps, e); }}};
}

}  // namespace k3d::api
