// The shell around the engine, run by a real shell.
#include "daemon/engine/log_wrapper.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace k3d::engine {
namespace {

using Strings = std::vector<std::string>;

struct Ran {
  int exit_code = -1;
  std::string log, out;
};

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Runs a wrapped spec as Docker would: entrypoint and args as one list, nothing but its own environment.
Ran run(const Strings& entrypoint, const Strings& args, const std::string& log_name) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("k3d-wrap-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  LaunchSpec spec;
  spec.args = args;
  wrap_for_log(spec, entrypoint, (folder / log_name).string());
  Strings words = spec.entrypoint;
  words.insert(words.end(), spec.args.begin(), spec.args.end());
  const pid_t pid = ::fork();
  if (pid == 0) {
    std::vector<char*> argv, env;
    for (std::string& word : words) argv.push_back(word.data());
    std::string log = "K3D_LOG=" + spec.env.at("K3D_LOG"), path = "PATH=/usr/bin:/bin";
    env = {log.data(), path.data(), nullptr};
    argv.push_back(nullptr);
    if (::freopen((folder / "out").c_str(), "w", stdout) == nullptr) ::_exit(99);
    ::execve(argv[0], argv.data(), env.data());
    ::_exit(98);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  Ran ran{WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(folder / log_name), content(folder / "out")};
  std::filesystem::remove_all(folder);
  return ran;
}

TEST(LogWrapper, keeps_the_order_of_program_and_arguments) {
  LaunchSpec spec;
  spec.args = {"-m", "a b"};
  wrap_for_log(spec, {"/usr/bin/llama-server", "--flag-of-image"}, "/state/it's $(here).log");
  ASSERT_EQ(spec.entrypoint.size(), 3U);
  EXPECT_EQ(spec.entrypoint[0], "/bin/sh");
  EXPECT_EQ(spec.entrypoint[2].find("state"), std::string::npos);
  EXPECT_EQ(spec.args, (Strings{"/usr/bin/llama-server", "--flag-of-image", "-m", "a b"}));
  EXPECT_EQ(spec.env.at("K3D_LOG"), "/state/it's $(here).log");
}

TEST(LogWrapper, both_streams_end_in_the_file_and_the_exit_code_is_the_programs) {
  const Ran ran = run({"/bin/sh", "-c", "echo out; echo err >&2; exit 7"}, {}, "engine.log");
  EXPECT_EQ(ran.exit_code, 7);
  EXPECT_EQ(ran.log, "out\nerr\n");
  EXPECT_NE(ran.out.find("engine.log"), std::string::npos);
}

TEST(LogWrapper, F92_nothing_is_interpreted) {
  const Strings nasty{"$(touch pwned)", "; exit 3", "a\nb", "'\"\\", "`id`", "*"};
  const Ran ran = run({"/usr/bin/printf", "%s|"}, nasty, "$(touch x) 'q\" ;.log");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.log, "$(touch pwned)|; exit 3|a\nb|'\"\\|`id`|*|");
}

TEST(LogWrapper, a_program_that_is_not_there_says_so_in_the_log) {
  const Ran ran = run({"/no/llama-server"}, {"-m", "x"}, "engine.log");
  EXPECT_EQ(ran.exit_code, 127);
  EXPECT_NE(ran.log.find("/no/llama-server"), std::string::npos);
}

}  // namespace
}  // namespace k3d::engine
