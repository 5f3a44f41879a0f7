#include "docker_driver/log_demux.hpp"

#include <algorithm>
#include <utility>

namespace k3d::docker {
namespace {

constexpr std::size_t kHeaderBytes = 8;
// "2026-11-30T23:36:40.095930452Z " has 31 characters, with an offset instead of the Z 36.
constexpr std::size_t kMaxStamp = 40;

bool is_stamp(std::string_view text) {
  static constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() <= kShape.size()) return false;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == 'd' ? !digit : text[i] != kShape[i]) return false;
  }
  return text.substr(kShape.size()).find_first_not_of("0123456789.:+-Z") == std::string_view::npos;
}

}  // namespace

Status LogDemux::feed(std::string_view bytes, std::vector<LogLine>& lines) {
  if (framing_ == Framing::raw) {
    add(outputs_[0], bytes, lines);
    return {};
  }
  while (!bytes.empty()) {
    if (left_ == 0) {
      if (Status header = read_header(bytes); !header) return header;
      continue;
    }
    const std::size_t n = std::min<std::size_t>(left_, bytes.size());
    Output& output = outputs_[current_];
    add(output, bytes.substr(0, n), lines);
    bytes.remove_prefix(n);
    left_ -= static_cast<std::uint32_t>(n);
    // A piece that is shorter than a stamp ends with its frame.
    if (left_ == 0 && output.in_head) settle_head(output, lines);
  }
  return {};
}

Status LogDemux::read_header(std::string_view& bytes) {
  const std::size_t n = std::min(kHeaderBytes - header_.size(), bytes.size());
  header_.append(bytes.substr(0, n));
  bytes.remove_prefix(n);
  if (header_.size() < kHeaderBytes) return {};
  const auto byte = [this](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(header_[i]));
  };
  const std::uint32_t stream = byte(0);
  const std::uint32_t length = byte(4) << 24 | byte(5) << 16 | byte(6) << 8 | byte(7);
  // Stream 3 carries Docker's own report that reading the log failed.
  if ((stream != 1 && stream != 2) || byte(1) != 0 || byte(2) != 0 || byte(3) != 0 || length > kMaxFrame) {
    return fail(Code::protocol, "the container's log has a frame of stream " + std::to_string(stream) + " and " +
                                    std::to_string(length) + " bytes");
  }
  header_.clear();
  left_ = length;
  current_ = stream - 1;
  if (length != 0) begin_piece(outputs_[current_]);
  return {};
}

void LogDemux::begin_piece(Output& output) {
  output.in_head = true;
  output.head.clear();
}

void LogDemux::add(Output& output, std::string_view payload, std::vector<LogLine>& lines) {
  while (!payload.empty()) {
    // A tty's log has no frames: its stamps stand where lines begin.
    if (framing_ == Framing::raw && !output.open && !output.in_head) begin_piece(output);
    if (!output.in_head) {
      const std::size_t newline = framing_ == Framing::raw ? payload.find('\n') : std::string_view::npos;
      const std::size_t n = newline == std::string_view::npos ? payload.size() : newline + 1;
      add_text(output, payload.substr(0, n), lines);
      payload.remove_prefix(n);
      continue;
    }
    const char c = payload.front();
    payload.remove_prefix(1);
    output.head += c;
    if (c == ' ' || c == '\n' || output.head.size() >= kMaxStamp) settle_head(output, lines);
  }
}

void LogDemux::settle_head(Output& output, std::vector<LogLine>& lines) {
  output.in_head = false;
  const std::string head = std::exchange(output.head, {});
  std::string_view text = head;
  if (text.ends_with(' ') && is_stamp(text.substr(0, text.size() - 1))) {
    output.line.stamp = text.substr(0, text.size() - 1);
    if (!output.open) output.first_stamp = output.line.stamp;
    output.open = true;
    text = {};
  }
  add_text(output, text, lines);
}

void LogDemux::add_text(Output& output, std::string_view text, std::vector<LogLine>& lines) {
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::string_view part = text.substr(0, newline);
    if (!output.open) output.first_stamp = output.line.stamp;
    output.open = true;
    const std::size_t room = kMaxLine - output.line.text.size();
    output.line.text.append(part.substr(0, room));
    if (part.size() > room) output.line.truncated = true;
    if (newline == std::string_view::npos) return;
    end_line(output, lines);
    text.remove_prefix(newline + 1);
  }
}

void LogDemux::end_line(Output& output, std::vector<LogLine>& lines) {
  if (framing_ == Framing::raw && output.line.text.ends_with('\r')) output.line.text.pop_back();
  LogLine next;
  next.is_stderr = &output == &outputs_[1];
  // Lines that share a piece share its stamp.
  next.stamp = output.line.stamp;
  output.line.is_stderr = next.is_stderr;
  lines.push_back(std::exchange(output.line, std::move(next)));
  output.open = false;
}

void LogDemux::finish(std::vector<LogLine>& lines) {
  for (Output& output : outputs_) {
    if (output.in_head) settle_head(output, lines);
    if (output.open) end_line(output, lines);
  }
}

std::optional<std::string> LogDemux::oldest_pending() const {
  std::optional<std::string> oldest;
  for (const Output& output : outputs_) {
    if (!output.open) continue;
    // Docker writes stamps with a fixed width, so that they compare as text.
    if (!oldest || output.first_stamp < *oldest) oldest = output.first_stamp;
  }
  return oldest;
}

}  // namespace k3d::docker
