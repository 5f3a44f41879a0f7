// SHA-256 by OpenSSL.
#pragma once

#include <string>
#include <string_view>

namespace k3d {

/// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view data);

}  // namespace k3d
