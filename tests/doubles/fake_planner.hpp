// Stand-in of the planner: answers what its public members say.
#pragma once

#include <map>

#include "daemon/ports/planner.hpp"

namespace k3d::doubles {

class FakePlanner final : public Planner {
 public:
  Result<PlanAnswer> answer = PlanAnswer{};
  std::vector<QuantView> known;
  std::map<std::string, std::shared_ptr<const Result<PlanAnswer>>> outlooks;
  std::vector<PlanQuestion> asked;

  Task<Result<PlanAnswer>> plan(PlanQuestion question) override {
    asked.push_back(std::move(question));
    co_return answer;
  }
  Task<std::vector<QuantView>> quants() override { co_return known; }
  [[nodiscard]] std::shared_ptr<const Result<PlanAnswer>> outlook(const std::string& profile) const override {
    const auto found = outlooks.find(profile);
    return found == outlooks.end() ? nullptr : found->second;
  }
};

}  // namespace k3d::doubles
