#include "daemon/engine/failures.hpp"

#include <algorithm>

#include "daemon/engine/failure_table.hpp"
#include "daemon/engine/log_reader.hpp"

namespace k3d::engine {
namespace {

constexpr std::size_t kExcerptLines = 20;
constexpr std::size_t kExcerptBytes = 500;  ///< of one line

/// The decisive line of a log, and the row that it matched.
struct Finding {
  const FailureRow* row = nullptr;
  std::size_t line = 0;
};

/// Whether `text` holds `pattern`, in which * is anything; from the beginning if `anchored`.
bool holds(std::string_view text, std::string_view pattern, bool anchored) {
  std::size_t at = 0;
  bool fixed = anchored;
  while (!pattern.empty()) {
    const std::string_view piece = pattern.substr(0, pattern.find('*'));
    const std::size_t found = text.find(piece, at);
    if (found == std::string_view::npos || (fixed && found != at)) return false;
    at = found + piece.size();
    fixed = false;
    pattern.remove_prefix(std::min(piece.size() + 1, pattern.size()));
  }
  return true;
}

bool is_of(const FailureRow& row, LineLevel level) {
  switch (row.lines) {
    case Lines::error:
      return level == LineLevel::error;
    case Lines::warning:
      return level == LineLevel::warning;
    case Lines::bare:
      return level == LineLevel::bare;
    case Lines::error_or_bare:
      return level == LineLevel::error || level == LineLevel::bare;
  }
  return false;
}

/// "/src/ggml/src/ggml-cuda/ggml-cuda.cu:106: CUDA error": how the engine says why it aborts.
bool is_abort(const EngineLine& line) {
  return line.level == LineLevel::bare && line.text.starts_with('/') && holds(line.text, "*.c*:*: ", true);
}

bool matches(const FailureRow& row, const EngineLine& line, bool ready) {
  if (row.pattern.empty() || !is_of(row, line.level)) return false;
  // Once it serves, bare lines may be the text of requests: only the engine's own last words count then.
  const bool bare = line.level == LineLevel::bare;
  if (bare && ready && !is_abort(line) && !line.text.starts_with(row.pattern)) return false;
  return holds(line.text, row.pattern, row.lines == Lines::bare) && holds(line.text, row.also, false);
}

bool ran_out_of_memory(const std::vector<EngineLine>& lines, bool ready) {
  const auto table = failure_table();
  return std::any_of(table.begin(), table.end(), [&lines, ready](const FailureRow& row) {
    if (row.code != "cuda_out_of_memory" && row.code != "oom") return false;
    return std::any_of(lines.begin(), lines.end(),
                       [&row, ready](const EngineLine& line) { return matches(row, line, ready); });
  });
}

Finding find_row(const std::vector<EngineLine>& lines, bool ready) {
  for (const FailureRow& row : failure_table()) {
    if (row.moment == (ready ? Moment::loading : Moment::serving)) continue;
    if (row.after_out_of_memory && !ran_out_of_memory(lines, ready)) continue;
    for (std::size_t i = lines.size(); i > 0; --i) {
      if (matches(row, lines[i - 1], ready)) return {&row, i - 1};
    }
  }
  return {};
}

const FailureRow* find_code(std::string_view code) {
  const auto table = failure_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [code](const FailureRow& row) { return row.code == code; });
  return found == table.end() ? nullptr : &*found;
}

Failure of_row(const FailureRow& row) {
  Failure failure;
  failure.code = row.code;
  failure.title = row.title;
  failure.advice = row.advice;
  failure.retryable = row.retryable;
  return failure;
}

std::string shortened(std::string text) {
  if (text.size() <= kExcerptBytes) return text;
  std::size_t end = kExcerptBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) --end;
  return text.substr(0, end) + "…";
}

bool is_backtrace(const EngineLine& line) {
  return holds(line.text, "/*(*+0x*)[0x", true);
}

/// What people want to see first: trouble, and before the engine served also lines of others than llama-server's log.
bool is_relevant(const EngineLine& line, bool ready) {
  if (line.text.empty() || is_backtrace(line)) return false;
  if (line.level == LineLevel::error || line.level == LineLevel::warning) return true;
  return line.level == LineLevel::bare && (!ready || is_abort(line));
}

