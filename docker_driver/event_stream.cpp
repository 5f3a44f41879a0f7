#include "docker_driver/event_stream.hpp"

#include <vector>

#include "daemon/base/json.hpp"
#include "docker_driver/decode.hpp"

namespace k3d::docker {
namespace {

// Labels come with each event; a line of this size is no event.
constexpr std::size_t kMaxEvent = kMiB;

class ContainerEvents : public EventStream {
 public:
  explicit ContainerEvents(std::unique_ptr<http::ResponseStream> stream)
      : stream_(std::move(stream)), piece_(16 * kKiB) {}

  Task<Result<ContainerEvent>> next() override {
    for (;;) {
      const std::size_t newline = text_.find('\n', searched_);
      if (newline != std::string::npos) {
        const std::string line = text_.substr(0, newline);
        text_.erase(0, newline + 1);
        searched_ = 0;
        if (line.find_first_not_of(" \r") != std::string::npos) co_return decode_event(line);
        continue;
      }
      searched_ = text_.size();
      if (text_.size() > kMaxEvent) co_return fail(Code::protocol, "Docker sent an event without an end");
      const auto n = co_await stream_->read_some(piece_);
      if (!n && n.error().code == Code::cancelled) co_return fail(n.error());
      if (!n || *n == 0) {
        co_return fail(Code::docker_unavailable, "Docker's events ended", {}, n ? std::string() : n.error().cause);
      }
      text_.append(piece_.data(), *n);
    }
  }

  void close() override { stream_->close(); }

 private:
  std::unique_ptr<http::ResponseStream> stream_;
  std::vector<char> piece_;
  std::string text_;
  std::size_t searched_ = 0;
};

}  // namespace

Task<Result<std::unique_ptr<EventStream>>> open_events(std::shared_ptr<Api> api, std::string label) {
  Json filters = Json::object();
  filters["type"] = Json(std::vector<std::string>{"container"});
  filters["label"] = Json(std::vector<std::string>{std::move(label)});
  Call call;
  call.path = "/events";
  call.query = "filters=" + http::url_encode(dump_json(filters));
  auto stream = co_await api->open(std::move(call));
  if (!stream) co_return fail(stream.error());
  co_return std::unique_ptr<EventStream>(std::make_unique<ContainerEvents>(std::move(*stream)));
}

}  // namespace k3d::docker
