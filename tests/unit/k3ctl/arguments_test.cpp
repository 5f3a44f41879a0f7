#include "api/k3ctl/arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace k3d::cli {
namespace {

using testing::HasSubstr;

template <class C>
C command_of(const std::vector<std::string>& args) {
  const auto parsed = parse_arguments(args);
  const auto* arguments = std::get_if<Arguments>(&parsed);
  if (arguments == nullptr) {
    ADD_FAILURE() << std::get<Exit>(parsed).err;
    return {};
  }
  const C* command = std::get_if<C>(&arguments->command);
  EXPECT_NE(command, nullptr);
  return command == nullptr ? C{} : *command;
}

Exit exit_of(const std::vector<std::string>& args) {
  const auto parsed = parse_arguments(args);
  const auto* done = std::get_if<Exit>(&parsed);
  EXPECT_NE(done, nullptr);
  return done == nullptr ? Exit{-1, "", ""} : *done;
}

TEST(Arguments, up_reads_each_flag_into_its_own_place) {
  const auto up = command_of<UpCommand>({"up", "batch", "--force", "--reason", "a demo"});
  EXPECT_EQ(up.profile, "batch");
  EXPECT_TRUE(up.request.force);
  EXPECT_EQ(up.request.reason, "a demo");
  EXPECT_FALSE(up.request.restart || up.request.dry_run || up.request.accept_risk || up.detach);
  EXPECT_TRUE(command_of<UpCommand>({"up", "b", "--dry-run"}).request.dry_run);
  EXPECT_TRUE(command_of<UpCommand>({"up", "b", "--restart"}).request.restart);
  EXPECT_TRUE(command_of<UpCommand>({"up", "b", "--accept-risk"}).request.accept_risk);
  EXPECT_TRUE(command_of<UpCommand>({"up", "b", "--preempt"}).request.preempt);
  EXPECT_TRUE(command_of<UpCommand>({"up", "b", "--detach"}).detach);
}

TEST(Arguments, common_options_stand_before_or_behind_the_command) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"--json", "--url", "unix:/x", "status"},
                                               std::vector<std::string>{"status", "--url", "unix:/x", "--json"}}) {
    const auto parsed = parse_arguments(args);
    ASSERT_TRUE(std::holds_alternative<Arguments>(parsed));
    EXPECT_TRUE(std::get<Arguments>(parsed).common.json);
    EXPECT_EQ(std::get<Arguments>(parsed).common.url, "unix:/x");
  }
}

TEST(Arguments, logs_and_chat) {
  const auto logs = command_of<LogsCommand>({"logs", "-f", "--attempt", "3", "--tail", "0"});
  EXPECT_TRUE(logs.follow);
  EXPECT_EQ(logs.attempt, 3u);
  EXPECT_EQ(logs.tail, 0);
  const auto chat = command_of<ChatCommand>({"chat", "--max-tokens", "5", "--model", "m", "-"});
  EXPECT_EQ(chat.text, "-");
  EXPECT_EQ(chat.max_tokens, 5);
  EXPECT_EQ(chat.model, "m");
}

TEST(Arguments, overrides_are_keys_and_values) {
  const auto set = command_of<OverrideCommand>(
      {"override", "batch", "ubatch=2048", "fit_target_mib=[1, 2]", "cache_type=a=b", "--reason", "oom", "--json"});
  EXPECT_EQ(set.profile, "batch");
  EXPECT_EQ(set.request.set, (Overrides{{"ubatch", "2048"}, {"fit_target_mib", "[1, 2]"}, {"cache_type", "a=b"}}));
  EXPECT_EQ(set.request.reason, "oom");
  EXPECT_FALSE(set.clear);
  const auto cleared = command_of<OverrideCommand>({"override", "batch", "--clear"});
  EXPECT_TRUE(cleared.clear);
  EXPECT_TRUE(cleared.request.set.empty());
  EXPECT_THAT(exit_of({"override", "batch"}).err, HasSubstr("KEY=VALUE or --clear"));
  EXPECT_THAT(exit_of({"override", "batch", "ubatch"}).err, HasSubstr("\"ubatch\" is no KEY=VALUE"));
}

TEST(Arguments, history_and_reload) {
  EXPECT_EQ(command_of<HistoryCommand>({"history"}).limit, 20);
  EXPECT_EQ(command_of<HistoryCommand>({"history", "--limit", "1000"}).limit, 1000);
  EXPECT_EQ(command_of<ReloadCommand>({"reload", "--reason", "x"}).reason, "x");
}

TEST(Arguments, mistakes_are_usage) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"up"},
                                               {"up", "a", "b"},
                                               {"logs", "--tail", "-1"},
                                               {"logs", "--attempt", "x"},
                                               {"status", "--colour"},
                                               {"chat", "x", "--max-tokens", "0"},
                                               {"ops", "--limit", "0"},
                                               {"history", "--limit", "1001"},
                                               {"reload", "x"},
                                               {"override"},
                                               {"override", "batch"},
                                               {"override", "batch", "ubatch"},
                                               {"override", "batch", "ubatch="},
                                               {"override", "batch", "=1"},
                                               {"override", "batch", "ubatch=1", "ubatch=2"},
                                               {"override", "batch", "ubatch=1", "--clear"}}) {
    const Exit done = exit_of(args);
    EXPECT_EQ(done.status, kUsage) << args.back();
    EXPECT_NE(done.err, "");
    EXPECT_EQ(done.out, "");
  }
  EXPECT_THAT(exit_of({"ps"}).err, HasSubstr("no command \"ps\""));
}

TEST(Arguments, commands_to_come_say_so_and_are_no_part_of_the_help) {
  for (const char* name : {"init", "pull", "build", "images", "verify", "bench", "gate",
                           "reap", "key", "report"}) {
    const Exit done = exit_of({"--json", name, "--whatever", "x"});
    EXPECT_EQ(done.status, kUsage) << name;
    EXPECT_THAT(done.err, HasSubstr("not yet")) << name;
    EXPECT_THAT(exit_of({"--help"}).out, testing::Not(HasSubstr(std::string("\n  ") + name + " "))) << name;
  }
}

TEST(Arguments, help_teaches_by_examples_and_is_no_mistake) {
  const Exit help = exit_of({"--help"});
  EXPECT_EQ(help.status, kDone);
  EXPECT_THAT(help.out, HasSubstr("k3ctl up batch"));
  for (const char* name : {"status", "doctor", "profiles", "up", "down", "logs", "ops", "cancel", "events", "chat", "override",
                           "history", "reload"}) {
    EXPECT_THAT(help.out, HasSubstr(std::string("  ") + name)) << name;
    const Exit one = exit_of({name, "--help"});
    EXPECT_EQ(one.status, kDone) << name;
    EXPECT_THAT(one.out, HasSubstr(std::string("k3ctl ") + name)) << name;
  }
  EXPECT_EQ(exit_of({"--version"}).status, kDone);
  EXPECT_EQ(exit_of({}).status, kUsage);
}

}  // namespace
}  // namespace k3d::cli
