// k3ctl asks only what api/openapi.yaml describes, and has a command for everything in it that is for people.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "api/contract/openapi.hpp"
#include "api/contract/problem.hpp"
#include "daemon/base/json.hpp"
#include "tests/unit/api_contract/schema_check.hpp"
#include "tests/unit/k3ctl/fake_daemon.hpp"

namespace k3d::cli {
namespace {

using testing_support::Asked;
using testing_support::FakeDaemon;
using testing_support::k3ctl;
using testing_support::reply;

const Json& document() {
  static const Json kDocument = parse_json(api::openapi_json()).value();
  return kDocument;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) out.push_back(part);
  return out;
}

bool fits(const std::string& pattern, const std::string& path) {
  const std::vector<std::string> wanted = split(pattern, '/'), given = split(path, '/');
  if (wanted.size() != given.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != given[i] && !wanted[i].starts_with('{')) return false;
  }
  return true;
}

/// The description of what was asked, null if there is none.
const Json& call_of(const Asked& asked) {
  std::string method = asked.method;
  for (char& c : method) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [pattern, methods] : document()["paths"].items()) {
    if (fits(pattern, asked.target.substr(0, asked.target.find('?')))) return json_member(methods, method);
  }
  return json_member(Json(), "");
}

std::set<std::string> query_names(const Json& call) {
  std::set<std::string> out;
  for (const Json& parameter : json_member(call, "parameters")) {
    if (json_string(parameter, "in") == "query") out.insert(json_string(parameter, "name").value_or(""));
  }
  return out;
}

void expect_described(const Asked& asked, const Json& call) {
  const std::set<std::string> names = query_names(call);
  const std::size_t question = asked.target.find('?');
  for (const std::string& part : split(question == std::string::npos ? "" : asked.target.substr(question + 1), '&')) {
    EXPECT_TRUE(names.contains(part.substr(0, part.find('=')))) << asked.line() << " has " << part;
  }
  if (asked.body.empty()) return;
  const Json& body = json_member(call, "requestBody");
  ASSERT_TRUE(body.is_object()) << asked.line() << " takes no body";
  const std::string ref = body["content"]["application/json"]["schema"]["$ref"].get<std::string>();
  EXPECT_EQ(api::schema_faults(ref.substr(ref.rfind('/') + 1), asked.body), "") << asked.line();
}

TEST(OpenApi, every_command_asks_what_is_described_and_nothing_is_left_out) {
  const std::string answer = api::problem_json({Code::not_found, "no", "", ""});
  FakeDaemon daemon([&answer](const Asked&) { return reply(404, answer, std::string(api::kProblemType)); });
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"status"},
        {"profiles"},
        {"profiles", "a"},
        {"up", "a", "--force", "--restart", "--accept-risk", "--preempt", "--reason", "r"},
        {"up", "a", "--dry-run"},
        {"down", "--force", "--reason", "r"},
        {"override", "a", "ubatch=1", "cache_type=q8_0", "--reason", "r"},
        {"override", "a", "--clear", "--reason", "r"},
        {"logs", "-f", "--tail", "1", "--attempt", "2"},
        {"ops", "--limit", "3"},
        {"ops", "x"},
        {"cancel", "x"},
        {"events"},
        {"history", "--limit", "3"},
        {"plan", "a", "--model", "m", "--quant", "q", "--gpus", "0,1", "--ram", "1TiB", "--context", "1", "--slots", "2",
         "--batch", "3", "--ubatch", "4", "--n-cpu-moe", "5", "--tensor-split", "60,34", "--cache-type", "q8_0", "--draft", "none"},
        {"plan", "--path", "/m.gguf", "--gpus", "2x96GiB", "--fit-target", "4096,2048", "--draft", "d", "--exact"},
        {"quants"},
        {"doctor", "--probe"},
        {"reload", "--reason", "r"},
        {"chat", "x"}}) {
    EXPECT_EQ(k3ctl(daemon.url(), args).status, kRefused) << args[0];
  }
  std::set<std::string> asked_for{"livez", "readyz", "openapi"};  // for machines
  for (const Asked& asked : daemon.asked()) {
    const Json& call = call_of(asked);
    ASSERT_TRUE(call.is_object()) << asked.line() << " is not described";
    expect_described(asked, call);
    asked_for.insert(call["operationId"].get<std::string>());
  }
  for (const auto& [path, methods] : document()["paths"].items()) {
    for (const auto& [method, call] : methods.items()) {
      if (call.is_object())
        EXPECT_TRUE(asked_for.contains(call["operationId"].get<std::string>())) << "no command asks " << path;
    }
  }
}

}  // namespace
}  // namespace k3d::cli
