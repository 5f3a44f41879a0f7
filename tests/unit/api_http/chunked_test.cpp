// The chunk scanner: where a body ends, however its bytes arrive, and what is refused (F72).
#include "api/http/chunked.hpp"

#include <gtest/gtest.h>

namespace k3d::api {
namespace {

struct Scanned {
  bool fine = true;
  bool done = false;
  std::size_t used = 0;
  std::string payload;
};

Scanned scan(std::string_view bytes, std::size_t step) {
  Scanned out;
  ChunkScanner scanner;
  while (out.used < bytes.size() && !scanner.done()) {
    const auto used = scanner.consume(bytes.substr(out.used, step), out.payload);
    if (!used) {
      out.fine = false;
      return out;
    }
    out.used += *used;
  }
  out.done = scanner.done();
  return out;
}

TEST(ChunkScanner, finds_the_end_however_the_bytes_arrive) {
  const std::string body = "5\r\nhello\r\n00A;name=\"v\"\r\n, world!!!\r\n0\r\nTrailer: dropped\r\n\r\n";
  for (std::size_t step = 1; step <= body.size() + 4; ++step) {
    const Scanned out = scan(body + "GET", step);
    EXPECT_TRUE(out.fine && out.done) << step;
    EXPECT_EQ(out.payload, "hello, world!!!") << step;
    EXPECT_EQ(out.used, body.size()) << step;
  }
}

TEST(ChunkScanner, F72_malformed) {
  for (const char* body :
       {"5\nhello\n0\n\n", "5\r\nhelloX\r\n", "5\r\nhello\r0\r\n\r\n", "5\r\nhello\n", "\r\n", ";x\r\n", "x\r\n",
        "-1\r\n", "+1\r\n", "0x1\r\n", " 1\r\n", "1 \r\n", "1\t;x\r\n", "10000000000000000\r\n",
        "ffffffffffffffffff\r\n", "0\r\nA: b\n\r\n", "0\r\n\rX", "5;a\x01\r\n", "0\r\nA: \x01\r\n\r\n"}) {
    EXPECT_FALSE(scan(body, 64).fine) << body;
    EXPECT_FALSE(scan(body, 1).fine) << body;
  }
}

TEST(ChunkScanner, F72_extensions_and_trailers_are_bounded) {
  EXPECT_TRUE(scan("1;" + std::string(4000, 'x') + "\r\na\r\n0\r\n\r\n", 64).done);
  EXPECT_FALSE(scan("1;" + std::string(20'000, 'x') + "\r\na\r\n0\r\n\r\n", 64).fine);
  EXPECT_FALSE(scan("0\r\nT: " + std::string(20'000, 'x') + "\r\n\r\n", 64).fine);
}

TEST(ChunkScanner, skip_finds_the_same_end) {
  ChunkScanner scanner;
  EXPECT_EQ(scanner.skip("3\r\nabc\r\n0\r\n\r\nmore"), 13U);
  EXPECT_TRUE(scanner.done());
}

}  // namespace
}  // namespace k3d::api
