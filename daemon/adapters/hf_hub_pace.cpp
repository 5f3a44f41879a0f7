#include "daemon/adapters/hf_hub_pace.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "daemon/adapters/hf_hub_api.hpp"

namespace k3d::adapters {
namespace {

constexpr milliseconds kLongestStep{15'000};
constexpr seconds kLongestWait{86'400};

HubTrouble broken_off(const CurlAnswer& answer, const std::string& host) {
  return {Error{Code::unreachable, host + " can't be reached",
                "see the network, HTTPS_PROXY, hub.endpoint and hub.ca_file", answer.trouble},
          !answer.refused_here};
}

HubTrouble not_allowed(const CurlAnswer& answer, const std::string& host) {
  return {Error{Code::unreachable, fmt::format("{} does not allow it ({})", host, answer.status),
                "see that the repository is spelled right, and that the token in hub.token_file or HF_TOKEN may read it",
                sample_of(answer.body)}};
}

}  // namespace

std::optional<milliseconds> parse_retry_after(const std::string& text, WallTime now) {
  std::int64_t count = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool digits = !text.empty() && end == text.data() + text.size() && text.front() != '-';
  if (digits && ec == std::errc::result_out_of_range) return kLongestWait;
  if (!digits) {
    const std::time_t date = curl_getdate(text.c_str(), nullptr);
    if (date < 0) return std::nullopt;
    count = date - std::chrono::system_clock::to_time_t(now);
  }
  return seconds(std::clamp<std::int64_t>(count, 0, kLongestWait.count()));
}

std::optional<HubTrouble> trouble_of(const CurlAnswer& answer, const std::string& host, bool signed_host, WallTime now) {
  if (!answer.complete()) return broken_off(answer, host);
  const int status = answer.status;
  if (status < 400 || status == 416) return std::nullopt;
  if (status == 403 && signed_host) {
    Error expired{Code::unreachable, host + " says that an address has expired", {}, sample_of(answer.body)};
    return HubTrouble{std::move(expired), true};
  }
  if (status == 401 || status == 403) return not_allowed(answer, host);
  if (status == 404) return HubTrouble{Error{Code::not_found, host + " has no such thing", {}, sample_of(answer.body)}};
  HubTrouble trouble{Error{Code::unreachable, fmt::format("{} answers {}", host, status), {}, sample_of(answer.body)}};
  trouble.passing = status == 408 || status == 429 || status >= 500;
  trouble.wait = parse_retry_after(answer.header("retry-after"), now);
  if (status == 429) trouble.error.hint = "it limits how often it is asked; a token in hub.token_file allows more";
  return trouble;
}

std::optional<milliseconds> HubPace::next(const HubTrouble& trouble, SteadyTime now, SteadyTime progress, double chance) {
  if (!trouble.passing) return std::nullopt;
  if (progress > progress_) step_ = milliseconds(500);
  progress_ = std::max(progress_, progress);
  // What the hub says is the least; the rest is spread, so that not all come back at once.
  const milliseconds least = trouble.wait.value_or(step_ / 2);
  const milliseconds spread = trouble.wait ? std::max(least / 4, milliseconds(100)) : step_ / 2;
  const milliseconds wait = least + milliseconds(static_cast<std::int64_t>(chance * static_cast<double>(spread.count())));
  step_ = std::min(2 * step_, kLongestStep);
  if (now + wait - progress_ > patience_) return std::nullopt;
  return wait;
}

}  // namespace k3d::adapters
