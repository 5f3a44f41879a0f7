#include "docker_driver/log_stream.hpp"

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <vector>

#include "docker_driver/backoff.hpp"
#include "docker_driver/decode.hpp"
#include "docker_driver/log_cursor.hpp"
#include "docker_driver/log_demux.hpp"

namespace k3d::docker {
namespace {

constexpr std::size_t kPieceBytes = 64 * kKiB;
// A log that lies again and again without a line between is broken for good. A connection may break any number of
// times: a quiet engine outlives many restarts of Docker.
constexpr int kMaxFruitless = 5;

class ContainerLog : public LogStream {
 public:
  ContainerLog(const Executor& executor, std::shared_ptr<Api> api, ContainerId id, LogRequest request)
      : pause_(executor),
        api_(std::move(api)),
        id_(std::move(id)),
        request_(std::move(request)),
        cursor_(request_.since, request_.tail.has_value()),
        phase_(request_.follow ? Phase::following : Phase::rest),
        piece_(kPieceBytes) {}

  Task<Result<std::optional<LogLine>>> next() override {
    for (;;) {
      if (closed_) co_return fail(closed());
      if (!ready_.empty()) {
        std::optional<LogLine> line(std::move(ready_.front()));
        ready_.pop_front();
        co_return line;
      }
      if (phase_ == Phase::end) co_return std::optional<LogLine>();
      Status more = stream_ ? co_await read() : co_await open();
      if (!more) co_return fail(closed_ ? closed() : std::move(more.error()));
    }
  }

  void close() override {
    closed_ = true;
    if (stream_) stream_->close();
    pause_.cancel();
  }

 private:
  // Docker 20.10 ends a followed log without the last line if that has no newline, as an abort's message may have
  // none. So when the container has ended the rest is read once more, without following.
  enum class Phase { following, rest, end };

  static Error closed() { return {Code::cancelled, "the log was closed", {}, {}}; }

  [[nodiscard]] Call request() const {
    Call call;
    call.path = "/containers/" + http::url_encode(id_.value) + "/logs";
    call.query = "stdout=1&stderr=1&timestamps=1";
    if (phase_ == Phase::following) call.query += "&follow=1";
    if (const auto since = cursor_.since()) call.query += "&since=" + *since;
    if (request_.tail && !cursor_.has_seen_lines()) call.query += "&tail=" + std::to_string(*request_.tail);
    call.subject = Subject::container;
    call.name = id_.value;
    return call;
  }

  Task<Status> open() {
    Call call = request();
    auto stream = co_await api_->open(std::move(call));
    if (!stream) co_return co_await after_refusal(std::move(stream.error()));
    opened_ = true;
    stream_ = std::move(*stream);
    const bool tty = stream_->head().header("Content-Type") == "application/vnd.docker.raw-stream";
    demux_.emplace(tty ? Framing::raw : Framing::multiplexed);
    co_return Status{};
  }

  Task<Status> after_refusal(Error error) {
    if (error.code == Code::not_found && opened_) {
      phase_ = Phase::end;
      co_return Status{};
    }
    if (!is_away(error) || !(request_.follow || opened_)) co_return fail(std::move(error));
    co_return co_await rest_a_while();
  }

  Task<Status> read() {
    const auto n = co_await stream_->read_some(piece_);
    if (!n) {
      if (n.error().code == Code::cancelled) co_return fail(n.error());
      co_return co_await broke_off(n.error(), request_.follow);
    }
    if (*n == 0) co_return co_await ended();
    const Status fed = demux_->feed(std::string_view(piece_.data(), *n), lines_);
    take_lines();
    if (!fed) co_return co_await broke_off(fed.error(), false);
    co_return Status{};
  }

  void take_lines() {
    for (LogLine& line : lines_) {
      if (!cursor_.admit(line)) continue;
      ready_.push_back(std::move(line));
      fruitless_ = 0;
      backoff_.reset();
    }
    lines_.clear();
  }

  void drop_stream() {
    cursor_.reopened(demux_->oldest_pending());
    demux_.reset();
    stream_.reset();
  }

  Task<Status> broke_off(Error error, bool patient) {
    drop_stream();
    if (!patient && ++fruitless_ > kMaxFruitless) co_return fail(std::move(error));
    co_return co_await rest_a_while();
  }

  /// Docker says that this is all.
  Task<Status> ended() {
    if (phase_ == Phase::rest) {
      demux_->finish(lines_);
      take_lines();
      stream_.reset();
      phase_ = Phase::end;
      co_return Status{};
    }
    drop_stream();
    Call call;
    call.path = "/containers/" + http::url_encode(id_.value) + "/json";
    call.subject = Subject::container;
    call.name = id_.value;
    const Result<http::Response> answer = co_await api_->call(std::move(call));
    // Gone or away: opening it again tells.
    if (!answer) co_return co_await rest_a_while();
    const Result<ContainerInfo> info = decode_container(answer->body);
    if (!info) co_return fail(info.error());
    if (info->running()) co_return co_await rest_a_while();
    phase_ = Phase::rest;
    co_return Status{};
  }

  Task<Status> rest_a_while() {
    pause_.expires_after(backoff_.next());
    const auto [ec] = co_await pause_.async_wait(tok);
    if (ec) co_return fail(closed());
    co_return Status{};
  }

  asio::steady_timer pause_;
  std::shared_ptr<Api> api_;
  ContainerId id_;
  LogRequest request_;
  LogCursor cursor_;
  Phase phase_;
  std::vector<char> piece_;
  std::unique_ptr<http::ResponseStream> stream_;
  std::optional<LogDemux> demux_;
  std::vector<LogLine> lines_;
  std::deque<LogLine> ready_;
  Backoff backoff_;
  int fruitless_ = 0;
  bool opened_ = false;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<LogStream> open_log(Executor executor, std::shared_ptr<Api> api, ContainerId id, LogRequest request) {
  return std::make_unique<ContainerLog>(executor, std::move(api), std::move(id), std::move(request));
}

}  // namespace k3d::docker
