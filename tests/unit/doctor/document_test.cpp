// docs/doctor.md is what the doctor says. To write it anew: K3D_WRITE_DOCS=1 doctor_test.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "daemon/doctor/examine.hpp"
#include "tests/unit/doctor/hosts.hpp"

namespace k3d::doctor {
namespace {

std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string page() {
  std::map<std::string, std::string> fixes;
  for (const HostReport& host : {test::bare(), test::bad()}) {
    for (const HostCheck& check : examine(host)) {
      if (!check.fix.empty()) fixes[check.code] = check.fix;
    }
  }
  std::ostringstream out;
  out << "# What `k3ctl doctor` looks at\n\n"
         "Each check ends in `pass`, `warn`, `fail` or `skip` with what was measured. `skip` means that nothing could be told: "
         "it is not there, or closed to k3d's user. `k3ctl doctor` ends with status 1 if a check fails. `--probe` also "
         "measures how fast the disks under the weights are read.\n\nThis page is written by a test.\n\n"
         "| check | why it matters | what to do, such as |\n| --- | --- | --- |\n";
  for (const HostCheck& check : examine(test::good())) {
    const std::string fix = fixes.contains(check.code) ? fixes[check.code] : "";
    out << "| `" << check.code << "` | " << cell(check.why) << " | " << cell(fix) << " |\n";
  }
  return out.str();
}

TEST(Document, is_what_the_doctor_says) {
  const std::string path = std::string(K3D_SOURCE_DIR) + "/docs/doctor.md";
  if (std::getenv("K3D_WRITE_DOCS") != nullptr) std::ofstream(path) << page();
  std::ostringstream written;
  written << std::ifstream(path).rdbuf();
  EXPECT_EQ(written.str(), page()) << "write it anew: K3D_WRITE_DOCS=1 doctor_test";
}

}  // namespace
}  // namespace k3d::doctor
