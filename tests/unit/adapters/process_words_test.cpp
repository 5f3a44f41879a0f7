#include "daemon/adapters/process_words.hpp"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace k3d::adapters {
namespace {

const std::string kId(64, 'a'), kInner = std::string(63, '0') + "f";

TEST(ContainerIn, knows_both_of_dockers_ways_to_name_a_cgroup) {
  EXPECT_EQ(container_in("0::/system.slice/docker-" + kId + ".scope\n"), kId);
  EXPECT_EQ(container_in("12:memory:/docker/" + kId + "\n0::/\n"), kId);
  EXPECT_EQ(container_in("0::/../../models/" + kId), kId) << "--cgroup-parent";
  EXPECT_EQ(container_in("0::/system.slice/docker-" + kId + ".scope/init.scope\n"), kId) << "below it";
  EXPECT_EQ(container_in("0::/docker/" + kId + "/docker/" + kInner + "\n"), kInner);
  EXPECT_EQ(container_in("0::/system.slice/docker-" + kId + ".scope (deleted)\n"), kId);
}

TEST(ContainerIn, takes_nothing_else_for_one) {
  for (const std::string& text : {std::string(), std::string("0::/"), "0::/docker/" + kId.substr(1), "0::/docker/" + kId + "a",
                                  "0::/docker/" + std::string(64, 'G'), "0::/libpod-" + kId + ".scope",
                                  "0::/docker-" + kId + ".service"}) {
    EXPECT_EQ(container_in(text), "") << text;
  }
}

TEST(ProcessWords, of_a_process_and_of_one_that_is_gone) {
  const auto own = process_words(::getpid());
  ASSERT_TRUE(own);
  EXPECT_EQ(own->name, "adapters_test");
  pid_t pid = 0;
  std::string word = "true";
  char* argv[] = {word.data(), nullptr};
  ASSERT_EQ(::posix_spawnp(&pid, "true", nullptr, nullptr, argv, environ), 0);
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_FALSE(process_words(pid));
}

}  // namespace
}  // namespace k3d::adapters