template <class Wanted>
std::vector<std::size_t> choose(const std::vector<EngineLine>& lines, Wanted wanted) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (wanted(lines[i])) chosen.push_back(i);
  }
  return chosen;
}

std::vector<std::string> excerpt(const std::vector<EngineLine>& lines, const std::vector<std::string>& raw, bool ready,
                                 std::optional<std::size_t> decisive) {
  std::vector<std::size_t> chosen = choose(lines, [ready](const EngineLine& line) { return is_relevant(line, ready); });
  // Without any trouble in it, its end at least says how far the engine came; without the text of requests.
  if (chosen.empty()) chosen = choose(lines, [](const EngineLine& line) { return line.level == LineLevel::info; });
  if (chosen.size() > kExcerptLines) chosen.erase(chosen.begin(), chosen.end() - kExcerptLines);
  if (decisive && std::find(chosen.begin(), chosen.end(), *decisive) == chosen.end()) {
    if (chosen.size() == kExcerptLines) chosen.erase(chosen.begin());
    chosen.insert(chosen.begin(), *decisive);
  }
  std::vector<std::string> text;
  for (const std::size_t i : chosen) text.push_back(shortened(printable(raw[i])));
  return text;
}

std::vector<EngineLine> read_all(const std::vector<std::string>& raw) {
  std::vector<EngineLine> lines;
  lines.reserve(raw.size());
  for (const std::string& line : raw) lines.push_back(read_engine_line(line));
  return lines;
}

std::string exit_words(const Evidence& evidence) {
  if (!evidence.exit_code) return "its exit code is not known";
  const int code = *evidence.exit_code;
  switch (code) {
    case 134:
      return "exit code 134 (abort)";
    case 137:
      return "exit code 137 (SIGKILL)";
    case 139:
      return "exit code 139 (segmentation fault)";
    case 143:
      return "exit code 143 (SIGTERM)";
    default:
      return "exit code " + std::to_string(code);
  }
}

/// What the exit code alone says; `decided` if the log has nothing to add to it.
struct Verdict {
  std::string_view code;
  bool decided = false;
};

Verdict by_exit(const Evidence& evidence) {
  if (evidence.oom_killed) return {"oom", true};
  if (!evidence.exit_code) return {"crash", false};
  switch (*evidence.exit_code) {
    case 0:    // its own orderly end, which only a signal brings about
    case 137:  // SIGKILL
    case 143:  // SIGTERM while it loaded
      return {"killed", true};
    case 126:
    case 127:
      return {"image_error", false};
    default:
      return {"crash", false};
  }
}

}  // namespace

Failure classify(const Evidence& evidence) {
  const std::vector<EngineLine> lines = read_all(evidence.lines);
  const Verdict verdict = by_exit(evidence);
  const Finding finding = verdict.decided ? Finding{} : find_row(lines, evidence.ready);
  const FailureRow* row = finding.row != nullptr ? finding.row : find_code(verdict.code);
  Failure failure = of_row(*row);
  failure.exit_code = evidence.exit_code;
  std::optional<std::size_t> decisive;
  if (finding.row != nullptr) {
    decisive = finding.line;
  } else if (!verdict.decided) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].level == LineLevel::error || is_abort(lines[i])) decisive = i;
    }
  }
  failure.detail = decisive ? shortened(lines[*decisive].text) : "the engine ended with " + exit_words(evidence);
  if (!decisive && !evidence.exit_code) failure.detail = "the engine ended, and " + exit_words(evidence);
  failure.log_excerpt = excerpt(lines, evidence.lines, evidence.ready, decisive);
  return failure;
}

Failure load_stalled(const std::string& profile, std::uint64_t attempt, seconds limit,
                     const std::vector<std::string>& lines) {
  Failure failure = of_row(*find_code("load_stalled"));
  failure.detail = "for " + format_duration(limit) + " it has read nothing, used no CPU time and logged nothing";
  failure.profile = profile;
  failure.attempt = attempt;
  const std::size_t begin = lines.size() > kExcerptLines ? lines.size() - kExcerptLines : 0;
  for (std::size_t i = begin; i < lines.size(); ++i) failure.log_excerpt.push_back(shortened(printable(lines[i])));
  return failure;
}

std::optional<Failure> catalogued(std::string_view code) {
  const FailureRow* row = find_code(code);
  if (row == nullptr) return std::nullopt;
  return of_row(*row);
}

}  // namespace k3d::engine
