// The list of arguments while it is made: knows which spellings the image has and what was left out of need.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/model/engine_image.hpp"

namespace k3d::engine {

using Spellings = std::initializer_list<const char*>;

class Arguments {
 public:
  Arguments(const EngineCapabilities& image, std::string image_name)
      : image_(image), image_name_(std::move(image_name)) {}

  /// Adds the first spelling that the image has, with `value`; if it has none, the list fails, naming `setting`.
  void need(Spellings flag, std::string_view setting, std::string value);
  /// The same, but left out if the image has none.
  void wish(Spellings flag, std::string value);
  void wish(Spellings flag);
  [[nodiscard]] bool can(Spellings flag) const { return !spelling(flag).empty(); }
  void append(const std::vector<std::string>& more);
  /// The first need that could not be met ends it.
  [[nodiscard]] Result<std::vector<std::string>> take();

  [[nodiscard]] const EngineCapabilities& image() const { return image_; }
  [[nodiscard]] const std::string& image_name() const { return image_name_; }
  [[nodiscard]] const std::vector<std::string>& list() const { return list_; }

 private:
  [[nodiscard]] std::string spelling(Spellings flag) const;

  const EngineCapabilities& image_;
  std::string image_name_;
  std::vector<std::string> list_;
  Status status_;
};

/// The error of a flag that `image` lacks and `setting` needs.
Error flag_missing(const std::string& flag, std::string_view setting, const std::string& image);

}  // namespace k3d::engine
