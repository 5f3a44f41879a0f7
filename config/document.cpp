#include "config/document.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "config/reporter.hpp"

namespace k3d::config {
namespace {

Place place_of(const YAML::Mark& mark) {
  return {mark.line + 1, mark.column + 1};
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

/// Builds the tree from the parser's events. A limit that is passed throws YAML::ParserException, the only way to
/// stop the parser early; parse_document catches it with the parser's own.
class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(std::string_view text) : lines_(lines_of(text)) {}

  [[nodiscard]] bool has_document() const { return documents_ > 0; }
  Node take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) throw YAML::ParserException(mark, "a second document begins here; allowed: one");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node empty = node(Node::Kind::null, mark);
    charge(empty, mark);
    add(std::move(empty), mark, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw YAML::ParserException(mark, "this alias stands inside its own anchor");
    if (open_.size() + depth_of(found->second) > kMaxDepth) too_deep(mark);
    charge(found->second, mark);
    add(found->second, mark, 0);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_tag(tag, mark);
    Node scalar = node(Node::Kind::scalar, mark);
    scalar.text = value;
    scalar.quoted = tag == "!";
    scalar.comment_follows = !scalar.quoted && comment_follows(scalar);
    charge(scalar, mark);
    add(std::move(scalar), mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node node;
    YAML::Mark mark;
    YAML::anchor_t anchor;
  };

  [[noreturn]] static void too_deep(const YAML::Mark& mark) {
    throw YAML::ParserException(mark, "nested too deeply; allowed: " + std::to_string(kMaxDepth) + " levels");
  }

  static void refuse_tag(const std::string& tag, const YAML::Mark& mark) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw YAML::ParserException(mark, "the tag " + in_quotes(tag) + " is not read; leave it out");
  }

  static Node node(Node::Kind kind, const YAML::Mark& mark) {
    Node made;
    made.kind = kind;
    made.place = place_of(mark);
    return made;
  }

  static std::size_t depth_of(const Node& node) {
    std::size_t deepest = 0;
    for (const Node& item : node.items) deepest = std::max(deepest, depth_of(item));
    return deepest + 1;
  }

  void charge(const Node& node, const YAML::Mark& mark) {
    bytes_ += node.text.size();
    if (++nodes_ > kMaxNodes || bytes_ > kMaxExpandedBytes) {
      throw YAML::ParserException(
          mark, "too large once its aliases are followed; allowed: " + std::to_string(kMaxNodes) + " values");
    }
    for (const Node& key : node.keys) charge(key, mark);
    for (const Node& item : node.items) charge(item, mark);
  }

  bool comment_follows(const Node& scalar) const {
    const auto line = static_cast<std::size_t>(scalar.place.line - 1);
    const auto column = static_cast<std::size_t>(scalar.place.column - 1);
    if (line >= lines_.size() || lines_[line].size() < column) return false;
    std::string_view rest = lines_[line].substr(column);
    if (!rest.starts_with(scalar.text)) return false;
    rest.remove_prefix(scalar.text.size());
    const std::size_t next = rest.find_first_not_of(" \t");
    return next != std::string_view::npos && next > 0 && rest[next] == '#';
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    refuse_tag(tag, mark);
    if (open_.size() >= kMaxDepth) too_deep(mark);
    Node opened = node(kind, mark);
    charge(opened, mark);
    open_.push_back({std::move(opened), mark, anchor});
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.node), done.mark, done.anchor);
  }

  void add(Node made, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) {
      charge(made, mark);
      anchors_[anchor] = made;
    }
    if (open_.empty()) {
      root_ = std::move(made);
      return;
    }
    Node& parent = open_.back().node;
    if (parent.kind != Node::Kind::map || parent.keys.size() > parent.items.size()) {
      // An empty value has the place of whatever comes next: take its key's.
      const bool elsewhere = made.kind == Node::Kind::null && parent.kind == Node::Kind::map;
      if (elsewhere && made.place.line != parent.keys.back().place.line) made.place = parent.keys.back().place;
      parent.items.push_back(std::move(made));
      return;
    }
    if (made.kind != Node::Kind::scalar) throw YAML::ParserException(mark, "a key must be a single word");
    parent.keys.push_back(std::move(made));
  }

  std::vector<std::string_view> lines_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchors_;
  Node root_;
  int documents_ = 0;
  std::size_t nodes_ = 0, bytes_ = 0;
};

/// The length of the UTF-8 character at the start of `text`, 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool outside = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
  return overlong || outside ? 0 : length;
}

/// Bytes that are no text. It matters: yaml-cpp takes 0x04 for the end of the file and would drop the rest unsaid.
bool is_text(std::string_view text, Reporter& reporter) {
  Place place;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    const bool control = (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f;
    if (length == 0 || control) {
      reporter.add(place, "", "the byte " + in_quotes(text.substr(0, 1)) + " is no text; allowed: UTF-8");
      return false;
    }
    place.column += static_cast<int>(length);
    if (byte == '\n') place = {place.line + 1, 1};
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

std::optional<Node> parse_document(std::string_view text, Reporter& reporter) {
  if (!is_text(text, reporter)) return std::nullopt;
  Builder builder(text);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& e) {
    reporter.add(e.mark.is_null() ? Place{} : place_of(e.mark), "", "not readable as YAML: " + e.msg);
    return std::nullopt;
  }
  Node root = builder.take();
  if (root.kind == Node::Kind::null) root.kind = Node::Kind::map;
  return root;
}

}  // namespace k3d::config
