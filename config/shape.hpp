// What a value may look like: the one description from which the decoder, the schema and the documentation come.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.hpp"
#include "config/reporter.hpp"
#include "daemon/base/units.hpp"

namespace k3d::config {

/// What is wrong with a text ("is relative"), or empty.
using Rule = std::string (*)(std::string_view);

struct Shape {
  enum class Kind { text, integer, number, boolean, bytes, choice, list, map, either, section };

  Kind kind = Kind::text;
  std::string allowed;         ///< in words, without `words`
  std::string pattern;         ///< of a text, for the schema; may be empty
  Rule rule = nullptr;         ///< of a text, or of the keys of a map
  bool as_written = false;     ///< a text that takes plain numbers and booleans as they are written
  long long min = 0, max = 0;  ///< of integers and sizes
  std::size_t min_items = 0, max_items = 0;
  std::vector<std::string> words;  ///< taken besides, such as auto; of a choice: all there is
  std::vector<std::string> later;  ///< words of the contract that are refused as not yet built
  std::vector<Shape> inner;        ///< item of a list, value of a map, alternatives of an either
};

namespace shape {
Shape text(std::string allowed, Rule rule, std::string pattern = {});
Shape text_as_written(std::string allowed, Rule rule);
Shape integer(long long min, long long max);
Shape number();  ///< finite, zero or more
Shape boolean();
Shape commit();  ///< 40 hexadecimal digits; digits alone need no quotes: nobody means a number by a commit
Shape bytes(Bytes min, Bytes max);
Shape choice(std::vector<std::string> words, std::vector<std::string> later = {});
Shape list(Shape item, std::size_t min_items, std::size_t max_items);
Shape map(Shape value, std::string allowed_keys, Rule key_rule);
Shape either(Shape a, Shape b);  ///< told apart by what YAML says: list, plain number, text
Shape word_or(std::string word, Shape other);
Shape section(std::string allowed);  ///< a map with a field table of its own
}  // namespace shape

/// A value that fits its shape.
struct Value {
  const Node* node = nullptr;
  std::string text;   ///< of every scalar, as written
  bool word = false;  ///< one of the shape's words
  bool list = false;
  long long integer = 0;
  double number = 0;
  bool truth = false;
  Bytes bytes = 0;
  std::vector<std::string> keys;  ///< of a map, one for each item
  std::vector<Value> items;       ///< of a list, or the values of a map
};

/// The items of a list of texts.
std::vector<std::string> texts(const Value& value);

/// "auto or a whole number from 1 to 64".
std::string allowed_text(const Shape& shape);

/// The node as a value of that shape; else nothing, with at least one mistake reported.
std::optional<Value> read(const Shape& shape, const Node& node, const std::string& path, Reporter& reporter);

/// Reports every key that stands twice in a map, and merge keys.
void check_keys(const Node& map, const std::string& path, Reporter& reporter);

/// "path.key", or the key alone at the root.
std::string join_path(const std::string& path, std::string_view key);

}  // namespace k3d::config
