// How long a model's headers take to read, and how much memory: gguf_headers FILE [ROUNDS], any file of the set.
// Ends with 1 if a gate is missed.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "daemon/planning/gguf_reader.hpp"

namespace {

constexpr double kMostMilliseconds = 100;
constexpr long kMostKiB = 64 * 1000 * 1000 / 1024;

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: gguf_headers FILE [ROUNDS]\n", stderr);
    return 2;
  }
  const int rounds = std::max(argc > 2 ? std::atoi(argv[2]) : 7, 1);
  std::vector<double> times;
  std::size_t shards = 0, tensors = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const auto model = k3d::planning::read_model(std::filesystem::path(argv[1]));
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    if (!model) {
      std::fprintf(stderr, "%s\n", model.error().text().c_str());
      return 1;
    }
    shards = model->shards.size();
    tensors = model->tensors.size();
  }
  std::sort(times.begin(), times.end());
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const double median = times[times.size() / 2];
  std::printf("headers    %zu shards, %zu tensors: median %.1f ms of %d, slowest %.1f ms, %.1f MB of memory\n", shards,
              tensors, median, rounds, times.back(), static_cast<double>(usage.ru_maxrss) * 1024 / 1e6);
  return median < kMostMilliseconds && usage.ru_maxrss < kMostKiB ? 0 : 1;
}
