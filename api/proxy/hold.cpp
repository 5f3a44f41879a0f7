#include "api/proxy/hold.hpp"

#include <boost/asio/post.hpp>

#include "api/proxy/worker.hpp"

namespace k3d::proxy {

Hold::Hold(Worker& worker, asio::ip::tcp::socket& socket)
    : worker_(worker), socket_(socket), since_(std::chrono::steady_clock::now()), place_(worker.enter(*this)) {
  watch_ = worker_.departures().watch(socket_.native_handle(), [this] {
    left_ = true;
    wake();
  });
}

Hold::~Hold() {
  worker_.departures().forget(watch_, socket_.is_open() ? socket_.native_handle() : -1);
  worker_.leave(place_);
}

void Hold::wake() {
  if (waiting_) waiting_->bell.cancel();
}

Task<std::optional<Status>> Hold::ask(Wanted wanted, SteadyTime until, SteadyTime limit) {
  waiting_ = std::make_shared<Waiting>(Waiting{asio::steady_timer(worker_.loop()), std::nullopt});
  // The answer may come when nobody waits any more, or when the loop is gone: it owns neither.
  auto answer = [loop = worker_.loop().get_executor(), asked = std::weak_ptr<Waiting>(waiting_)](Status status) {
    asio::post(loop, [asked, status] {
      const std::shared_ptr<Waiting> waiting = asked.lock();
      if (!waiting) return;
      waiting->said = status;
      waiting->bell.cancel();
    });
  };
  const auto question = std::make_shared<const Question>(Question{std::move(wanted), until, std::move(answer)});
  worker_.enquiries().ask(question);
  waiting_->bell.expires_at(limit);
  while (!waiting_->said && !left_ && !worker_.ending() && std::chrono::steady_clock::now() < limit) {
    co_await waiting_->bell.async_wait(tok);
  }
  std::optional<Status> said = std::move(waiting_->said);
  waiting_.reset();
  if (!said) worker_.enquiries().drop(question);
  co_return said;
}

}  // namespace k3d::proxy
