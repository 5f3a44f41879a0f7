#include "api/k3ctl/status_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/contract/status.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {
namespace {

WallTime at(int offset) {
  return *parse_time("2026-11-30T22:37:57Z") + seconds(offset);
}

Snapshot loading() {
  Snapshot snapshot;
  snapshot.version = "0.1.0";
  snapshot.instance = "default";
  snapshot.phase = Phase::loading;
  snapshot.phase_since = at(0);
  snapshot.target_profile = "batch";
  snapshot.load = {320'100'000'000, 711'100'000'000, 0.45, 320.0};
  snapshot.proxy.listen = {"127.0.0.1:8000"};
  snapshot.proxy.queued = 2;
  snapshot.proxy.oldest_wait_seconds = 5;
  return snapshot;
}

std::string page_of(const Snapshot& snapshot) {
  return status_page(Json::parse(api::status_json(snapshot)), at(90));
}

TEST(StatusPage, of_a_load) {
  EXPECT_EQ(page_of(loading()),
            "k3d 0.1.0, instance default\n\n"
            "phase      loading for 1 min 30 s\n"
            "active     none\n"
            "target     batch\n"
            "load       45 %  320.1 GB of 711.1 GB  5 min 20 s left\n"
            "proxy      127.0.0.1:8000; 0 in flight, 2 waiting (5 s)\n");
}

TEST(StatusPage, has_a_line_for_each_gpu) {
  Snapshot snapshot = loading();
  snapshot.gpus = {{0, "GPU-a", "NVIDIA H200", 150'700'000'000, 130'000'000'000, 42,
                    {{7, "llama-server", Bytes{120'000'000'000}, "c", true}, {9, "", {}, "", false}}},
                   {1, "GPU-b", "NVIDIA \x1b[2JH200", 150'700'000'000, 0, 0, {}}};
  EXPECT_THAT(page_of(snapshot),
              testing::HasSubstr("gpu 0      NVIDIA H200  130.0 GB of 150.7 GB  42 % busy  llama-server 120.0 GB (ours), pid 9\n"
                                 "gpu 1      NVIDIA \\x1b[2JH200  0 B of 150.7 GB  0 % busy\n"));
}

TEST(StatusPage, shows_trouble_with_what_to_do_and_makes_it_safe) {
  Snapshot snapshot = loading();
  snapshot.conditions = {
      {"live_restore_off", Severity::warning, at(0), "Docker \x1b[2Jtakes it along", "d", "turn it on"}};
  snapshot.last_failure.emplace();
  snapshot.last_failure->code = "oom";
  snapshot.last_failure->title = "Out of memory";
  snapshot.last_failure->profile = "batch";
  snapshot.last_failure->log_excerpt = {"\x1b[31mkilled"};
  const std::string page = page_of(snapshot);
  EXPECT_THAT(page, testing::HasSubstr("warning: Docker \\x1b[2Jtakes it along\n  d\n  -> turn it on\n"));
  EXPECT_THAT(page, testing::HasSubstr("last failure: Out of memory [oom] of batch"));
  EXPECT_THAT(page, testing::HasSubstr("  | killed\n"));
  EXPECT_THAT(page, testing::Not(testing::HasSubstr("\x1b")));
}

TEST(StatusPage, of_a_backoff_with_a_remedy_and_the_line_to_type) {
  Snapshot snapshot = loading();
  snapshot.phase = Phase::backoff;
  snapshot.backoff = BackoffView{1, 2, at(105)};
  snapshot.held_by = "op-8";
  snapshot.last_failure.emplace();
  snapshot.last_failure->code = "cuda_out_of_memory";
  snapshot.last_failure->title = "Out of memory";
  snapshot.last_failure->profile = "batch";
  snapshot.last_failure->advice = "take less";
  snapshot.last_failure->remedy =
      Remedy{"a smaller ubatch", {{"fit_target_mib", "[5632, 10240]"}, {"ubatch", "2048"}}};
  const std::string page = page_of(snapshot);
  EXPECT_THAT(page, testing::HasSubstr("backoff    attempt 1 of 2, retry in 15 s\n"));
  EXPECT_THAT(page, testing::HasSubstr("held       the GPUs, by operation op-8; k3ctl ops op-8 tells more\n"));
  EXPECT_THAT(page, testing::HasSubstr("  -> take less\n"
                                       "  remedy: a smaller ubatch\n"
                                       "  -> k3ctl override batch 'fit_target_mib=[5632, 10240]' ubatch=2048 && "
                                       "k3ctl up batch\n"));
  EXPECT_EQ(status_line(Json::parse(api::status_json(snapshot))), "backoff, target batch, attempt 1 of 2");
  snapshot.backoff->retry_at = at(0);
  EXPECT_THAT(page_of(snapshot), testing::HasSubstr("attempt 1 of 2, retry now\n"));
}

TEST(StatusPage, a_remedy_without_settings_is_its_text) {
  Snapshot snapshot = loading();
  snapshot.last_failure.emplace();
  snapshot.last_failure->profile = "batch";
  snapshot.last_failure->remedy = Remedy{"another image", {}};
  const std::string page = page_of(snapshot);
  EXPECT_THAT(page, testing::HasSubstr("  remedy: another image\n"));
  EXPECT_THAT(page, testing::Not(testing::HasSubstr("k3ctl override")));
}

TEST(StatusPage, survives_an_answer_of_another_shape) {
  for (const char* text : {"{}", "[]", "null", R"({"proxy":7,"conditions":{},"operations":null,"load":[],"backoff":{},"held_by":3,"last_failure":{"remedy":{"set":[]}}})"}) {
    EXPECT_THAT(status_page(Json::parse(text), at(0)), testing::HasSubstr("active     none")) << text;
  }
}

TEST(StatusLine, is_one_line) {
  EXPECT_EQ(status_line(Json::parse(api::status_json(loading()))),
            "loading, target batch, 45 %  320.1 GB of 711.1 GB  5 min 20 s left");
}

}  // namespace
}  // namespace k3d::cli
