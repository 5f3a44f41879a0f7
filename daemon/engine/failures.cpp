#include "daemon/engine/failures.hpp"

#include <algorithm>

#include "daemon/base/json.hpp"
#include "daemon/engine/catalogue.hpp"

namespace k3d::engine {
namespace {

constexpr std::size_t kExcerptLines = 20;

bool any_line(const std::vector<std::string>& lines, std::string_view pattern) {
  return std::any_of(lines.begin(), lines.end(),
                     [pattern](const std::string& line) { return line.find(pattern) != std::string::npos; });
}

const CatalogueRow* find_row(const Evidence& evidence) {
  for (const CatalogueRow& row : kCatalogue) {
    if (row.when_ready == 1 && !evidence.ready) continue;
    if (row.when_ready == 0 && evidence.ready) continue;
    if (!any_line(evidence.lines, row.pattern)) continue;
    if (!row.second_pattern.empty() && !any_line(evidence.lines, row.second_pattern)) continue;
    return &row;
  }
  return nullptr;
}

struct Plain {
  const char* code;
  const char* title;
  const char* advice;
  bool retryable;
};

/// What the exit code alone says.
Plain by_exit_code(const Evidence& evidence) {
  const int code = evidence.exit_code.value_or(-1);
  if (evidence.oom_killed && code == 137) {
    return {"oom", "The kernel killed the engine for memory", "free RAM, or lower cache_ram, ctx_checkpoints or slots", false};
  }
  switch (code) {
    case 126:
    case 127: return {"image_error", "The image's program can't be run", "check the image: its entrypoint must be llama-server", false};
    case 137: return {"killed", "The engine was killed", "look for who sent SIGKILL: the kernel (`dmesg`), Docker's restart, or a person", true};
    case 143: return {"killed", "The engine was told to end", "look for who stopped the container", true};
    case 132:
    case 134:
    case 135:
    case 136:
    case 139: return {"crash", "The engine crashed", "the log's last lines say where; try another image", true};
    case 0: return {"exited", "The engine ended by itself", "look at its log: k3ctl logs", true};
    default: return {"exited", "The engine ended with an error", "look at its log: k3ctl logs", true};
  }
}

std::vector<std::string> excerpt(const std::vector<std::string>& lines) {
  std::vector<std::string> last;
  const std::size_t begin = lines.size() > kExcerptLines ? lines.size() - kExcerptLines : 0;
  for (std::size_t i = begin; i < lines.size(); ++i) last.push_back(printable(lines[i]));
  return last;
}

/// The line that shows the failure: the first with the row's pattern.
std::string telling_line(const Evidence& evidence, std::string_view pattern) {
  for (const std::string& line : evidence.lines) {
    if (line.find(pattern) != std::string::npos) return printable(line);
  }
  return {};
}

}  // namespace

std::string printable(std::string_view line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\x1b') {  // a terminal escape: to its final letter
      while (i + 1 < line.size() && !((line[i] >= 'A' && line[i] <= 'Z') || (line[i] >= 'a' && line[i] <= 'z'))) ++i;
      continue;
    }
    plain += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  const Result<Json> utf8 = parse_json(dump_json(Json(plain)));
  return utf8 ? utf8->get<std::string>() : std::string();
}

Failure classify(const Evidence& evidence) {
  Failure failure;
  failure.exit_code = evidence.exit_code;
  failure.log_excerpt = excerpt(evidence.lines);
  const std::string ended = "exit code " + (evidence.exit_code ? std::to_string(*evidence.exit_code) : std::string("unknown"));
  const CatalogueRow* row = evidence.oom_killed ? nullptr : find_row(evidence);
  if (row == nullptr) {
    const Plain plain = by_exit_code(evidence);
    failure.code = plain.code;
    failure.title = plain.title;
    failure.advice = plain.advice;
    failure.retryable = plain.retryable;
    failure.detail = ended + (failure.log_excerpt.empty() ? "" : "; last line: " + failure.log_excerpt.back());
    return failure;
  }
  failure.code = row->code;
  failure.title = row->title;
  failure.advice = row->advice;
  failure.retryable = row->retryable;
  failure.detail = ended + "; " + telling_line(evidence, row->pattern);
  return failure;
}

Failure load_stalled(const std::string& profile, std::uint64_t attempt, seconds limit, std::vector<std::string> lines) {
  Failure failure;
  failure.code = "load_stalled";
  failure.title = "The load stands still";
  failure.detail = "no bytes read, no CPU time and no log line for " + format_duration(limit);
  failure.advice = "check the disk under the weights, and that kernel.numa_balancing is 0";
  failure.retryable = true;
  failure.profile = profile;
  failure.attempt = attempt;
  failure.log_excerpt = excerpt(lines);
  return failure;
}

}  // namespace k3d::engine
