#include "daemon/lifecycle/planned_tool.hpp"

#include "daemon/base/async/sleep.hpp"
#include "daemon/base/log.hpp"

namespace k3d::lifecycle {
namespace {

Task<Result<ToolRun>> run_to_end(Containers& containers, ContainerId id, seconds limit) {
  if (const Status started = co_await containers.start(id); !started) co_return fail(started.error());
  auto wait = containers.wait(id);
  const auto ended = co_await with_deadline<ContainerInfo>(std::move(wait), limit, "a program of the engine image");
  if (!ended) co_return fail(ended.error());
  ToolRun run;
  run.exit_code = ended->exit_code.value_or(0);
  const auto stream = containers.logs(id, LogRequest{});
  for (auto line = co_await stream->next(); line && *line; line = co_await stream->next()) {
    run.text += (*line)->text + "\n";
    if (!(*line)->is_stderr) run.answer.push_back((*line)->text);
  }
  co_return run;
}

}  // namespace

Task<Result<ToolRun>> run_tool(Containers& containers, LaunchSpec spec, std::string file, bool needs_file, seconds limit) {
  const Result<ContainerId> id = co_await containers.create(std::move(spec));
  if (!id) co_return fail(id.error());
  Result<ToolRun> run = fail(Code::not_found, "the image has no " + file);
  std::exception_ptr cancelled;
  try {
    const Result<bool> there = co_await containers.has_file(*id, file);
    if (!needs_file || !there || *there) run = co_await run_to_end(containers, *id, limit);
    if (run) run->file_there = there && *there;
  } catch (...) {
    cancelled = std::current_exception();
  }
  // Whatever was cancelled, the container has to go.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const Status removed = co_await containers.remove(*id);
  if (!removed) log::warning("a container stays behind", {{"id", id->value}, {"cause", removed.error().text()}});
  co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
  if (cancelled) std::rethrow_exception(cancelled);
  co_return run;
}

}  // namespace k3d::lifecycle
