// Server-Sent Events out of a stream of bytes that comes in pieces of any size. Pure: no connection, no time.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/result.hpp"
#include "daemon/base/units.hpp"

namespace k3d::api {

struct SseEvent {
  std::string event = "message";
  std::string id;  ///< the last one seen, as the specification has it
  std::string data;
};

class SseParser {
 public:
  /// An event or line beyond `max_event` bytes is an error, so that a broken sender can't fill the memory.
  explicit SseParser(Bytes max_event = 16 * kMiB) : max_event_(max_event) {}

  /// Takes the next bytes. Fails with `protocol` when an event grows too large; the parser is of no use then.
  Status feed(std::string_view bytes);
  /// The next complete event, in order; nothing until more bytes come. An unfinished one at the end is dropped.
  std::optional<SseEvent> next();

 private:
  void end_line();
  void field(std::string_view name, std::string_view value);
  void dispatch();

  Bytes max_event_;
  std::string line_;
  bool after_cr_ = false;
  bool first_line_ = true;
  bool has_data_ = false;
  SseEvent pending_;
  std::deque<SseEvent> ready_;
};

}  // namespace k3d::api
