#include "daemon/adapters/hf_hub.hpp"

#include <functional>
#include <random>

#include "daemon/adapters/curl_thread.hpp"
#include "daemon/adapters/hf_hub_api.hpp"
#include "daemon/adapters/hf_hub_pace.hpp"
#include "daemon/adapters/hf_hub_tree.hpp"
#include "daemon/base/async/offload.hpp"
#include "daemon/base/async/sleep.hpp"
#include "daemon/base/log.hpp"

namespace k3d::adapters {
namespace {

constexpr int kMostHops = 5;
constexpr milliseconds kPageLimit{60'000};

/// The end of one try, wherever redirects led.
struct Fetched {
  CurlAnswer answer;
  Linked linked;
  std::string host;
  bool elsewhere = false;  ///< at another origin than the hub's own
};
using Tried = std::expected<Fetched, HubTrouble>;

class HfHub final : public Hub {
 public:
  explicit HfHub(HfHubOptions options)
      : options_(std::move(options)), random_(std::random_device{}()), thread_(options_.transfers) {
    log::redact(options_.token.reveal());
    while (options_.endpoint.ends_with('/')) options_.endpoint.pop_back();
  }

  Task<Result<std::vector<HubFile>>> list(HubFolder folder) override;
  Task<Result<HubBytes>> read(HubRange range) override;

 private:
  /// Whether what was fetched will do.
  using Judge = std::function<Status(const Fetched&)>;

  Task<Result<Fetched>> ask(CurlRequest request, Judge judge);
  Task<Tried> attempt(CurlRequest request);
  Task<bool> wait_for_turn();
  [[nodiscard]] CurlRequest request_of(std::string url, Bytes body_limit) const;

  HfHubOptions options_;
  std::minstd_rand random_;
  SteadyTime not_before_;  ///< for every request: the hub paces its client, not one file
  SteadyTime progress_;
  CurlThread thread_;
  asio::thread_pool parser_{1};  ///< a page of thousands of files takes longer than a loop may be held up
};

/// Goes on with the next host of a chain of redirects.
std::expected<void, HubTrouble> redirect(CurlRequest& request, const CurlAnswer& answer) {
  const Result<Hop> hop = follow(request.url, answer.header("location"));
  if (!hop) return std::unexpected(HubTrouble{hop.error()});
  // Someone who reaches a hub of this network by a private address may be sent about within it; the internet's hub has
  // no business there.
  if (!answer.proxied && !is_private_address(answer.address)) request.public_only = true;
  if (!hop->same_origin) request.bearer = Secret();
  request.url = hop->url;
  return {};
}

bool is_redirect(int status) { return status == 301 || status == 302 || status == 303 || status == 307 || status == 308; }

/// Of a server that ends an answer without having said how long it is: libcurl can't know that something is missing.
bool is_short(const CurlAnswer& answer, const CurlRequest& request) {
  return answer.status == 206 && request.range && answer.body.size() < request.range->length;
}

HubTrouble ended_early(const std::string& host) {
  return {Error{Code::unreachable, host + " ended its answer early", {}, {}}, true};
}

Status judge_part(const Fetched& fetched, const HubRange& range) {
  if (Status linked = check_linked(fetched.linked, range); !linked) return linked;
  return check_part(fetched.answer, range);
}

CurlRequest HfHub::request_of(std::string url, Bytes body_limit) const {
  CurlRequest request;
  request.url = std::move(url);
  request.bearer = options_.token;
  request.body_limit = body_limit;
  return request;
}

Task<bool> HfHub::wait_for_turn() {
  for (auto now = std::chrono::steady_clock::now(); now < not_before_; now = std::chrono::steady_clock::now()) {
    const auto wait = std::chrono::ceil<milliseconds>(not_before_ - now);
    if (!co_await sleep_for(wait)) co_return false;
  }
  co_return true;
}

Task<Tried> HfHub::attempt(CurlRequest request) {
  Fetched fetched;
  for (int hop = 0; hop <= kMostHops; ++hop) {
    fetched.host = host_of(request.url);
    fetched.answer = co_await thread_.fetch(request);
    if (!fetched.elsewhere) read_linked(fetched.answer, fetched.linked);
    auto trouble = trouble_of(fetched.answer, fetched.host, fetched.elsewhere, std::chrono::system_clock::now());
    if (trouble) co_return std::unexpected(std::move(*trouble));
    progress_ = std::chrono::steady_clock::now();
    if (is_short(fetched.answer, request)) co_return std::unexpected(ended_early(fetched.host));
    if (!is_redirect(fetched.answer.status)) co_return fetched;
    if (auto moved = redirect(request, fetched.answer); !moved) co_return std::unexpected(moved.error());
    fetched.elsewhere = host_of(request.url) != host_of(options_.endpoint);
  }
  co_return std::unexpected(HubTrouble{Error{Code::protocol, "the hub's redirects lead on and on", {}, {}}});
}

Task<Result<Fetched>> HfHub::ask(CurlRequest request, Judge judge) {
  HubPace pace(std::chrono::steady_clock::now(), options_.patience);
  for (;;) {
    if (!co_await wait_for_turn()) co_return fail(Code::cancelled, "the question to the hub was cancelled");
    Tried tried = co_await attempt(request);
    if (tried) {
      if (Status fine = judge(*tried); !fine) co_return fail(fine.error());
      co_return std::move(*tried);
    }
    const HubTrouble& trouble = tried.error();
    const auto now = std::chrono::steady_clock::now();
    const auto wait = pace.next(trouble, now, progress_, std::uniform_real_distribution<>(0, 1)(random_));
    if (!wait) co_return fail(trouble.error);
    log::debug("the hub is asked again", {{"why", trouble.error.text()}, {"in_ms", wait->count()}});
    if (trouble.wait) not_before_ = std::max(not_before_, now + *wait);
    if (!co_await sleep_for(*wait)) co_return fail(Code::cancelled, "the question to the hub was cancelled");
  }
}

Task<Result<std::vector<HubFile>>> HfHub::list(HubFolder folder) {
  if (const Status names = check_names(folder.repo, folder.revision, folder.path); !names) co_return fail(names.error());
  const auto tree = std::make_shared<HubTree>(folder);
  std::optional<std::string> url(tree_url(options_.endpoint, folder));
  while (url) {
    CurlRequest request = request_of(*url, TreeLimits::page);
    request.limit = kPageLimit;
    Judge judge = [](const Fetched& page) -> Status {
      return page.answer.cut ? fail(Code::protocol, "the hub's list of files is endless") : Status();
    };
    Result<Fetched> page = co_await ask(std::move(request), std::move(judge));
    if (!page) co_return fail(page.error());
    auto add = [tree, body = std::move(page->answer.body)] { return tree->add_page(body); };
    if (const Status added = co_await offload(parser_, std::move(add)); !added) co_return fail(added.error());
    const auto next = next_page(page->answer.header("link"));
    if (!next) break;
    const Result<Hop> hop = follow(*url, *next);
    // The token goes along to the next page: it must be of the hub.
    if (!hop || !hop->same_origin) co_return fail(Code::protocol, "the hub's list of files goes on at another host");
    url = hop->url;
  }
  co_return tree->take();
}

Task<Result<HubBytes>> HfHub::read(HubRange range) {
  const HubFile& file = range.file;
  if (const Status names = check_names(range.repo, range.revision, file.path); !names) co_return fail(names.error());
  if (range.length == 0 || range.offset >= file.size || range.length > file.size - range.offset) {
    co_return fail(Code::invalid_request, "that range is not within " + file.path);
  }
  CurlRequest request = request_of(file_url(options_.endpoint, range), range.length);
  request.range = ByteRange{range.offset, range.length};
  if (!range.version.empty()) request.headers.push_back("If-Range: " + range.version);
  Judge judge = [range](const Fetched& part) { return judge_part(part, range); };
  Result<Fetched> part = co_await ask(std::move(request), std::move(judge));
  if (!part) co_return fail(part.error());
  std::string version = version_of(part->answer);
  co_return HubBytes{std::move(part->answer.body), std::move(version)};
}

}  // namespace

std::unique_ptr<Hub> hf_hub(HfHubOptions options) { return std::make_unique<HfHub>(std::move(options)); }

}  // namespace k3d::adapters
