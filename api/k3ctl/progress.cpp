#include "api/k3ctl/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/k3ctl/present.hpp"
#include "api/k3ctl/safe_text.hpp"

namespace k3d::cli {
namespace {

constexpr int kMinBar = 10, kMaxBar = 40;

/// Of the fraction, else of the bytes; nothing if neither is known.
std::optional<double> fraction_of(const Progress& progress) {
  if (progress.fraction && std::isfinite(*progress.fraction)) return std::clamp(*progress.fraction, 0.0, 1.0);
  if (progress.total_bytes == 0) return std::nullopt;
  const double part = static_cast<double>(progress.done_bytes) / static_cast<double>(progress.total_bytes);
  return std::clamp(part, 0.0, 1.0);
}

std::string step_of(const Operation& operation) {
  if (operation.state == OperationState::queued) return "queued";
  return operation.progress.step.empty() ? operation_title(operation) : safe_text(operation.progress.step);
}

/// Everything behind the bar, two spaces before each figure.
std::string figures_of(const Progress& progress) {
  std::string out;
  // Never 100 % before it is done.
  if (const auto fraction = fraction_of(progress)) {
    out += fmt::format("  {:3} %", static_cast<int>(std::floor(*fraction * 100)));
  }
  if (progress.total_bytes > 0) {
    out += "  " + format_bytes(progress.done_bytes) + " of " + format_bytes(progress.total_bytes);
  }
  if (progress.rate_bytes_per_second && *progress.rate_bytes_per_second > 0) {
    out += "  " + rate_text(*progress.rate_bytes_per_second);
  }
  if (progress.eta_seconds) out += "  " + duration_text(*progress.eta_seconds) + " left";
  return out;
}

/// The first `width` characters; UTF-8 stays whole.
std::string cut(const std::string& text, int width) {
  std::string out;
  int used = 0;
  for (const char c : text) {
    const bool starts = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    if (starts && ++used > width) break;
    out += c;
  }
  return out;
}

}  // namespace

std::string progress_line(const Operation& operation, int width) {
  const std::string step = step_of(operation);
  const std::string figures = figures_of(operation.progress);
  const auto fraction = fraction_of(operation.progress);
  const int room = width - static_cast<int>(display_width(step) + display_width(figures)) - 4;
  if (!fraction || room < kMinBar) return cut(step + figures, width);
  const int length = std::min(room, kMaxBar);
  const int filled = static_cast<int>(std::floor(*fraction * length));
  return step + "  [" + std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(length - filled), '.') + "]" + figures;
}

void RateMeter::complete(Progress& progress, SteadyTime now) {
  constexpr seconds kWindow{10}, kLeast{1};
  const bool restarted = progress.step != step_ || (!looks_.empty() && progress.done_bytes < looks_.back().done);
  if (restarted) looks_.clear();
  step_ = progress.step;
  looks_.push_back({now, progress.done_bytes});
  while (looks_.size() > 2 && now - looks_.front().at > kWindow) looks_.pop_front();
  const std::chrono::duration<double> time = now - looks_.front().at;
  if (progress.rate_bytes_per_second || time < kLeast || progress.done_bytes == looks_.front().done) return;
  const double rate = static_cast<double>(progress.done_bytes - looks_.front().done) / time.count();
  progress.rate_bytes_per_second = rate;
  if (!progress.eta_seconds && progress.total_bytes > progress.done_bytes) {
    progress.eta_seconds = static_cast<double>(progress.total_bytes - progress.done_bytes) / rate;
  }
}

std::optional<std::string> PlainProgress::next(const Operation& operation) {
  const std::string step = step_of(operation);
  const auto fraction = fraction_of(operation.progress);
  const int tenth = fraction ? static_cast<int>(std::floor(*fraction * 10)) : -1;
  if (step == step_ && tenth <= tenth_) return std::nullopt;
  step_ = step;
  tenth_ = tenth;
  return step + figures_of(operation.progress);
}

}  // namespace k3d::cli
