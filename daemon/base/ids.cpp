#include "daemon/base/ids.hpp"

#include <algorithm>

namespace k3d {
namespace {

bool alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool is_part(std::string_view text, std::size_t most) {
  return !text.empty() && text.size() <= most && alphanumeric(text.front()) &&
         text.find("..") == std::string_view::npos && std::all_of(text.begin(), text.end(), [](char c) {
           return alphanumeric(c) || c == '.' || c == '_' || c == '-';
         });
}

}  // namespace

bool is_name(std::string_view text) { return is_part(text, 64); }

bool is_repo_id(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && is_part(text.substr(0, slash), 96) && is_part(text.substr(slash + 1), 96);
}

bool is_commit(std::string_view text) {
  return text.size() == 40 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace k3d
