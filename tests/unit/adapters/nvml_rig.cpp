#include "tests/unit/adapters/nvml_rig.hpp"

#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/unit/docker_driver/loop.hpp"

namespace k3d::adapters::test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

/// State and parent, which stand behind the name in parentheses.
std::pair<char, int> state_and_parent(int pid) {
  const std::string stat = text_of("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {'X', 0};
  std::istringstream fields(stat.substr(name_end + 1));
  std::pair<char, int> out{'X', 0};
  fields >> out.first >> out.second;
  return out;
}

std::set<int> numbers_in(const fs::path& folder) {
  std::set<int> numbers;
  std::error_code ec;
  for (fs::directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec)) {
    const int number = std::atoi(at->path().filename().c_str());
    if (number > 0 || at->path().filename() == "0") numbers.insert(number);
  }
  return numbers;
}

}  // namespace

int hold_a_probe() {
  asio::io_context loop;
  NvmlOptions options;
  options.answer = std::chrono::minutes(10);
  const auto probe = nvml(loop.get_executor(), options);
  (void)k3d::test::run(loop, probe->read());
  return 0;
}

std::set<int> children_of(int pid) {
  std::set<int> children;
  for (const int other : numbers_in("/proc")) {
    if (state_and_parent(other).second == pid) children.insert(other);
  }
  return children;
}

bool has_ended(int pid) {
  const char state = state_and_parent(pid).first;
  return state == 'X' || state == 'Z';
}

std::set<int> descriptors_of(int pid) {
  std::set<int> open;
  for (const int fd : numbers_in("/proc/" + std::to_string(pid) + "/fd")) {
    // Not the one that reads the folder.
    std::error_code ec;
    const fs::path target = fs::read_symlink("/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd), ec);
    if (!ec && !target.string().ends_with("/fd")) open.insert(fd);
  }
  return open;
}

std::string status_field(int pid, const std::string& name) {
  std::istringstream lines(text_of("/proc/" + std::to_string(pid) + "/status"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + ":")) return line.substr(line.find_first_not_of(" \t", name.size() + 1));
  }
  return "";
}

bool eventually(const std::function<bool()>& so) {
  const auto end = std::chrono::steady_clock::now() + seconds(20);
  while (!so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

NvmlTest::NvmlTest() {
  std::string name = (fs::temp_directory_path() / "k3d-nvml-XXXXXX").string();
  folder_ = ::mkdtemp(name.data());
  use_library(K3D_FAKE_NVML_DIR);
  ::setenv("K3D_FAKE_NVML", (folder_ / "machine").c_str(), 1);
  asio::steady_timer first(loop_);  // has the loop open its own descriptors, before any are counted
}

NvmlTest::~NvmlTest() {
  EXPECT_TRUE(children_of(::getpid()).empty()) << "a child is left";
  std::error_code ec;
  fs::remove_all(folder_, ec);
}

void NvmlTest::use_library(const std::string& folder) { ::setenv("LD_LIBRARY_PATH", folder.c_str(), 1); }

void NvmlTest::play(const std::string& lines) const {
  std::ofstream(folder_ / "new") << lines;
  fs::rename(folder_ / "new", folder_ / "machine");
}

int NvmlTest::calls_of(const std::string& call) const {
  std::istringstream lines(text_of(folder_ / "calls"));
  int count = 0;
  for (std::string line; std::getline(lines, line);) count += line == call ? 1 : 0;
  return count;
}

NvmlOptions NvmlTest::options() {
  NvmlOptions options;
  options.answer = seconds(20);
  options.pause = std::chrono::minutes(5);
  options.ask_again = std::chrono::minutes(5);
  return options;
}

NvmlTest::Gpus NvmlTest::read(GpuProbe& probe) { return k3d::test::run(loop_, probe.read()); }

NvmlTest::Gpus NvmlTest::read_until(GpuProbe& probe, const std::function<bool(const Gpus&)>& good) {
  Gpus gpus;
  EXPECT_TRUE(eventually([&] { return good(gpus = read(probe)); })) << (gpus ? "" : gpus.error().text());
  return gpus;
}

}  // namespace k3d::adapters::test
