#include "daemon/engine/fit_params.hpp"

#include <algorithm>
#include <array>
#include <sstream>

namespace k3d::engine {
namespace {

/// Flags of llama-server that decide memory and that llama-fit-params has as well; each takes a value.
constexpr auto kTaken = std::to_array<std::string_view>(
    {"--model", "-m", "--ctx-size", "-c", "--parallel", "-np", "--batch-size", "-b", "--ubatch-size", "-ub", "--threads", "-t",
     "--cache-type-k", "-ctk", "--cache-type-v", "-ctv", "--split-mode", "-sm", "--device", "-dev", "--fit", "-fit",
     "--fit-target", "-fitt", "-ngl", "--n-gpu-layers", "--gpu-layers", "--n-cpu-moe", "-ncmoe", "--override-tensor", "-ot",
     "--tensor-split", "-ts"});
/// What a fit is asked by; and -c, which is among what it answers though the context is asked for already.
constexpr std::array<std::string_view, 5> kOfFit{"--fit", "-fit", "--fit-target", "-fitt", "-c"};

bool among(std::string_view word, const auto& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool of_fit(std::string_view flag) { return among(flag, kOfFit); }

/// The words of a line, what is in double quotes being one.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false, begun = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
      begun = true;
    } else if (c == ' ' && !quoted) {
      if (begun) words.push_back(word);
      word.clear();
      begun = false;
    } else {
      word += c;
      begun = true;
    }
  }
  if (begun) words.push_back(word);
  return words;
}

struct Row {
  std::string device;
  Buffers buffers;
};

std::optional<Row> row_of(const std::string& line) {
  std::istringstream words(line);
  Row row;
  double model = -1, context = -1, compute = -1;
  words >> row.device >> model >> context >> compute;
  constexpr double kMost = 1e9;
  const bool sizes = std::min({model, context, compute}) >= 0 && std::max({model, context, compute}) < kMost;
  if (words.fail() || !sizes) return std::nullopt;
  const auto bytes = [](double mib) { return static_cast<Bytes>(mib) * kMiB; };
  row.buffers = {bytes(model), bytes(context), bytes(compute)};
  return row;
}

}  // namespace

std::vector<std::string> fit_params_arguments(const std::vector<std::string>& argv) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i + 1 < argv.size(); ++i) {
    if (!among(argv[i], kTaken)) continue;
    out.push_back(argv[i]);
    out.push_back(argv[++i]);
  }
  return out;
}

bool asks_for_fit(const std::vector<std::string>& argv) {
  const auto fit = std::find_if(argv.begin(), argv.end(), [](const std::string& arg) { return arg == "--fit" || arg == "-fit"; });
  return fit != argv.end() && fit + 1 != argv.end() && *(fit + 1) == "on";
}

std::vector<std::string> fitted_arguments(std::string_view answer) {
  std::vector<std::string> words = words_of(answer);
  const bool good = !words.empty() && words.size() % 2 == 0 && among(words.front(), std::array<std::string_view, 2>{"-c", "-ngl"});
  return good ? words : std::vector<std::string>{};
}

std::vector<std::string> with_fitted(const std::vector<std::string>& asked, const std::vector<std::string>& fitted) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i + 1 < asked.size(); i += 2) {
    if (of_fit(asked[i]) && asked[i] != "-c") continue;
    out.insert(out.end(), {asked[i], asked[i + 1]});
  }
  for (std::size_t i = 0; i + 1 < fitted.size(); i += 2) {
    if (!of_fit(fitted[i])) out.insert(out.end(), {fitted[i], fitted[i + 1]});
  }
  return out;
}

std::optional<Breakdown> fit_params_figures(const std::vector<std::string>& lines) {
  LogSigns signs;
  bool host = false;
  for (const std::string& line : lines) {
    const auto row = row_of(line);
    if (!row) continue;
    host = host || row->device == "Host";
    // By the names that the engine's log uses.
    signs.buffers[row->device == "Host" ? "CPU" : row->device] = row->buffers;
  }
  return host ? std::optional(breakdown(signs)) : std::nullopt;
}

}  // namespace k3d::engine
