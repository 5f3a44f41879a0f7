// The hub's protocol: names, addresses, redirects, answers, lists and the pace of tries. Pure.
#include "daemon/adapters/hf_hub_api.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/adapters/hf_hub_pace.hpp"
#include "daemon/adapters/hf_hub_tree.hpp"

namespace k3d::adapters {
namespace {

using testing::HasSubstr;

const std::string kRevision = "a0836360ce58dfec088d966a97f2ddc8a606279b", kRepo = "unsloth/Kimi-K3-GGUF";
const std::string kSha(64, 'a');
const WallTime kNow = std::chrono::system_clock::from_time_t(1'764'600'000);

CurlAnswer answer_of(int status, std::map<std::string, std::string> headers = {}) {
  CurlAnswer answer;
  answer.status = status;
  answer.headers = std::move(headers);
  return answer;
}

HubRange range_of(Bytes offset, Bytes length, Bytes size = 1000) {
  return {kRepo, kRevision, {"Q2/a.gguf", size, kSha}, offset, length, {}};
}

TEST(HubNames, F93_OnlyOwnerAndNameAndAWholeCommit) {
  EXPECT_TRUE(check_names(kRepo, kRevision, "UD-Q2_K_XL/a-00001-of-00002.gguf"));
  for (const char* repo : {"", "a", "a/", "/b", "a/b/c", "https://h/a", "a@b/c", "../b", "a/..", "a/b?c", "a/b#", "a/b%2e", "-a/b"}) {
    EXPECT_FALSE(check_names(repo, kRevision, "")) << repo;
  }
  for (const std::string& revision : {std::string("main"), std::string(39, 'a'), std::string(40, 'g'), std::string(40, 'A')}) {
    EXPECT_FALSE(check_names(kRepo, revision, "")) << revision;
  }
}

TEST(HubNames, F91_NoPathThatLeavesItsFolder) {
  for (const std::string& path : {std::string("../x"), std::string("/etc/passwd"), std::string("a/../b"), std::string("a//b"),
                                  std::string("a/./b"), std::string("a/"), std::string("a\\b"), std::string("a\nb"),
                                  std::string("a\0b", 3), std::string(2000, 'a')}) {
    EXPECT_FALSE(is_plain_path(path)) << path;
  }
  EXPECT_TRUE(is_plain_path("a b/ü..gguf"));
}

TEST(HubAddresses, AreEncodedAsTheHubWantsThem) {
  EXPECT_EQ(tree_url("https://h", {kRepo, kRevision, "a b/c"}),
            "https://h/api/models/" + kRepo + "/tree/" + kRevision + "/a%20b%2Fc?recursive=true&expand=false");
  HubRange range = range_of(0, 1);
  range.file.path = "Q2/a b?#%.gguf";
  EXPECT_EQ(file_url("https://h/mirror", range), "https://h/mirror/" + kRepo + "/resolve/" + kRevision + "/Q2/a%20b%3F%23%25.gguf");
}

TEST(HubAddresses, TheNextPageIsTheOneThatSaysSo) {
  EXPECT_EQ(next_page(R"(<https://h/x?cursor=a,b>; rel="next")"), "https://h/x?cursor=a,b");
  EXPECT_EQ(next_page(R"(<https://h/1>; rel="first", <https://h/2>; rel="next")"), "https://h/2");
  for (const char* last : {"", "<", "<x>", R"(<https://h/1>; rel="prev")", R"(rel="next")"}) EXPECT_FALSE(next_page(last)) << last;
}

TEST(HubRedirects, F76_LeadOnlyToTheWebAndNeverToLessSecrecy) {
  const std::string from = "https://h/a/b";
  EXPECT_EQ(follow(from, "/c")->url, "https://h/c");
  EXPECT_TRUE(follow(from, "https://h:443/c")->same_origin);
  for (const char* elsewhere : {"https://h:444/c", "https://cdn.h/c", "//other/c"}) EXPECT_FALSE(follow(from, elsewhere)->same_origin);
  EXPECT_FALSE(follow("http://h/a", "https://h/a")->same_origin);
  for (const std::string& bad : {std::string(), std::string("http://h/c"), std::string("file:///etc/passwd"), std::string("ftp://h/"),
                                 std::string("https://user:pw@h/c"), std::string("https://"), std::string(20'000, 'a')}) {
    EXPECT_FALSE(follow(from, bad)) << bad;
  }
}

TEST(HubRedirects, F76_AddressesOfThisNetworkAreKnown) {
  for (const char* inside : {"127.0.0.1", "10.1.2.3", "172.31.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "::1",
                             "::", "fe80::1", "fd00::1", "::ffff:10.0.0.1", "no address"}) {
    EXPECT_TRUE(is_private_address(inside)) << inside;
  }
  for (const char* outside : {"8.8.8.8", "172.32.0.1", "192.169.0.1", "100.128.0.1", "2606:4700::1"}) {
    EXPECT_FALSE(is_private_address(outside)) << outside;
  }
}

TEST(HubParts, F78_ExactlyTheRangeOfAFileOfThatSize) {
  EXPECT_TRUE(check_part(answer_of(206, {{"content-range", "bytes 10-19/1000"}}), range_of(10, 10)));
  for (const char* wrong : {"bytes 10-18/1000", "bytes 0-9/1000", "bytes 10-19/2000", "bytes 10-19/*", ""}) {
    EXPECT_FALSE(check_part(answer_of(206, {{"content-range", wrong}}), range_of(10, 10))) << wrong;
  }
  EXPECT_FALSE(check_part(answer_of(200), range_of(10, 10)));
  EXPECT_FALSE(check_part(answer_of(416), range_of(10, 10)));
  EXPECT_FALSE(check_part(answer_of(206, {{"content-range", "bytes 10-19/1000"}, {"content-encoding", "gzip"}}), range_of(10, 10)));
}

TEST(HubParts, F79_TheFileIsTheListedOne) {
  const auto linked = [](std::map<std::string, std::string> headers) {
    Linked out;
    read_linked(answer_of(302, std::move(headers)), out);
    return out;
  };
  const std::string quoted = "W/\"" + kSha + "\"";
  EXPECT_TRUE(check_linked(linked({{"x-repo-commit", kRevision}, {"x-linked-size", "1000"}, {"x-linked-etag", quoted}}), range_of(0, 1)));
  EXPECT_FALSE(check_linked(linked({{"x-repo-commit", std::string(40, 'b')}}), range_of(0, 1)));
  EXPECT_FALSE(check_linked(linked({{"x-linked-size", "1001"}}), range_of(0, 1)));
  EXPECT_FALSE(check_linked(linked({{"x-linked-etag", '"' + std::string(64, 'b') + '"'}}), range_of(0, 1)));
}

TEST(HubLists, TakesFilesOfAllPages) {
  HubTree tree({kRepo, kRevision, "Q2"});
  ASSERT_TRUE(tree.add_page(R"([{"type":"directory","path":"Q2/x","oid":"0"},{"type":"file","path":"Q2/a.gguf","size":47000000000,"lfs":{"oid":")" +
                            kSha + R"(","size":47000000000,"pointerSize":136}}])"));
  ASSERT_TRUE(tree.add_page(R"([{"type":"file","path":"Q2/README.md","size":12}])"));
  EXPECT_THAT(tree.take(), testing::ElementsAre(HubFile{"Q2/a.gguf", 47'000'000'000, kSha}, HubFile{"Q2/README.md", 12, ""}));
}

TEST(HubLists, F83_WhatIsNotExactIsRefused) {
  for (const char* page : {
           "<!DOCTYPE html><html>", "{}", "", R"({"error":"x"})", R"([{"type":"file","path":"Q2/a"}])",
           R"([{"type":"file","path":"Q2/a","size":-1}])", R"([{"type":"file","path":"Q2/a","size":1e30}])",
           R"([{"type":"file","path":"Q2/a","size":"1"}])", R"([{"type":"file","path":"Q2/../../a","size":1}])",
           R"([{"type":"file","path":"/Q2/a","size":1}])", R"([{"type":"file","path":"Q3/a","size":1}])",
           R"([{"type":"file","path":"Q2/a\u0000b","size":1}])", R"([{"type":"file","size":1}])",
           R"([{"type":"file","path":"Q2/a","size":1},{"type":"file","path":"Q2/a","size":1}])",
           R"([{"type":"file","path":"Q2/a","size":136,"lfs":{"oid":"x","size":136}}])",
           R"([{"type":"file","path":"Q2/a","size":136,"lfs":{"oid":"aa","size":47000000000}}])",
       }) {
    HubTree tree({kRepo, kRevision, "Q2"});
    const Status added = tree.add_page(page);
    ASSERT_FALSE(added) << page;
    EXPECT_EQ(added.error().code, Code::protocol) << page;
  }
}

TEST(HubPaces, F74_RetryAfterInSecondsOrAsADate) {
  EXPECT_EQ(parse_retry_after("7", kNow), milliseconds(7000));
  EXPECT_EQ(parse_retry_after("Mon, 01 Dec 2025 14:40:30 GMT", kNow), milliseconds(30'000));
  EXPECT_EQ(parse_retry_after("Mon, 01 Dec 2025 14:00:00 GMT", kNow), milliseconds(0));
  EXPECT_EQ(parse_retry_after("999999999999999999999", kNow), seconds(86'400));
  for (const char* none : {"", "soon", "-5"}) EXPECT_FALSE(parse_retry_after(none, kNow)) << none;
}

TEST(HubPaces, F74_WaitsAsLongAsTheHubSaysAndABitMore) {
  const SteadyTime now;
  const HubTrouble trouble{Error{}, true, milliseconds(4000)};
  EXPECT_EQ(HubPace(now, seconds(60)).next(trouble, now, now, 0), milliseconds(4000));
  EXPECT_EQ(HubPace(now, seconds(60)).next(trouble, now, now, 1), milliseconds(5000));
  EXPECT_FALSE(HubPace(now, seconds(3)).next(trouble, now, now, 0)) << "longer than its patience";
}

TEST(HubPaces, F75_GivesUpByTimeWithoutProgressAndNotByTries) {
  HubPace pace(SteadyTime(), seconds(60));
  const HubTrouble trouble{Error{}, true};
  SteadyTime now, progress;
  for (int tries = 0; tries < 100; ++tries) {
    const auto wait = pace.next(trouble, now, progress, 1);
    ASSERT_TRUE(wait) << tries;
    now += *wait;
    progress = now;
  }
  int more = 0;
  for (; more < 100; ++more) {
    const auto wait = pace.next(trouble, now, progress, 1);
    if (!wait) break;
    now += *wait;
  }
  EXPECT_GT(more, 3);
  EXPECT_LT(more, 20);
  EXPECT_LE(now - progress, seconds(60));
}

TEST(HubPaces, WhatDoesNotPassIsNotTriedAgain) {
  EXPECT_FALSE(trouble_of(answer_of(206), "h", false, kNow));
  EXPECT_FALSE(trouble_of(answer_of(302), "h", false, kNow));
  for (const int passing : {408, 429, 500, 502, 503, 504}) EXPECT_TRUE(trouble_of(answer_of(passing), "h", false, kNow)->passing) << passing;
  for (const int final_status : {400, 401, 403, 404, 410}) {
    EXPECT_FALSE(trouble_of(answer_of(final_status), "h", false, kNow)->passing) << final_status;
  }
  EXPECT_TRUE(trouble_of(answer_of(403), "cdn", true, kNow)->passing) << "a signed address that expired";
  EXPECT_EQ(trouble_of(answer_of(404), "h", false, kNow)->error.code, Code::not_found);
}

}  // namespace
}  // namespace k3d::adapters
