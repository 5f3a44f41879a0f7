// Task<T>: a coroutine on a loop, and the completion token that turns Asio errors into values.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace k3d {

namespace asio = boost::asio;

template <class T>
using Task = asio::awaitable<T>;
using Executor = asio::any_io_executor;

/// co_await socket.async_x(..., tok) gives a tuple that begins with the error_code.
inline constexpr auto tok = asio::as_tuple(asio::use_awaitable);

}  // namespace k3d
