#include "daemon/adapters/nvml_reading.hpp"

#include <gtest/gtest.h>

namespace k3d::adapters {
namespace {

Result<NvmlReading> there_and_back(const NvmlReading& reading) { return reading_of_line(line_of_reading(reading)); }

TEST(NvmlReading, survives_its_line) {
  GpuState gpu{1, "GPU-a", "NVIDIA \"H200\"\n", Bytes{1} << 50, 12, 99, {}};
  gpu.processes = {{7, "a b", Bytes{5}, std::string(64, 'a'), false}, {8, "", std::nullopt, "", false}};
  const auto reading = there_and_back({"", std::vector{gpu, GpuState{}}, {}});
  ASSERT_TRUE(reading && reading->gpus);
  EXPECT_EQ(reading->no_driver, "");
  ASSERT_EQ(reading->gpus->size(), 2u);
  const GpuState& back = reading->gpus->front();
  EXPECT_EQ(back.index, 1);
  EXPECT_EQ(back.uuid, gpu.uuid);
  EXPECT_EQ(back.name, gpu.name);
  EXPECT_EQ(back.memory_total_bytes, gpu.memory_total_bytes);
  EXPECT_EQ(back.memory_used_bytes, 12u);
  EXPECT_EQ(back.utilization_percent, 99);
  ASSERT_EQ(back.processes.size(), 2u);
  EXPECT_EQ(back.processes[0].pid, 7);
  EXPECT_EQ(back.processes[0].name, "a b");
  EXPECT_EQ(back.processes[0].memory_bytes, Bytes{5});
  EXPECT_EQ(back.processes[0].container, gpu.processes[0].container);
  EXPECT_EQ(back.processes[1].memory_bytes, std::nullopt);
}

TEST(NvmlReading, a_report_survives_beside_an_error) {
  GpuFacts well;
  well.state = {0, "GPU-a", "NVIDIA H200", 9, 1, 2, {}};
  well.free_bytes = 7;
  well.compute_capability = "9.0";
  well.mig = false;
  well.ecc = true;
  well.uncorrected_errors = 4;
  well.xids = {31, 79};
  GpuFacts lost;
  lost.state.index = 1;
  lost.trouble = "GPU is lost";
  const auto reading = there_and_back({"", fail(Code::unreachable, "m"), GpuReport{"", "570.86", true, {well, lost}}});
  ASSERT_TRUE(reading && reading->report);
  EXPECT_FALSE(reading->gpus);
  EXPECT_EQ(reading->report->driver_version, "570.86");
  EXPECT_TRUE(reading->report->xids_heard);
  ASSERT_EQ(reading->report->gpus.size(), 2u);
  const GpuFacts& back = reading->report->gpus[0];
  EXPECT_EQ(back.state.uuid, "GPU-a");
  EXPECT_EQ(back.free_bytes, Bytes{7});
  EXPECT_EQ(back.compute_capability, "9.0");
  EXPECT_EQ(back.mig, false);
  EXPECT_EQ(back.ecc, true);
  EXPECT_EQ(back.uncorrected_errors, 4u);
  EXPECT_EQ(back.xids, (std::vector<unsigned>{31, 79}));
  EXPECT_EQ(reading->report->gpus[1].trouble, "GPU is lost");
  EXPECT_EQ(reading->report->gpus[1].mig, std::nullopt);
  EXPECT_EQ(reading->report->gpus[1].uncorrected_errors, std::nullopt);
}

TEST(NvmlReading, of_no_driver_and_of_an_error) {
  EXPECT_EQ(there_and_back({"no such file", {}, {}})->no_driver, "no such file");
  const auto lost = there_and_back({"", fail(Code::unreachable, "m", "h", "c"), {}});
  ASSERT_TRUE(lost);
  ASSERT_FALSE(lost->gpus);
  EXPECT_EQ(lost->gpus.error().code, Code::unreachable);
  EXPECT_EQ(lost->gpus.error().text(), "m: c (h)");
}

TEST(NvmlReading, another_line_is_an_error) {
  for (const char* line : {"", "x", "{}", "[]", "null", R"({"gpus":1})", R"({"error":"x"})"}) {
    const auto reading = reading_of_line(line);
    ASSERT_FALSE(reading) << line;
    EXPECT_EQ(reading.error().code, Code::protocol);
  }
  EXPECT_TRUE(reading_of_line(R"({"gpus":[1,{"processes":[null]}]})"));
}

}  // namespace
}  // namespace k3d::adapters
