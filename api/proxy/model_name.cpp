#include "api/proxy/model_name.hpp"

#include "daemon/base/json.hpp"

namespace k3d::proxy {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

/// A cursor over the top level of an object; any step returns false when the bytes end.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool skip_blanks() {
    at_ = text_.find_first_not_of(kBlank, at_);
    if (at_ == std::string_view::npos) at_ = text_.size();
    return at_ < text_.size();
  }
  [[nodiscard]] char peek() const { return text_[at_]; }
  void advance() { ++at_; }

  /// The raw JSON string at the cursor, quotes included; false if it isn't whole yet.
  bool read_string(std::string_view& raw) {
    for (std::size_t i = at_ + 1; i < text_.size(); ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (text_[i] == '"') {
        raw = text_.substr(at_, i + 1 - at_);
        at_ = i + 1;
        return true;
      }
    }
    return false;
  }

  /// Past a value of any kind; false if it isn't whole yet.
  bool skip_value() {
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      std::string_view ignored;
      if (c == '"') {
        if (!read_string(ignored)) return false;
        if (depth == 0) return true;
        continue;
      }
      if (depth == 0 && (c == ',' || c == '}')) return true;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      ++at_;
      if (depth == 0 && (c == '}' || c == ']')) return true;
    }
    return false;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

/// The string that `raw` spells, escapes resolved.
std::optional<std::string> unescape(std::string_view raw) {
  const Result<Json> value = parse_json(raw);
  if (!value || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

}  // namespace

ModelSearch find_model(std::string_view body) {
  const ModelSearch undecided{body.size() >= kModelWindow, std::nullopt};
  const ModelSearch none{true, std::nullopt};
  Cursor cursor(body.substr(0, kModelWindow));
  if (!cursor.skip_blanks()) return undecided;
  if (cursor.peek() != '{') return none;
  cursor.advance();
  for (;;) {
    if (!cursor.skip_blanks()) return undecided;
    if (cursor.peek() == ',') cursor.advance();
    if (!cursor.skip_blanks()) return undecided;
    if (cursor.peek() != '"') return none;  // the end of the object, or no JSON
    std::string_view key;
    if (!cursor.read_string(key) || !cursor.skip_blanks()) return undecided;
    if (cursor.peek() != ':') return none;
    cursor.advance();
    if (!cursor.skip_blanks()) return undecided;
    if (unescape(key) == "model") {
      std::string_view value;
      if (cursor.peek() != '"') return none;
      if (!cursor.read_string(value)) return undecided;
      return {true, unescape(value)};
    }
    if (!cursor.skip_value()) return undecided;
  }
}

}  // namespace k3d::proxy
