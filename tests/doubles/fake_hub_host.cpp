#include "tests/doubles/fake_hub_host.hpp"

#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

namespace k3d::doubles {

namespace asio = boost::asio;
using asio::ip::tcp;

FakeHubHost::FakeHubHost(Script script)
    : script_(std::move(script)), acceptor_(loop_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
  thread_ = std::thread([this] { serve(); });
}

FakeHubHost::~FakeHubHost() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  boost::system::error_code ec;
  asio::io_context loop;
  tcp::socket knock(loop);
  knock.connect(acceptor_.local_endpoint(), ec);
  thread_.join();
}

std::string FakeHubHost::url() const { return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }

std::vector<std::string> FakeHubHost::heads() const {
  const std::lock_guard lock(mutex_);
  return heads_;
}

void FakeHubHost::serve() {
  for (;;) {
    boost::system::error_code ec;
    tcp::socket socket = acceptor_.accept(ec);
    std::string head;
    std::size_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      if (ending_) return;
    }
    asio::read_until(socket, asio::dynamic_buffer(head), "\r\n\r\n", ec);
    if (ec) continue;  // a connection that was opened for later
    {
      const std::lock_guard lock(mutex_);
      number = heads_.size();
      heads_.push_back(head);
    }
    asio::write(socket, asio::buffer(script_(head, number)), ec);
    socket.shutdown(tcp::socket::shutdown_send, ec);
  }
}

}  // namespace k3d::doubles
