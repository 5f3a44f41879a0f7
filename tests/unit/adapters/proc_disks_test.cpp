// Which disk lies under a folder, how much of it is free, how fast it is.
#include "daemon/adapters/proc_disks.hpp"

#include <gmock/gmock.h>

#include "daemon/adapters/proc_read_speed.hpp"
#include "tests/unit/adapters/tree.hpp"

namespace k3d::adapters {
namespace {

using testing::HasSubstr;

class ProcDisks : public test::TreeTest {
 protected:
  /// A disk as /sys has it.
  void disk(const std::string& number, const std::string& place) const {
    std::filesystem::create_directories(root_ / "sys/devices" / place);
    link("sys/dev/block/" + number, "../../devices/" + place);
  }
  [[nodiscard]] Known<DiskKind> kind(const std::string& mount, const std::string& folder = "/data/hf") const {
    return disk_kind(root_, "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + mount, folder);
  }
};

TEST_F(ProcDisks, nvme_is_local_only_on_the_bus) {
  disk("259:1", "pci0/nvme/nvme0/nvme0n1/nvme0n1p1");
  put("sys/devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p1/partition", "1\n");
  EXPECT_FALSE(kind("30 21 259:1 / /data rw - ext4 /dev/nvme0n1p1 rw\n")) << "its transport is not told";
  put("sys/devices/pci0/nvme/nvme0/transport", "pcie\n");
  link("sys/devices/pci0/nvme/nvme0/nvme0n1/device", "..");
  EXPECT_EQ(kind("30 21 259:1 / /data rw - ext4 /dev/nvme0n1p1 rw\n"), DiskKind::local_nvme);
  put("sys/devices/pci0/nvme/nvme0/transport", "tcp\n");
  EXPECT_EQ(kind("30 21 259:1 / /data rw - ext4 /dev/nvme0n1p1 rw\n"), DiskKind::network);
}

TEST_F(ProcDisks, the_slowest_part_of_a_volume_counts) {
  disk("253:0", "virtual/block/dm-0");
  disk("8:16", "pci0/ata/sdb");
  disk("8:32", "pci0/ata/sdc");
  put("sys/devices/pci0/ata/sdb/queue/rotational", "0\n");
  link("sys/devices/virtual/block/dm-0/slaves/sdb", "../../../../pci0/ata/sdb");
  EXPECT_EQ(kind("30 21 253:0 / /data rw - xfs /dev/mapper/vg rw\n"), DiskKind::ssd);
  link("sys/devices/virtual/block/dm-0/slaves/sdc", "../../../../pci0/ata/sdc");
  EXPECT_FALSE(kind("30 21 253:0 / /data rw - xfs /dev/mapper/vg rw\n")) << "a part is not known";
  put("sys/devices/pci0/ata/sdc/queue/rotational", "1\n");
  EXPECT_EQ(kind("30 21 253:0 / /data rw - xfs /dev/mapper/vg rw\n"), DiskKind::rotating);
}

TEST_F(ProcDisks, filesystems_without_a_disk_of_this_host) {
  EXPECT_EQ(kind("30 21 0:50 / /data rw shared:1 - nfs4 filer:/x rw\n"), DiskKind::network);
  EXPECT_EQ(kind("30 21 0:50 / /data rw - fuse.sshfs host:/x rw\n"), DiskKind::network);
  EXPECT_EQ(kind("30 21 0:50 / /data rw - tmpfs tmpfs rw\n"), DiskKind::memory);
  EXPECT_THAT(kind("30 21 0:50 / /data rw - overlay overlay rw\n").error(), HasSubstr("overlay does not tell"));
}

TEST_F(ProcDisks, btrfs_names_its_disk) {
  std::filesystem::create_directories(root_ / "sys/devices/pci0/vda");
  link("sys/class/block/vda", "../../devices/pci0/vda");
  EXPECT_EQ(kind("30 21 0:50 / /data rw - btrfs /dev/vda rw\n"), DiskKind::virtual_disk);
}

TEST_F(ProcDisks, the_deepest_and_newest_mount_counts) {
  const std::string mounts = "30 21 0:50 / /data rw - nfs4 a:/ rw\n31 21 0:51 / /data/hf rw - tmpfs tmpfs rw\n"
                             "32 21 0:52 / /database rw - nfs4 b:/ rw\n";
  EXPECT_EQ(kind(mounts, "/data/hf/hub"), DiskKind::memory);
  EXPECT_EQ(kind(mounts, "/data/other"), DiskKind::network);
  EXPECT_EQ(kind(mounts + "33 21 0:53 / /data/hf rw - nfs4 c:/ rw\n", "/data/hf/hub"), DiskKind::network);
  EXPECT_EQ(kind("33 21 0:53 / /my\\040data rw - tmpfs t rw\n", "/my data/x"), DiskKind::memory);
}

TEST_F(ProcDisks, each_folder_of_the_settings_once_with_what_it_has_of_the_models) {
  Settings settings;
  settings.hub.cache = root_ / "hub";
  settings.state = root_ / "state/of/k3d";
  Model hub;
  hub.repo = "unsloth/Kimi-K3-GGUF";
  Model local;
  local.path = root_ / "weights/model.gguf";
  settings.models = {{"kimi-k3", hub}, {"a", local}, {"b", local}, {"unused", local}};
  Profile a, b;
  a.model = "a";
  b.model = "b";
  settings.profiles = {a, b};
  put("weights/model.gguf", "weights");
  put("hub/models--unsloth--Kimi-K3-GGUF/blobs/1", std::string(1000, 'x'));
  const auto disks = read_disks("/", settings);
  ASSERT_EQ(disks.size(), 3u);
  EXPECT_EQ(disks[0].use, DiskUse::hub_cache);
  EXPECT_EQ(disks[0].weights_bytes, 1000u);
  EXPECT_GT(disks[0].total_bytes, 0u);
  EXPECT_TRUE(disks[0].readable);
  EXPECT_EQ(disks[1].use, DiskUse::model_files);
  EXPECT_EQ(disks[1].path, root_ / "weights");
  EXPECT_EQ(disks[2].use, DiskUse::state);
  EXPECT_EQ(disks[2].there, root_) << "as far as it exists";
}

TEST_F(ProcDisks, speed_is_measured_on_the_largest_file) {
  EXPECT_THAT(measure_read_speed(root_, seconds(1)).error(), HasSubstr("no file that can be read"));
  put("a/small", "x");
  put("a/b/large", std::string(5'000'000, 'x'));
  link("a/c", "/etc/passwd");
  const auto speed = measure_read_speed(root_, seconds(5));
  ASSERT_TRUE(speed) << speed.error();
  EXPECT_EQ(speed->bytes, 5'000'000u);
  EXPECT_GT(speed->bytes_per_second, 0);
}

}  // namespace
}  // namespace k3d::adapters
