// Headers of a quant from a hub in memory: how much is read, what is kept, and what is refused.
#include "daemon/hub/remote_headers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fstream>

#include "daemon/hub/remote_set.hpp"
#include "tests/doubles/fake_hub.hpp"
#include "tests/unit/planning/gguf_builder.hpp"

namespace k3d::hub {
namespace {

namespace fs = std::filesystem;
using planning::GgufType;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string path_of(int number, int count) {
  std::string name = "Q2/m-0000N-of-0000M.gguf";
  name[name.find('N')] = static_cast<char>('0' + number);
  name[name.find('M')] = static_cast<char>('0' + count);
  return name;
}

class RemoteHeadersTest : public testing::Test {
 protected:
  RemoteHeadersTest() : folder_(fs::temp_directory_path() / ("k3d-remote-" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    model_.name = "k3";
    model_.repo = "some/Model";
    model_.revision = std::string(40, 'a');
    restart();
  }
  ~RemoteHeadersTest() override {
    stop();
    fs::remove_all(folder_);
  }

  /// As published: the first file has the metadata and no tensor. 3 MB of weights in each of the others.
  void publish(int count) {
    for (int number = 1; number <= count; ++number) {
      planning::test::GgufBuilder file;
      if (number == 1) {
        file.text("general.architecture", "other");
        file.texts("tokenizer.ggml.tokens", std::vector<std::string>(100'000, "some token"));
      }
      file.split(static_cast<std::uint16_t>(number - 1), static_cast<std::uint16_t>(count), count - 1);
      if (number > 1) file.tensor("t" + std::to_string(number), 0, {1024, 768});
      hub_.files[path_of(number, count)] = file.file();
    }
  }

  void spawn(std::string quant, std::optional<Result<HeadersPtr>>& out) {
    auto boxed = [](Task<Result<HeadersPtr>> inner, std::optional<Result<HeadersPtr>>& place) -> Task<void> {
      place.emplace(co_await std::move(inner));
    };
    asio::co_spawn(loop_, boxed(headers_->read(model_, std::move(quant)), out), [](const std::exception_ptr& e) {
      if (e) std::rethrow_exception(e);
    });
  }
  void run() {
    loop_.restart();
    loop_.run();
  }
  Result<HeadersPtr> read(std::string quant = "Q2") {
    std::optional<Result<HeadersPtr>> out;
    spawn(std::move(quant), out);
    run();
    return std::move(*out);
  }
  void stop() {
    if (!headers_) return;
    asio::co_spawn(loop_, headers_->stop(), [](const std::exception_ptr&) {});
    run();
    headers_.reset();
  }
  void restart() {
    stop();
    headers_.emplace(loop_.get_executor(), hub_, folder_, 3);
  }
  fs::path kept() const { return fs::directory_iterator(folder_)->path(); }

  fs::path folder_;
  Model model_;
  doubles::FakeHub hub_;
  asio::io_context loop_;
  std::optional<RemoteHeaders> headers_;
};

TEST_F(RemoteHeadersTest, ComeFromTheBeginningsOfTheShards) {
  publish(5);
  const auto headers = read();
  ASSERT_TRUE(headers) << headers.error().text();
  EXPECT_THAT((*headers)->shards, SizeIs(5));
  EXPECT_THAT((*headers)->tensors, SizeIs(4));
  EXPECT_EQ((*headers)->text("general.architecture"), "other");
  EXPECT_EQ((*headers)->shards[1].file_bytes, hub_.files[path_of(2, 5)].size());
  EXPECT_LT(hub_.sent, 4 * kMiB) << "of 13 MB";
  EXPECT_THAT(hub_.reads, testing::Contains(testing::Field(&HubRange::version, "v1"))) << "the second window of the first shard";
}

TEST_F(RemoteHeadersTest, CostNothingTheNextTimeAlsoAfterARestart) {
  publish(3);
  const auto first = read();
  ASSERT_TRUE(first);
  hub_.list_error = hub_.read_error = Error{Code::unreachable, "away", {}, {}};
  const auto again = read();
  ASSERT_TRUE(again);
  restart();
  const auto kept = read();
  ASSERT_TRUE(kept) << kept.error().text();
  EXPECT_EQ((*kept)->shards.size(), (*first)->shards.size());
  EXPECT_EQ((*kept)->tensors.size(), (*first)->tensors.size());
  EXPECT_EQ((*kept)->tensors.back().offset, (*first)->tensors.back().offset);
  EXPECT_EQ((*kept)->metadata.size(), (*first)->metadata.size());
  EXPECT_THAT(hub_.lists, SizeIs(1));
}

TEST_F(RemoteHeadersTest, AnotherRevisionIsAnotherThing) {
  publish(3);
  ASSERT_TRUE(read());
  model_.revision = std::string(40, 'b');
  ASSERT_TRUE(read());
  EXPECT_THAT(hub_.lists, SizeIs(2));
}

TEST_F(RemoteHeadersTest, WhatIsKeptAndDamagedIsFetchedAgain) {
  publish(3);
  ASSERT_TRUE(read());
  restart();
  std::fstream(kept(), std::ios::in | std::ios::out | std::ios::binary).seekp(500).put('\x01');
  ASSERT_TRUE(read());
  EXPECT_THAT(hub_.lists, SizeIs(2));
  restart();
  fs::resize_file(kept(), 300);
  ASSERT_TRUE(read());
  EXPECT_THAT(hub_.lists, SizeIs(3));
}

TEST_F(RemoteHeadersTest, TwoWhoAskAtOnceShareOneAnswer) {
  publish(3);
  std::optional<Result<HeadersPtr>> one, other;
  spawn("Q2", one);
  spawn("Q2", other);
  run();
  ASSERT_TRUE(one && *one && other && *other);
  EXPECT_EQ(**one, **other);
  EXPECT_THAT(hub_.lists, SizeIs(1));
}

TEST_F(RemoteHeadersTest, TellTheirProgressWhileTheyCome) {
  publish(3);
  std::optional<Result<HeadersPtr>> out;
  std::vector<std::size_t> done;
  spawn("Q2", out);
  loop_.restart();
  while (!out) {
    ASSERT_EQ(loop_.run_one(), 1U);
    const auto progress = headers_->progress(model_, "Q2");
    if (progress && progress->shards == 3 && (done.empty() || done.back() != progress->shards_done)) {
      done.push_back(progress->shards_done);
    }
  }
  EXPECT_THAT(done, testing::ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(headers_->progress(model_, "Q2"));
}

TEST_F(RemoteHeadersTest, StoppedWhileSomeoneWaitsTheyEndWithoutAnAnswerOfTheHub) {
  publish(3);
  std::optional<Result<HeadersPtr>> out;
  spawn("Q2", out);
  loop_.restart();
  while (!headers_->progress(model_, "Q2")) loop_.run_one();
  stop();
  ASSERT_TRUE(out);
  EXPECT_EQ(out->error().code, Code::shutting_down);
}

TEST_F(RemoteHeadersTest, AFailureIsToldAndNotKept) {
  publish(3);
  hub_.read_error = Error{Code::unreachable, "away", {}, {}};
  EXPECT_EQ(read().error().code, Code::unreachable);
  hub_.read_error.reset();
  EXPECT_TRUE(read());
}

TEST_F(RemoteHeadersTest, AFolderThatTheHubDoesNotHaveIsMissingFiles) {
  const auto headers = read("UD-NONE");
  ASSERT_FALSE(headers);
  EXPECT_EQ(headers.error().code, Code::files_missing);
  EXPECT_THAT(headers.error().text(), HasSubstr("UD-NONE"));
}

TEST_F(RemoteHeadersTest, F80_AnErrorPageInPlaceOfAModelIsRefused) {
  publish(3);
  hub_.files[path_of(2, 3)] = "<html>" + std::string(600, ' ');
  EXPECT_EQ(read().error().code, Code::model_corrupt);
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(RemoteHeadersTest, F91_ANameThatIsNoFolderNeverReachesTheHub) {
  for (const std::string& quant : {std::string(".."), std::string("../../etc"), std::string("a/b"), std::string("-a"), std::string("a\0b", 3),
                                   std::string("%2e%2e"), std::string(), std::string(65, 'a')}) {
    EXPECT_EQ(read(quant).error().code, Code::invalid_request) << quant;
  }
  EXPECT_THAT(hub_.lists, IsEmpty());
}

TEST(RemoteSets, F85_OneWholeSetOrNothing) {
  const auto set = [](std::vector<HubFile> files) { return shards_of_quant(files, "Q2"); };
  const HubFile one{"Q2/m-00001-of-00002.gguf", 5, ""}, two{"Q2/m-00002-of-00002.gguf", 6, ""};
  const auto whole = set({two, {"Q2/mmproj-F16.gguf", 1, ""}, {"Q2/README.md", 1, ""}, {"Q2/deep/x.gguf", 1, ""}, one});
  ASSERT_TRUE(whole);
  EXPECT_THAT(*whole, testing::ElementsAre(one, two));
  EXPECT_EQ(set({two}).error().code, Code::shard_missing);
  EXPECT_EQ(set({one, two, {"Q2/other.gguf", 1, ""}}).error().code, Code::files_missing);
  EXPECT_EQ(set({one, {"Q2/m-00002-of-00003.gguf", 6, ""}}).error().code, Code::files_missing);
  EXPECT_EQ(set({{"Q2/README.md", 1, ""}}).error().code, Code::files_missing);
  EXPECT_TRUE(set({{"Q2/single.gguf", 1, ""}}));
}

TEST(RemoteSets, F83_EmptyFilesAndImpossibleSizesAreRefused) {
  constexpr Bytes kHuge = 5'000'000'000'000'000'000;
  EXPECT_EQ(shards_of_quant({{"Q2/a.gguf", 0, ""}}, "Q2").error().code, Code::model_corrupt);
  EXPECT_EQ(shards_of_quant({{"Q2/m-00001-of-00002.gguf", kHuge, ""}, {"Q2/m-00002-of-00002.gguf", kHuge, ""}}, "Q2").error().code,
            Code::model_corrupt);
}

}  // namespace
}  // namespace k3d::hub
