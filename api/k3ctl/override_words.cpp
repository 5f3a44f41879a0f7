#include "api/k3ctl/override_words.hpp"

#include "daemon/base/json.hpp"

namespace k3d::cli {

std::vector<std::string> override_words(const Json& set) {
  std::vector<std::string> words;
  if (!set.is_object()) return words;
  for (const auto& [key, value] : set.items()) {
    words.push_back(key + "=" + (value.is_string() ? value.get<std::string>() : dump_json(value)));
  }
  return words;
}

std::string override_text(const Json& set) {
  std::string out;
  for (const std::string& word : override_words(set)) out += (out.empty() ? "" : " ") + word;
  return out;
}

}  // namespace k3d::cli
