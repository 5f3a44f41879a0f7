#include "config/shape.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "config/rules.hpp"

namespace k3d::config {
namespace shape {

Shape text(std::string allowed, Rule rule, std::string pattern) {
  Shape made;
  made.allowed = std::move(allowed);
  made.rule = rule;
  made.pattern = std::move(pattern);
  return made;
}

Shape text_as_written(std::string allowed, Rule rule) {
  Shape made = text(std::move(allowed), rule);
  made.as_written = true;
  return made;
}

Shape integer(long long min, long long max) {
  Shape made;
  made.kind = Shape::Kind::integer;
  made.allowed = "a whole number from " + std::to_string(min) + " to " + std::to_string(max);
  made.min = min;
  made.max = max;
  return made;
}

Shape number() {
  Shape made;
  made.kind = Shape::Kind::number;
  made.allowed = "a number, 0 or more";
  return made;
}

Shape boolean() {
  Shape made;
  made.kind = Shape::Kind::boolean;
  made.allowed = "true or false";
  return made;
}

Shape bytes(Bytes min, Bytes max) {
  Shape made;
  made.kind = Shape::Kind::bytes;
  made.min = static_cast<long long>(min);
  made.max = static_cast<long long>(max);
  made.allowed = "a size such as 256MiB or 8 GB, from " + std::to_string(min) + " to " + std::to_string(max) + " bytes";
  return made;
}

Shape choice(std::vector<std::string> words, std::vector<std::string> later) {
  Shape made;
  made.kind = Shape::Kind::choice;
  made.words = std::move(words);
  made.later = std::move(later);
  return made;
}

Shape list(Shape item, std::size_t min_items, std::size_t max_items) {
  Shape made;
  made.kind = Shape::Kind::list;
  made.allowed = "a list, each item " + allowed_text(item);
  made.min_items = min_items;
  made.max_items = max_items;
  made.inner.push_back(std::move(item));
  return made;
}

Shape map(Shape value, std::string allowed_keys, Rule key_rule) {
  Shape made;
  made.kind = Shape::Kind::map;
  made.allowed = "a map of " + allowed_keys + " to " + allowed_text(value);
  made.rule = key_rule;
  made.inner.push_back(std::move(value));
  return made;
}

Shape either(Shape a, Shape b) {
  Shape made;
  made.kind = Shape::Kind::either;
  made.allowed = allowed_text(a) + " or " + allowed_text(b);
  made.inner.push_back(std::move(a));
  made.inner.push_back(std::move(b));
  return made;
}

Shape word_or(std::string word, Shape other) {
  other.words.insert(other.words.begin(), std::move(word));
  return other;
}

Shape commit() {
  Shape made = text("40 lower-case hexadecimal digits", rules::commit, "^[0-9a-f]{40}$");
  made.as_written = true;
  return made;
}
Shape section(std::string allowed) {
  Shape made;
  made.kind = Shape::Kind::section;
  made.allowed = std::move(allowed);
  return made;
}

}  // namespace shape

std::vector<std::string> texts(const Value& value) {
  std::vector<std::string> out;
  for (const Value& item : value.items) out.push_back(item.text);
  return out;
}

namespace {

bool is_plain_integer(const Node& node) {
  if (node.kind != Node::Kind::scalar || node.quoted) return false;
  std::string_view digits = node.text;
  if (digits.starts_with('-')) digits.remove_prefix(1);
  return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<double> plain_number(const Node& node) {
  if (node.kind != Node::Kind::scalar || node.quoted) return std::nullopt;
  double value = 0;
  const char* end = node.text.data() + node.text.size();
  const auto [stopped, error] = std::from_chars(node.text.data(), end, value);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

bool is_plain_boolean(const Node& node) {
  static const std::set<std::string, std::less<>> kSpellings{"true", "True", "TRUE", "false", "False", "FALSE"};
  return node.kind == Node::Kind::scalar && !node.quoted && kSpellings.contains(node.text);
}

std::string what_it_is(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing is";
    case Node::Kind::list:
      return "a list is";
    case Node::Kind::map:
      return "a map is";
    case Node::Kind::scalar:
      break;
  }
  if (plain_number(node)) return "the number " + node.text + " is";
  if (is_plain_boolean(node)) return "the boolean " + node.text + " is";
  return "the text " + in_quotes(node.text) + " is";
}

/// One read, so that the functions below needn't hand on four parameters each.
class Read {
 public:
  Read(const Shape& shape, const Node& node, const std::string& path, Reporter& reporter)
      : shape_(shape), node_(node), path_(path), reporter_(reporter) {
    value_.node = &node;
    value_.text = node.text;
  }

  std::optional<Value> run() {
    if (node_.kind == Node::Kind::scalar) {
      if (std::ranges::count(shape_.words, node_.text) > 0) {
        value_.word = true;
        return value_;
      }
      if (std::ranges::count(shape_.later, node_.text) > 0) {
        return wrong("not yet: " + node_.text + "; allowed: " + allowed_text(shape_));
      }
    }
    switch (shape_.kind) {
      case Shape::Kind::text:
        return text();
      case Shape::Kind::integer:
        return integer();
      case Shape::Kind::number:
        return number();
      case Shape::Kind::boolean:
        return boolean();
      case Shape::Kind::bytes:
        return bytes();
      case Shape::Kind::choice:
        return choice();
      case Shape::Kind::list:
        return list();
      case Shape::Kind::map:
        return map();
      case Shape::Kind::either:
        return either();
      case Shape::Kind::section:
        break;
    }
    return value_;  // a section reads itself
  }

 private:
  std::optional<Value> wrong(std::string what) {
    reporter_.add(node_.place, path_, std::move(what));
    return std::nullopt;
  }
  std::optional<Value> wrong_type() {
    return wrong(what_it_is(node_) + " not what belongs here; allowed: " + allowed_text(shape_));
  }

  std::optional<Value> text() {
    if (node_.kind != Node::Kind::scalar) return wrong_type();
    const bool other_type = !node_.quoted && (plain_number(node_) || is_plain_boolean(node_));
    if (other_type && !shape_.as_written) {
      return wrong(what_it_is(node_) + " no text here (in quotes it would be one); allowed: " + allowed_text(shape_));
    }
    const std::string complaint = shape_.rule == nullptr ? "" : shape_.rule(node_.text);
    if (!complaint.empty()) {
      return wrong(in_quotes(node_.text) + " " + complaint + "; allowed: " + allowed_text(shape_));
    }
    return value_;
  }

  std::optional<Value> integer() {
    if (!is_plain_integer(node_)) {
      const bool digits_quoted = node_.quoted && plain_number_in(node_.text);
      if (digits_quoted) return wrong(in_quotes(node_.text) + " is a text; write the number without quotes");
      return wrong_type();
    }
    const std::string& digits = node_.text;
    if (digits.size() > 1 && (digits[0] == '0' || digits.starts_with("-0"))) {
      return wrong(digits + " begins with a zero, which some read as octal; leave the zero out");
    }
    const auto [_, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value_.integer);
    if (error != std::errc{} || value_.integer < shape_.min || value_.integer > shape_.max) {
      return wrong(digits + " is out of range; allowed: " + allowed_text(shape_));
    }
    value_.number = static_cast<double>(value_.integer);
    return value_;
  }

  static bool plain_number_in(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  }

  std::optional<Value> number() {
    const std::optional<double> found = plain_number(node_);
    if (!found) return wrong_type();
    if (!std::isfinite(*found) || *found < 0) {
      return wrong(node_.text + " is out of range; allowed: " + allowed_text(shape_));
    }
    value_.number = *found;
    return value_;
  }

  std::optional<Value> boolean() {
    if (node_.kind != Node::Kind::scalar || node_.quoted || (node_.text != "true" && node_.text != "false")) {
      return wrong_type();
    }
    value_.truth = node_.text == "true";
    return value_;
  }

  std::optional<Value> bytes() {
    if (node_.kind != Node::Kind::scalar) return wrong_type();
    const Result<Bytes> parsed = parse_bytes(node_.text);
    if (!parsed) return wrong_type();
    if (*parsed < static_cast<Bytes>(shape_.min) || *parsed > static_cast<Bytes>(shape_.max)) {
      return wrong(node_.text + " is out of range; allowed: " + allowed_text(shape_));
    }
    value_.bytes = *parsed;
    return value_;
  }

  std::optional<Value> choice() {
    if (node_.kind != Node::Kind::scalar) return wrong_type();
    const std::string near = nearest(node_.text, shape_.words);
    return wrong(in_quotes(node_.text) + " is not known here; allowed: " + allowed_text(shape_) +
                 (near.empty() ? "" : "; did you mean " + in_quotes(near) + "?"));
  }

  std::optional<Value> list() {
    if (node_.kind != Node::Kind::list) return wrong_type();
    const std::size_t count = node_.items.size();
    if (count < shape_.min_items || count > shape_.max_items) {
      return wrong("a list of " + std::to_string(count) + "; allowed: " + std::to_string(shape_.min_items) + " to " +
                   std::to_string(shape_.max_items) + " items");
    }
    bool good = true;
    for (std::size_t i = 0; i < count; ++i) {
      auto item = read(shape_.inner[0], node_.items[i], path_ + "[" + std::to_string(i) + "]", reporter_);
      good = good && item.has_value();
      if (item) value_.items.push_back(std::move(*item));
    }
    value_.list = true;
    return good ? std::optional(value_) : std::nullopt;
  }

  std::optional<Value> map() {
    if (node_.kind != Node::Kind::map) return wrong_type();
    check_keys(node_, path_, reporter_);
    bool good = true;
    for (std::size_t i = 0; i < node_.keys.size(); ++i) {
      const Node& key = node_.keys[i];
      const std::string path = join_path(path_, key.text);
      const std::string complaint = shape_.rule == nullptr ? "" : shape_.rule(key.text);
      if (!complaint.empty()) reporter_.add(key.place, path, in_quotes(key.text) + " " + complaint);
      if (node_.items[i].kind == Node::Kind::null) continue;  // null: as if it weren't there
      auto item = read(shape_.inner[0], node_.items[i], path, reporter_);
      good = good && item.has_value() && complaint.empty();
      if (!item) continue;
      value_.keys.push_back(key.text);
      value_.items.push_back(std::move(*item));
    }
    return good ? std::optional(value_) : std::nullopt;
  }

  /// The alternative that YAML's own types point to.
  std::optional<Value> either() {
    for (const Shape& candidate : shape_.inner) {
      const bool as_list = candidate.kind == Shape::Kind::list && node_.kind == Node::Kind::list;
      const bool as_integer = candidate.kind == Shape::Kind::integer && plain_number(node_);
      const bool as_text = candidate.kind == Shape::Kind::text && node_.kind == Node::Kind::scalar;
      if (as_list || as_integer || as_text) return read(candidate, node_, path_, reporter_);
    }
    return wrong_type();
  }

  const Shape& shape_;
  const Node& node_;
  const std::string& path_;
  Reporter& reporter_;
  Value value_;
};

}  // namespace

std::string allowed_text(const Shape& shape) {
  std::string out = joined(shape.words, shape.kind == Shape::Kind::choice ? ", " : " or ");
  if (shape.allowed.empty()) return out;
  return out.empty() ? shape.allowed : out + " or " + shape.allowed;
}

std::optional<Value> read(const Shape& shape, const Node& node, const std::string& path, Reporter& reporter) {
  return Read(shape, node, path, reporter).run();
}

void check_keys(const Node& map, const std::string& path, Reporter& reporter) {
  std::map<std::string, int> seen;
  for (const Node& key : map.keys) {
    const auto [first, fresh] = seen.emplace(key.text, key.place.line);
    if (key.text == "<<") {
      reporter.add(key.place, join_path(path, key.text), "merge keys are not read; a profile can use extends");
    } else if (!fresh) {
      reporter.add(
          key.place, join_path(path, key.text),
          "the key " + in_quotes(key.text) + " is there twice, first on line " + std::to_string(first->second));
    }
  }
}

std::string join_path(const std::string& path, std::string_view key) {
  std::string out = path.empty() ? "" : path + ".";
  const bool simple = key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:/<") ==
                      std::string_view::npos;
  return out + (simple && !key.empty() ? std::string(key.substr(0, 80)) : in_quotes(key));
}

}  // namespace k3d::config
