// Who may send what through the proxy: exposed paths, and API keys. Pure but for reading the keys' file.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/result.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::proxy {

/// Whether `proxy.expose` lets a request with this method and decoded path through.
bool exposed(Expose expose, std::string_view method, std::string_view path);

/// The keys of `proxy.api_keys_file`: lines "NAME SHA256HEX", `#` begins a comment line.
class ApiKeys {
 public:
  /// Errors name file and line, and say how a line looks.
  static Result<ApiKeys> parse(std::string_view text, const std::filesystem::path& file);

  /// The name of the key, or nothing. Takes the same time for every wrong key.
  [[nodiscard]] std::optional<std::string> name_of(std::string_view key) const;
  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  std::map<std::string, std::string, std::less<>> names_;  ///< SHA-256 of the key -> name
};

/// The key in "Authorization: Bearer KEY" or "X-Api-Key: KEY"; empty if there is none.
std::string presented_key(std::string_view authorization, std::string_view x_api_key);

}  // namespace k3d::proxy
