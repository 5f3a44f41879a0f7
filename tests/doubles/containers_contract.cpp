#include "tests/doubles/containers_contract.hpp"

#include <gtest/gtest.h>

namespace k3d::doubles {
namespace {

template <class T>
Code code_of(const Result<T>& result) {
  return result ? Code::internal : result.error().code;
}

Task<void> check_end_by_itself(Containers* containers, LaunchSpec wanted) {
  const auto id = co_await containers->create(wanted);
  if (!id) {
    ADD_FAILURE() << id.error().text();
    co_return;
  }
  const auto made = co_await containers->inspect(*id);
  EXPECT_TRUE(made && made->status == ContainerStatus::created && made->name == wanted.name && made->pid == 0);
  EXPECT_TRUE(made && !made->exit_code && !made->running());
  EXPECT_EQ(code_of(co_await containers->create(wanted)), Code::conflict) << "the name is in use";
  EXPECT_EQ(code_of(co_await containers->kill(*id, "SIGTERM")), Code::conflict) << "it does not run";
  EXPECT_TRUE(co_await containers->start(*id));
  const auto ended = co_await containers->wait(*id);
  EXPECT_TRUE(ended && ended->exit_code == 7 && ended->status == ContainerStatus::exited && !ended->oom_killed);
  EXPECT_TRUE(ended && ended->started_at && ended->finished_at);
  EXPECT_TRUE(co_await containers->wait(*id)) << "the end is told again";
  EXPECT_TRUE(co_await containers->remove(*id));
  EXPECT_EQ(code_of(co_await containers->inspect(*id)), Code::not_found);
  EXPECT_EQ(code_of(co_await containers->start(*id)), Code::not_found);
  EXPECT_EQ(code_of(co_await containers->kill(*id, "SIGTERM")), Code::not_found);
  EXPECT_EQ(code_of(co_await containers->wait(*id)), Code::not_found);
  EXPECT_TRUE(co_await containers->remove(*id)) << "gone is fine";
}

Task<void> check_end_by_signal(Containers* containers, LaunchSpec wanted, std::string mark) {
  const auto id = co_await containers->create(wanted);
  EXPECT_TRUE(id && co_await containers->start(*id));
  if (!id) co_return;
  EXPECT_TRUE(co_await containers->start(*id)) << "it runs already";
  const auto runs = co_await containers->inspect(*id);
  EXPECT_TRUE(runs && runs->running() && runs->pid > 0 && runs->started_at && !runs->exit_code);
  const auto listed = co_await containers->list("k3d.test=" + mark);
  EXPECT_TRUE(listed && listed->size() == 1 && listed->front().id == *id && listed->front().running());
  EXPECT_TRUE(listed && listed->front().name == wanted.name && listed->front().labels.at("k3d.test") == mark);
  const auto others = co_await containers->list("k3d.test=" + mark + "-other");
  EXPECT_TRUE(others && others->empty());
  EXPECT_TRUE(co_await containers->kill(*id, "SIGTERM"));
  const auto ended = co_await containers->wait(*id);
  EXPECT_TRUE(ended && ended->exit_code == 143 && ended->pid == 0);
  const auto kept = co_await containers->list("k3d.test=" + mark);
  EXPECT_TRUE(kept && kept->size() == 1 && !kept->front().running()) << "stopped ones are listed too";
  EXPECT_TRUE(co_await containers->remove(*id));
}

}  // namespace

Task<bool> check_contract(Containers* containers, std::string mark, std::function<LaunchSpec(std::string)> spec) {
  co_await check_end_by_itself(containers, spec("exit 7"));
  co_await check_end_by_signal(containers, spec("exec sleep 600"), mark);
  LaunchSpec nowhere = spec("exit 7");
  nowhere.image = "k3d-nowhere:0123";
  EXPECT_EQ(code_of(co_await containers->create(nowhere)), Code::image_missing);
  EXPECT_EQ(code_of(co_await containers->image("k3d-nowhere:0123")), Code::image_missing);
  co_return true;
}

}  // namespace k3d::doubles
