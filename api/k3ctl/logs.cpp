// k3ctl logs: the engine's lines, as they come, with nothing in them that a terminal would obey.
#include <ostream>

#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/safe_text.hpp"

namespace k3d::cli {
namespace {

/// How much of the past `-f` shows without --tail.
constexpr int kFollowTail = 100;
constexpr std::size_t kReadBytes = 64 * kKiB;

std::string target_of(const LogsCommand& command) {
  std::string target = "/api/v1/logs";
  char separator = '?';
  const auto add = [&target, &separator](const std::string& parameter) {
    target += separator + parameter;
    separator = '&';
  };
  if (command.follow) add("follow=1");
  if (command.attempt) add("attempt=" + std::to_string(*command.attempt));
  const std::optional<int> tail = command.follow && !command.tail ? kFollowTail : command.tail;
  if (tail) add("tail=" + std::to_string(*tail));
  return target;
}

/// Cuts bytes into lines and prints each of them safe; with --json as they are.
class LinePrinter {
 public:
  explicit LinePrinter(Session& session) : session_(session) {}

  void take(std::string_view bytes) {
    if (session_.json) {
      session_.out << bytes << std::flush;
      return;
    }
    rest_ += bytes;
    std::size_t begin = 0;
    for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
      print(std::string_view(rest_).substr(begin, end - begin));
      begin = end + 1;
    }
    rest_.erase(0, begin);
    session_.out.flush();
  }
  void finish() {
    if (!rest_.empty()) print(rest_);
    session_.out.flush();
  }

 private:
  void print(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    session_.out << safe_text(line) << '\n';
  }

  Session& session_;
  std::string rest_;
};

}  // namespace

Task<int> run_logs(Session& session, LogsCommand command) {
  Result<api::StreamAnswer> answer = co_await session.client.open(target_of(command), "text/plain");
  if (!answer) co_return report_unreachable(session, answer.error());
  if (!answer->stream) co_return report_refusal(session, answer->refusal);
  LinePrinter printer(session);
  std::vector<char> buffer(kReadBytes);
  for (;;) {
    const Result<std::size_t> n = co_await answer->stream->read_some(buffer);
    if (!n) {
      printer.finish();
      co_return report_unreachable(session, n.error());
    }
    if (*n == 0) break;
    printer.take(std::string_view(buffer.data(), *n));
  }
  printer.finish();
  co_return kDone;
}

}  // namespace k3d::cli
