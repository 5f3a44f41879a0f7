#include "daemon/base/sha256.hpp"

#include <openssl/evp.h>

#include <array>

namespace k3d {

std::string sha256_hex(std::string_view data) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(data.data(), data.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string out;
  for (unsigned i = 0; i < size; ++i) {
    out += kDigits[digest[i] >> 4U];
    out += kDigits[digest[i] & 15U];
  }
  return out;
}

}  // namespace k3d
