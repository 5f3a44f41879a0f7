// Facts and processes from a made-up /proc, and from the real one.
#include "daemon/adapters/proc_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <fstream>
#include <thread>

namespace k3d::adapters {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using Tcp = asio::ip::tcp;

class ProcHostTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("k3d-proc-" + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void put(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  [[nodiscard]] ProcHost host() const { return ProcHost(root_); }

  fs::path root_;
};

std::string processors(int packages, int cores, int threads) {
  std::string text;
  for (int thread = 0; thread < threads; ++thread) {
    for (int package = 0; package < packages; ++package) {
      for (int core = 0; core < cores; ++core) {
        text += "processor\t: " + std::to_string(text.size()) +
                "\nmodel name\t: X\nphysical id\t: " + std::to_string(package) +
                "\nsiblings\t: 4\ncore id\t\t: " + std::to_string(core) + "\ncpu cores\t: 9\n\n";
      }
    }
  }
  return text;
}

TEST_F(ProcHostTest, facts) {
  put("cpuinfo", processors(2, 32, 2));
  put("meminfo", "MemTotal:       1056490732 kB\nMemFree:        1 kB\n");
  put("sys/kernel/random/boot_id", "7f0c\n");
  const HostFacts facts = host().facts();
  EXPECT_EQ(facts.physical_cores, 64);
  EXPECT_EQ(facts.ram_bytes, Bytes{1056490732} * 1024);
  EXPECT_EQ(facts.boot_id, "7f0c");
  EXPECT_EQ(facts.uid, ::geteuid());
  EXPECT_EQ(facts.gid, ::getegid());
  EXPECT_THAT(facts.groups, testing::Not(testing::Contains(std::to_string(::getegid()))));
  EXPECT_THAT(facts.gpu_uuids, IsEmpty());
}

TEST_F(ProcHostTest, what_is_not_there_is_unknown) {
  const HostFacts facts = host().facts();
  EXPECT_EQ(facts.physical_cores, 1);
  EXPECT_EQ(facts.ram_bytes, std::nullopt);
  EXPECT_EQ(facts.boot_id, "");
}

TEST_F(ProcHostTest, processors_without_topology_count_as_cores) {
  put("cpuinfo", "processor\t: 0\nBogoMIPS\t: 50\n\nprocessor\t: 1\nBogoMIPS\t: 50\n");
  EXPECT_EQ(host().facts().physical_cores, 2);
}

TEST_F(ProcHostTest, gpus_by_pci_order) {
  put("driver/nvidia/gpus/0000:81:00.0/information", "Model: \t\t X\nGPU UUID: \t GPU-bbbb\nVideo BIOS: 1\n");
  put("driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t X\nGPU UUID: \t GPU-aaaa\n");
  EXPECT_THAT(host().facts().gpu_uuids, ElementsAre("GPU-aaaa", "GPU-bbbb"));
  put("driver/nvidia/gpus/0000:02:00.0/information", "Model: \t\t X\nGPU UUID: \t ????????\n");
  EXPECT_THAT(host().facts().gpu_uuids, IsEmpty()) << "with one unknown, indexes would mean other GPUs";
  put("driver/nvidia/gpus/0000:02:00.0/information", "GPU UUID: \t GPU-" + std::string(36, '?') + "\n");
  EXPECT_THAT(host().facts().gpu_uuids, IsEmpty()) << "a GPU that nothing has used yet";
}

TEST_F(ProcHostTest, the_engine_below_dockers_init) {
  put("100/comm", "docker-init\n");
  put("100/task/100/children", "107 \n");
  put("200/comm", "llama-server\n");
  put("200/task/200/children", "207 \n");
  put("300/comm", "docker-init\n");
  put("300/task/300/children", "\n");
  EXPECT_EQ(host().engine_pid(100), 107);
  EXPECT_EQ(host().engine_pid(200), 200) << "a child of the engine itself is not the engine";
  EXPECT_EQ(host().engine_pid(300), 300);
  EXPECT_EQ(host().engine_pid(400), 0);
  EXPECT_EQ(host().engine_pid(0), 0);
}

TEST_F(ProcHostTest, the_engine_below_a_script_of_its_image) {
  put("100/comm", "docker-init\n");
  put("100/task/100/children", "107 \n");
  put("107/comm", "entrypoint.sh\n");
  put("107/task/107/children", "108 109 \n");
  put("108/comm", "tee\n");
  put("108/task/108/children", "");
  put("109/comm", "llama-server\n");
  EXPECT_EQ(host().engine_pid(100), 109);
  put("109/comm", "some-engine\n");
  put("109/task/109/children", "");
  EXPECT_EQ(host().engine_pid(100), 107) << "of an engine by another name, what init started";
}

TEST_F(ProcHostTest, the_engine_on_a_kernel_that_lists_no_children) {
  put("100/comm", "docker-init\n");
  put("100/stat", "100 (docker-init) S 1 100 100 0\n");
  put("107/comm", "llama-server\n");
  put("107/stat", "107 (a) 1 ) S 100 107 100 0\n");
  put("108/stat", "108 (other) S 1 108 100 0\n");
  put("meminfo", "MemTotal: 1 kB\n");
  EXPECT_EQ(host().engine_pid(100), 107);
}

TEST_F(ProcHostTest, a_process_in_numbers) {
  put("7/io", "rchar: 711067773664\nwchar: 5\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 0\n");
  put("7/status", "Name:\tx\nRssAnon:\t 10 kB\nRssFile:\t  20 kB\nRssShmem:\t 0 kB\n");
  put("7/stat", "7 (a) R (b)) S 1 2 3 4 5 6 7 8 9 10 1234 66 0 0 20 0\n");
  const auto io = host().process_io(7);
  ASSERT_TRUE(io);
  EXPECT_EQ(io->read_bytes, 711067773664U);
  EXPECT_EQ(io->disk_bytes, 4096U);
  EXPECT_EQ(io->resident_file, 20U * 1024);
  EXPECT_EQ(io->cpu_ticks, 1300U);
}

TEST_F(ProcHostTest, a_process_that_is_gone_or_closed) {
  EXPECT_FALSE(host().process_io(7));
  EXPECT_FALSE(host().process_io(0));
  put("7/status", "RssFile:\t  20 kB\n");
  put("7/stat", "7 (a) S 1 2 3 4 5 6 7 8 9 10 1 1 0\n");
  EXPECT_FALSE(host().process_io(7)) << "its io can't be read";
  put("8/io", "rchar: 1\nread_bytes: 1\n");
  put("8/stat", "8 (cut");
  EXPECT_FALSE(host().process_io(8));
}

TEST(RealProc, this_host) {
  ProcHost host;
  const HostFacts facts = host.facts();
  EXPECT_GE(facts.physical_cores, 1);
  EXPECT_LE(facts.physical_cores, static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_GT(facts.ram_bytes.value_or(0), kGiB / 4);
  EXPECT_EQ(facts.boot_id.size(), 36U);
}

TEST(RealProc, this_process_reads_and_computes) {
  ProcHost host;
  const auto before = host.process_io(::getpid());
  ASSERT_TRUE(before);
  std::ifstream zero("/dev/zero");
  std::vector<char> sink(8 * kMiB);
  zero.read(sink.data(), static_cast<std::streamsize>(sink.size()));
  const auto after = host.process_io(::getpid());
  ASSERT_TRUE(after);
  EXPECT_GE(after->read_bytes, before->read_bytes + sink.size());
  EXPECT_GE(after->cpu_ticks, before->cpu_ticks);
  EXPECT_EQ(host.engine_pid(::getpid()), ::getpid());
}

TEST(RealProc, a_process_that_ended) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  ProcHost host;
  EXPECT_EQ(host.engine_pid(child), 0);
  EXPECT_FALSE(host.process_io(child));
}

TEST(RealProc, ports) {
  ProcHost host;
  const std::uint16_t free = host.free_port();
  ASSERT_GT(free, 0);
  EXPECT_FALSE(host.port_taken(free));
  asio::io_context loop;
  for (const auto& address :
       {asio::ip::address(asio::ip::address_v4::loopback()), asio::ip::address(asio::ip::address_v4::any()),
        asio::ip::address(asio::ip::address_v6::any())}) {
    boost::system::error_code ec;
    Tcp::acceptor listener(loop);
    listener.open(address.is_v6() ? Tcp::v6() : Tcp::v4(), ec);
    if (ec) continue;  // a host without IPv6
    listener.bind({address, 0});
    listener.listen();
    EXPECT_TRUE(host.port_taken(listener.local_endpoint().port())) << address;
  }
  // A connection that was closed here first lingers; the port is free for a listener all the same.
  std::uint16_t port = 0;
  {
    Tcp::acceptor listener(loop, {asio::ip::address_v4::loopback(), 0});
    port = listener.local_endpoint().port();
    Tcp::socket client(loop), server(loop);
    client.connect(listener.local_endpoint());
    listener.accept(server);
    server.close();
    client.close();
  }
  EXPECT_FALSE(host.port_taken(port));
}

}  // namespace
}  // namespace k3d::adapters
