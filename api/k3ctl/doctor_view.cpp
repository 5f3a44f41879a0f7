#include "api/k3ctl/doctor_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/k3ctl/safe_text.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {
namespace {

/// What the word before a code's first _ stands for.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kGroups{{{"gpu", "GPUs"},
                                                                                {"docker", "Docker"},
                                                                                {"cpu", "Processors"},
                                                                                {"memory", "Memory"},
                                                                                {"disk", "Disks"},
                                                                                {"service", "Other engines"},
                                                                                {"network", "Network"},
                                                                                {"clock", "Clock"}}};

struct Mark {
  std::string_view result, word, colour;
};
constexpr std::array<Mark, 4> kMarks{
    {{"pass", "ok  ", "\x1b[32m"}, {"warn", "warn", "\x1b[33m"}, {"fail", "FAIL", "\x1b[31;1m"}, {"skip", "-   ", "\x1b[2m"}}};

struct Check {
  std::string code, result, measured, why, fix;
  [[nodiscard]] std::string group() const { return code.substr(0, code.find('_')); }
  [[nodiscard]] bool complains() const { return result == "fail" || result == "warn"; }
};

std::vector<Check> checks_of(const Json& host) {
  std::vector<Check> checks;
  for (const Json& check : json_member(host, "checks")) {
    const auto text = [&check](const char* key) { return safe_text(json_string(check, key).value_or("")); };
    checks.push_back({text("code"), text("result"), text("measured"), text("why"), text("fix")});
  }
  return checks;
}

std::string title_of(const std::string& group) {
  const auto named = std::find_if(kGroups.begin(), kGroups.end(), [&](const auto& pair) { return pair.first == group; });
  return named == kGroups.end() ? group : std::string(named->second);
}

std::string mark_of(const std::string& result, bool colours) {
  const auto mark = std::find_if(kMarks.begin(), kMarks.end(), [&](const Mark& m) { return m.result == result; });
  if (mark == kMarks.end()) return result;
  if (!colours) return std::string(mark->word);
  return std::string(mark->colour) + std::string(mark->word) + "\x1b[0m";
}

std::string lines_of(const Check& check, bool colours) {
  std::string out = fmt::format("  {}  {:<22}  {}\n", mark_of(check.result, colours), check.code, check.measured);
  if (check.complains() && !check.why.empty()) out += "          why: " + check.why + "\n";
  const bool helps = check.complains() || check.result == "skip";
  if (helps && !check.fix.empty()) out += "          -> " + check.fix + "\n";
  return out;
}

std::string summary_of(const std::vector<Check>& checks) {
  const auto count = [&checks](std::string_view result) {
    return std::count_if(checks.begin(), checks.end(), [result](const Check& check) { return check.result == result; });
  };
  return fmt::format("{} failed, {} to look at, {} fine, {} can't be told\n", count("fail"), count("warn"), count("pass"),
                     count("skip"));
}

}  // namespace

std::string doctor_page(const Json& host, bool colours) {
  const std::vector<Check> checks = checks_of(host);
  std::string out, group;
  for (const Check& check : checks) {
    if (check.group() != group) {
      group = check.group();
      out += title_of(group) + "\n";
    }
    out += lines_of(check, colours);
  }
  return out + "\n" + summary_of(checks);
}

bool any_check_failed(const Json& host) {
  const std::vector<Check> checks = checks_of(host);
  return std::any_of(checks.begin(), checks.end(), [](const Check& check) { return check.result == "fail"; });
}

}  // namespace k3d::cli
