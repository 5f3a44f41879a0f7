// Collects mistakes, and the words they are told in: quoted values, nearest names.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "config/config.hpp"
#include "config/document.hpp"

namespace k3d::config {

class Reporter {
 public:
  /// What is found twice in one place (by a profile and by one that extends it) counts once.
  void add(Place place, std::string path, std::string what);
  /// In the order of the file.
  [[nodiscard]] std::vector<Mistake> take();

 private:
  std::vector<Mistake> mistakes_;
  std::set<std::tuple<int, int, std::string>> seen_;
};

/// `"text"` with control characters escaped and the middle left out of what is long.
std::string in_quotes(std::string_view text);

/// The name of `names` with the smallest edit distance to `text`, or empty if none is near enough to be meant.
std::string nearest(std::string_view text, const std::vector<std::string>& names);

/// `; did you mean "x"?`, or `; allowed: a, b, c` if nothing is near, or `; there are none`.
std::string suggestion(std::string_view text, const std::vector<std::string>& names);

/// "a, b, c".
std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ");

}  // namespace k3d::config
