#include "api/proxy/access.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "daemon/base/sha256.hpp"

namespace k3d::proxy {
namespace {

constexpr std::array<std::string_view, 13> kPaths{
    "/completion", "/completions", "/chat/completions", "/infill", "/embedding",      "/embeddings", "/rerank",
    "/reranking",  "/tokenize",    "/detokenize",       "/health", "/apply-template", "/models"};

bool is_digest(std::string_view text) {
  return text.size() == 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool starts_with_bearer(std::string_view text) {
  constexpr std::string_view kBearer = "bearer ";
  return text.size() > kBearer.size() && std::equal(kBearer.begin(), kBearer.end(), text.begin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b + 32) : b);
         });
}

}  // namespace

bool exposed(Expose expose, std::string_view method, std::string_view path) {
  if (expose == Expose::all) return true;
  if (path.starts_with("/v1/")) return true;
  if (path == "/props") return method == "GET" || method == "HEAD";
  return std::find(kPaths.begin(), kPaths.end(), path) != kPaths.end();
}

Result<ApiKeys> ApiKeys::parse(std::string_view text, const std::filesystem::path& file) {
  ApiKeys keys;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string name;
    std::string digest;
    std::string more;
    if (!(words >> name) || name.starts_with('#')) continue;
    words >> digest;
    std::transform(digest.begin(), digest.end(), digest.begin(),
                   [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
    if (!is_digest(digest) || words >> more) {
      return fail(Code::config_invalid, file.string() + ":" + std::to_string(number) + ": not an API key line",
                  "write NAME SHA256HEX, the SHA-256 of the key: printf %s KEY | sha256sum");
    }
    keys.names_[digest] = name;
  }
  return keys;
}

std::optional<std::string> ApiKeys::name_of(std::string_view key) const {
  // The look-up is by digest: how long it takes tells nothing about the key.
  const auto found = names_.find(sha256_hex(key));
  if (key.empty() || found == names_.end()) return std::nullopt;
  return found->second;
}

std::string presented_key(std::string_view authorization, std::string_view x_api_key) {
  if (starts_with_bearer(authorization)) return std::string(authorization.substr(7));
  return std::string(x_api_key);
}

}  // namespace k3d::proxy
