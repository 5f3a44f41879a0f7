// F58: requests that arrive, wait, leave and end while the profile is switched at random. Every one that stays gets
// exactly one answer, none reaches the engine after a drain, and nothing is left at the end.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "tests/unit/api_proxy/rig.hpp"

namespace k3d::test {
namespace {

constexpr int kSwitches = 1000;
constexpr int kClients = 8;
constexpr milliseconds kPatience{60'000};

Settings settings_for_switches() {
  Settings settings = two_profiles();
  for (Profile& profile : settings.profiles) {
    profile.while_loading = WhileLoading::hold;
    profile.hold = seconds(120);
  }
  settings.profiles.at(1).on_request = OnRequest::switch_over;
  return settings;
}

/// What has reached the engine, by the number in the request's path.
class Arrivals {
 public:
  struct Arrival {
    int times = 0;
    bool late = false;  ///< the engine read it after the drain
  };

  void operator()(EngineConnection& engine) {
    while (engine.read_request()) {
      {
        const std::lock_guard lock(mutex_);
        Arrival& arrival = all_[std::stol(engine.head.substr(engine.head.find("/v1/") + 4))];
        ++arrival.times;
        arrival.late = arrival.late || drained;
      }
      if (!engine.answer("{}")) return;
    }
  }
  Arrival of(long number) const {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(number);
    return found == all_.end() ? Arrival{} : found->second;
  }

  std::atomic<bool> drained{false};

 private:
  mutable std::mutex mutex_;
  std::map<long, Arrival> all_;
};

/// One client after the other, each with one request of a random kind.
class Crowd {
 public:
  Crowd(Rig& rig, Arrivals& arrivals) : rig_(rig), arrivals_(arrivals) {
    for (unsigned i = 0; i < kClients; ++i) threads_.emplace_back([this, i] { come_and_go(i); });
  }
  void end() {
    over = true;
    for (std::thread& thread : threads_) thread.join();
  }

  std::atomic<bool> over{false};
  std::atomic<int> served{0}, refused{0}, left{0};
  std::atomic<int> lost{0}, doubled{0}, odd{0}, late{0};

 private:
  static std::string body(unsigned kind) {
    constexpr const char* kBodies[] = {"{\"model\":\"big\"}", "{\"model\":\"small\"}", "{\"model\":\"nobody\"}", "{}"};
    return kBodies[kind % 4];
  }

  void come_and_go(unsigned seed) {
    std::minstd_rand random(seed + 1);
    while (!over) {
      RawClient client = rig_.connect();
      const long number = ++last_;
      const std::string path = "/v1/" + std::to_string(number);
      const bool asks_first = random() % 4 == 0;
      const std::string said = body(static_cast<unsigned>(random()));
      if (asks_first) {
        client.send("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: " +
                    std::to_string(said.size()) + "\r\n\r\n");
      } else {
        client.send(request("POST", path, said));
      }
      if (random() % 4 == 0) {
        leave(client, static_cast<unsigned>(random()));
      } else {
        stay(client, number, asks_first ? said : std::string());
      }
    }
  }

  void leave(RawClient& client, unsigned how) {
    client.some(milliseconds(how % 3));
    if (how % 2 == 0) client.reset();
    ++left;
  }

  void stay(RawClient& client, long number, const std::string& body_later) {
    Reply reply = client.reply(false, kPatience);
    if (reply.status == 100) {
      client.send(body_later);
      reply = client.reply(false, kPatience);
    }
    if (reply.status == 0 || !reply.complete) ++lost;
    if (reply.status == 200) ++served;
    if (reply.status == 503 || reply.status == 409) ++refused;
    if (reply.status != 200 && reply.status != 503 && reply.status != 409) ++odd;
    if (!client.some(milliseconds(0)).empty()) ++doubled;
    const Arrivals::Arrival seen = arrivals_.of(number);
    if (seen.times > 1 || (reply.status == 200 && seen.times != 1) || (reply.status == 409 && seen.times != 0)) ++odd;
    // One that was cut, or whose client left, may still have stood in the engine's socket.
    if (reply.status == 200 && seen.late) ++late;
  }

  Rig& rig_;
  Arrivals& arrivals_;
  std::atomic<long> last_{0};
  std::vector<std::thread> threads_;
};

void serving(Snapshot& snapshot, const std::string& profile) {
  snapshot.active_profile = snapshot.target_profile = profile;
  snapshot.route->profile = profile;
}

void between(Snapshot& snapshot, Phase phase, const std::string& target) {
  snapshot.route.reset();
  snapshot.active_profile.clear();
  snapshot.phase = phase;
  snapshot.target_profile = target;
}

/// What the lifecycle may say, right or wrong.
Status some_answer(unsigned random) {
  constexpr Code kCodes[] = {Code::model_loading, Code::profile_not_active, Code::engine_failed,
                             Code::no_active_profile};
  if (random % 3 != 0) return {};
  return fail(kCodes[random / 3 % 4], "as it happens");
}

TEST(Interleaving, F58_a_thousand_random_switches_lose_no_request) {
  Arrivals arrivals;
  Rig rig([&arrivals](EngineConnection& engine) { arrivals(engine); }, settings_for_switches());
  Crowd crowd(rig, arrivals);
  std::mt19937 random(58);
  std::uint64_t generation = 1;
  for (int i = 0; i < kSwitches; ++i) {
    const std::string target = random() % 2 == 0 ? "batch" : "fast";
    rig.publish(++generation, [&target](Snapshot& s) { between(s, Phase::draining, target); });
    if (random() % 4 == 0) rig.cut(generation);
    ASSERT_TRUE(rig.drain(generation, seconds(20)));
    arrivals.drained = true;
    if (random() % 2 == 0) rig.demand().answer_all(some_answer(static_cast<unsigned>(random())));
    if (random() % 4 == 0) rig.publish(generation, [](Snapshot& s) { between(s, Phase::stopped, ""); });
    if (random() % 4 == 0) rig.publish(generation, [&target](Snapshot& s) { between(s, Phase::failed, target); });
    std::this_thread::yield();
    arrivals.drained = false;
    rig.publish(++generation, [&target](Snapshot& s) { serving(s, target); });
    rig.demand().answer_all(some_answer(static_cast<unsigned>(random())));
    if (random() % 8 == 0) {
      const int before = crowd.served;
      ASSERT_TRUE(eventually([&] {
        rig.demand().answer_all(Status{});
        return crowd.served > before;
      }));
    }
  }
  crowd.over = true;
  EXPECT_TRUE(eventually(
      [&rig] {
        rig.demand().answer_all(fail(Code::model_loading, "the end"));
        const ProxyView view = rig.view();
        return view.queued == 0 && view.in_flight == 0 && rig.demand().standing() == 0;
      },
      kPatience));
  crowd.end();
  EXPECT_EQ(crowd.lost, 0) << "no answer";
  EXPECT_EQ(crowd.doubled, 0) << "more than one answer";
  EXPECT_EQ(crowd.odd, 0) << "an answer that doesn't fit, or a request that reached the engine twice";
  EXPECT_EQ(crowd.late, 0) << "a request reached the engine after the drain";
  EXPECT_GT(crowd.served, kSwitches / 8 / 2);
  EXPECT_GT(crowd.refused, 0);
  EXPECT_GT(crowd.left, 0);
  EXPECT_TRUE(eventually([&rig] { return rig.view().queued == 0 && rig.view().in_flight == 0; }));
  EXPECT_EQ(rig.view().oldest_wait_seconds, std::nullopt);
  EXPECT_GE(rig.view().admitted, static_cast<std::uint64_t>(crowd.served.load()));
}

}  // namespace
}  // namespace k3d::test
