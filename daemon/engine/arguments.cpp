#include "daemon/engine/arguments.hpp"

namespace k3d::engine {

Error flag_missing(const std::string& flag, std::string_view setting, const std::string& image) {
  return {Code::flag_missing,
          "the engine image " + image + " has no " + flag + ", which " + std::string(setting) + " needs",
          "use an image of a newer llama.cpp, or change " + std::string(setting),
          {}};
}

std::string Arguments::spelling(Spellings flag) const {
  for (const char* candidate : flag) {
    if (image_.has(candidate)) return candidate;
  }
  return {};
}

void Arguments::need(Spellings flag, std::string_view setting, std::string value) {
  const std::string found = spelling(flag);
  if (found.empty()) {
    if (status_) status_ = fail(flag_missing(*flag.begin(), setting, image_name_));
    return;
  }
  list_.push_back(found);
  list_.push_back(std::move(value));
}

void Arguments::wish(Spellings flag, std::string value) {
  const std::string found = spelling(flag);
  if (found.empty()) return;
  list_.push_back(found);
  list_.push_back(std::move(value));
}

void Arguments::wish(Spellings flag) {
  if (std::string found = spelling(flag); !found.empty()) list_.push_back(std::move(found));
}

void Arguments::append(const std::vector<std::string>& more) {
  list_.insert(list_.end(), more.begin(), more.end());
}

Result<std::vector<std::string>> Arguments::take() {
  if (!status_) return fail(status_.error());
  return std::move(list_);
}

}  // namespace k3d::engine
