// After "Interpreting an event stream" of the HTML Living Standard, section 9.2.6.
#include "api/client/sse.hpp"

namespace k3d::api {

Status SseParser::feed(std::string_view bytes) {
  for (const char c : bytes) {
    const bool second_half = after_cr_ && c == '\n';
    after_cr_ = c == '\r';
    if (second_half) continue;
    if (c == '\n' || c == '\r') {
      end_line();
    } else {
      line_ += c;
    }
    if (line_.size() + pending_.data.size() > max_event_) {
      return fail(Code::protocol, "an event is larger than " + format_bytes(max_event_));
    }
  }
  return {};
}

std::optional<SseEvent> SseParser::next() {
  if (ready_.empty()) return std::nullopt;
  SseEvent event = std::move(ready_.front());
  ready_.pop_front();
  return event;
}

void SseParser::end_line() {
  std::string_view line = line_;
  if (first_line_ && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  first_line_ = false;
  if (line.empty()) {
    dispatch();
  } else if (line.front() != ':') {
    const auto colon = line.find(':');
    std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    field(line.substr(0, colon), value);
  }
  line_.clear();
}

void SseParser::field(std::string_view name, std::string_view value) {
  if (name == "event") {
    pending_.event = value;
  } else if (name == "data") {
    if (has_data_) pending_.data += '\n';
    pending_.data += value;
    has_data_ = true;
  } else if (name == "id" && value.find('\0') == std::string_view::npos) {
    pending_.id = value;
  }
}

void SseParser::dispatch() {
  SseEvent done;
  done.id = pending_.id;
  if (has_data_) {
    if (!pending_.event.empty()) done.event = std::move(pending_.event);
    done.data = std::move(pending_.data);
    ready_.push_back(std::move(done));
  }
  const std::string id = std::move(pending_.id);
  pending_ = SseEvent{};
  pending_.id = id;
  has_data_ = false;
}

}  // namespace k3d::api
