#include "daemon/base/secret.hpp"

#include <openssl/crypto.h>
#include <sys/random.h>

#include <cstdlib>
#include <vector>

#include "daemon/base/sha256.hpp"

namespace k3d {

bool Secret::matches(std::string_view candidate) const {
  // Comparing digests makes the time independent of both lengths.
  const std::string ours = sha256_hex(value_);
  const std::string theirs = sha256_hex(candidate);
  return !value_.empty() && CRYPTO_memcmp(ours.data(), theirs.data(), ours.size()) == 0;
}

std::string random_hex(std::size_t bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::vector<unsigned char> raw(bytes);
  // The kernel gives up to 256 bytes in one uninterrupted call; k3d never asks for more.
  if (getrandom(raw.data(), raw.size(), 0) != static_cast<ssize_t>(raw.size())) std::abort();
  std::string out;
  for (const unsigned char byte : raw) {
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

}  // namespace k3d
