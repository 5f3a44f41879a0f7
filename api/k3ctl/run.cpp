#include "api/k3ctl/run.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <ostream>

#include "api/client/address.hpp"
#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/present.hpp"
#include "daemon/base/async/task_group.hpp"

namespace k3d::cli {
namespace {

/// Starts the coroutine of whichever command it is.
struct Start {
  Session& session;

  Task<int> operator()(StatusCommand& c) const { return run_status(session, c); }
  Task<int> operator()(ProfilesCommand& c) const { return run_profiles(session, std::move(c)); }
  Task<int> operator()(UpCommand& c) const { return run_up(session, std::move(c)); }
  Task<int> operator()(DownCommand& c) const { return run_down(session, std::move(c)); }
  Task<int> operator()(LogsCommand& c) const { return run_logs(session, c); }
  Task<int> operator()(OpsCommand& c) const { return run_ops(session, std::move(c)); }
  Task<int> operator()(CancelCommand& c) const { return run_cancel(session, std::move(c)); }
  Task<int> operator()(EventsCommand& c) const { return run_events(session, c); }
  Task<int> operator()(ChatCommand& c) const { return run_chat(session, std::move(c)); }
  Task<int> operator()(OverrideCommand& c) const { return run_override(session, std::move(c)); }
  Task<int> operator()(HistoryCommand& c) const { return run_history(session, c); }
  Task<int> operator()(PlanCommand& c) const { return run_plan(session, std::move(c)); }
  Task<int> operator()(QuantsCommand& c) const { return run_quants(session, c); }
  Task<int> operator()(DoctorCommand& c) const { return run_doctor(session, c); }
  Task<int> operator()(ReloadCommand& c) const { return run_reload(session, std::move(c)); }
};

Task<void> execute(Session& session, Command command, int& status, asio::signal_set& signals) {
  status = co_await std::visit(Start{session}, command);
  signals.cancel();
}

int run_loop(Session& session, Command command) {
  asio::io_context loop(1);
  TaskGroup tasks(loop.get_executor());
  asio::signal_set signals(loop, SIGINT, SIGTERM);
  int status = kRefused;
  bool interrupted = false;
  signals.async_wait([&tasks, &signals, &interrupted](const boost::system::error_code& ec, int) {
    if (ec) return;
    interrupted = true;
    signals.clear();  // a second Ctrl-C ends the process, whatever hangs
    tasks.cancel();
  });
  tasks.spawn(execute(session, std::move(command), status, signals));
  loop.run();
  if (!interrupted) return status;
  if (session.terminal.live) session.out << '\n';
  session.out.flush();
  if (!session.parting_words.empty()) session.err << session.parting_words << std::endl;
  return kInterrupted;
}

}  // namespace

int run(const std::vector<std::string>& args, const Environment& environment, Streams streams) {
  std::variant<Arguments, Exit> parsed = parse_arguments(args);
  if (const Exit* done = std::get_if<Exit>(&parsed)) {
    streams.out << done->out << std::flush;
    streams.err << done->err << std::flush;
    return done->status;
  }
  Arguments& arguments = std::get<Arguments>(parsed);
  Result<http::Endpoint> endpoint = api::resolve_address(arguments.common.url, environment.url);
  Result<Secret> token = api::resolve_token(arguments.common.token_file, environment.token);
  if (!endpoint || !token) {
    streams.err << "k3ctl: " << error_text(endpoint ? token.error() : endpoint.error()) << std::endl;
    return kUsage;
  }
  api::ControlClient client(std::move(*endpoint), std::move(*token));
  Session session{client,           streams.out,         streams.err,     streams.in, arguments.common.json,
                  streams.terminal, environment.api_key, streams.patience};
  return run_loop(session, std::move(arguments.command));
}

}  // namespace k3d::cli
