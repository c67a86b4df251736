// The short name for Asio, and the coroutine type of handlers.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace kedge::server::http {

namespace net = boost::asio;

}  // namespace kedge::server::http
