#include "api/contract/audit.hpp"

#include <gtest/gtest.h>

#include "daemon/base/json.hpp"
#include "tests/unit/api_contract/samples.hpp"
#include "tests/unit/api_contract/schema_check.hpp"

namespace k3d::api {
namespace {

AuditEntry entry(std::uint64_t number) {
  return {number, samples::at(), "uid 1000", "activate", "batch", "nightly", "op-7", "accepted"};
}

TEST(AuditJson, has_every_field_and_nulls_for_what_has_no_value) {
  const std::string json = audit_json({entry(12), AuditEntry{11, samples::at(), "", "reload", "", "", "", ""}}, false);
  EXPECT_EQ(json,
            R"({"items":[{"number":12,"at":"2026-11-30T22:37:57.123Z","who":"uid 1000","action":"activate",)"
            R"("subject":"batch","reason":"nightly","operation_id":"op-7","outcome":"accepted"},)"
            R"({"number":11,"at":"2026-11-30T22:37:57.123Z","who":null,"action":"reload","subject":null,"reason":null,)"
            R"("operation_id":null,"outcome":null}],"next":null})");
  EXPECT_EQ(schema_faults("AuditList", json), "");
}

TEST(AuditJson, next_is_where_the_older_ones_begin) {
  EXPECT_EQ(Json::parse(audit_json({entry(12), entry(11)}, true))["next"], "11");
  EXPECT_TRUE(Json::parse(audit_json({entry(12)}, false))["next"].is_null());
  EXPECT_EQ(audit_json({}, true), R"({"items":[],"next":null})");
}

TEST(ReloadJson, is_as_described) {
  const std::string json = reload_json({{"profiles.batch", "state"}, {"state"}, {"batch"}});
  EXPECT_EQ(json, R"({"changed":["profiles.batch","state"],"restart_needed":["state"],"drifted_profiles":["batch"]})");
  EXPECT_EQ(schema_faults("ReloadOutcome", json), "");
  EXPECT_EQ(schema_faults("ReloadOutcome", reload_json({})), "");
}

}  // namespace
}  // namespace k3d::api
