// Handles and loops of libcurl: what they send and receive, exceptions of takers, stops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "tests/unit/server_data/scripted_server.h"
#include "transfer/authorities.h"
#include "transfer/curl_handle.h"
#include "transfer/curl_loop.h"

namespace kedge::transfer {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kHello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nRetry-After: 7\r\n\r\nhello";
constexpr std::chrono::hours kLong{24};   // a wait that nothing ends lasts until the test's own limit

std::optional<CURLcode> finish(Handle& handle, Loop& loop, const std::string& url) {
  handle.set(CURLOPT_URL, url.c_str());
  return loop.finish(handle, {}, kLong);
}

TEST(CurlHandle, SendsItsHeadersAndGathersTheAnswer) {
  ScriptedServer server({kHello});
  Handle handle(seconds(10));
  Loop loop;
  std::string head, body;
  handle.add_header("X-First: 1");
  handle.add_header("X-Second: 2");
  handle.add_header("Accept:");
  handle.set_body("");
  handle.on_header([&](std::string_view line) { head.append(line); });
  handle.on_body([&](std::string_view data) { body.append(data); });
  EXPECT_EQ(finish(handle, loop, server.url()), CURLE_OK);
  EXPECT_EQ(handle.status(), 200);
  EXPECT_EQ(handle.info(CURLINFO_RETRY_AFTER), 7);
  EXPECT_EQ(body, "hello");
  EXPECT_THAT(head, HasSubstr("Retry-After: 7\r\n"));
  const std::string request = server.requests().at(0);
  EXPECT_THAT(request, HasSubstr("POST /file"));
  EXPECT_THAT(request, HasSubstr("User-Agent: kedge\r\n"));
  EXPECT_THAT(request, HasSubstr("X-First: 1\r\nX-Second: 2\r\n"));
  EXPECT_THAT(request, HasSubstr("Content-Length: 0\r\n"));
  EXPECT_THAT(request, Not(HasSubstr("Accept:")));
}

// Where a system keeps its authorities.

class Authorities : public testing::Test {
 protected:
  Authorities() { std::ofstream(there_) << "-"; }
  ~Authorities() override { std::filesystem::remove(there_); }

  const std::string there_ = testing::TempDir() + "authorities.pem", missing_ = testing::TempDir() + "no.pem";
  const std::array<const char*, 2> elsewhere_{missing_.c_str(), there_.c_str()};
};

TEST_F(Authorities, ThatLibcurlKnowsAreTaken) {
  EXPECT_EQ(authorities("", there_, elsewhere_), "");
}

TEST_F(Authorities, OfAnotherSystemAreFound) {
  EXPECT_EQ(authorities("", missing_, elsewhere_), there_);
  EXPECT_EQ(authorities("", missing_, {elsewhere_.data(), 1}), "");
}

TEST_F(Authorities, ThatAreChosenGoFirst) {
  EXPECT_EQ(authorities("mine.pem", there_, elsewhere_), "mine.pem");
}

TEST(CurlHandle, KeepsWhatATakerThrowsAndForgetsItOnceThrownAgain) {
  ScriptedServer server({kHello});
  Handle handle(seconds(10));
  Loop loop;
  handle.on_body([](std::string_view) { throw std::runtime_error("full"); });
  EXPECT_EQ(finish(handle, loop, server.url()), CURLE_WRITE_ERROR);
  EXPECT_THROW(handle.rethrow(), std::runtime_error);
  EXPECT_NO_THROW(handle.rethrow());
}

TEST(CurlHandle, TakesHttpAlone) {
  Handle handle(seconds(10));
  Loop loop;
  EXPECT_EQ(finish(handle, loop, "file:///etc/hostname"), CURLE_UNSUPPORTED_PROTOCOL);
  handle.reset();
  EXPECT_EQ(finish(handle, loop, "file:///etc/hostname"), CURLE_UNSUPPORTED_PROTOCOL);
}

TEST(CurlHandle, ForgetsHeadersAndTakersInAReset) {
  ScriptedServer server({kHello, kHello});
  Handle handle(seconds(10));
  Loop loop;
  std::string first, second;
  handle.add_header("X-First: 1");
  handle.on_body([&](std::string_view data) { first.append(data); });
  EXPECT_EQ(finish(handle, loop, server.url()), CURLE_OK);
  handle.reset();
  handle.on_body([&](std::string_view data) { second.append(data); });
  EXPECT_EQ(finish(handle, loop, server.url()), CURLE_OK);
  EXPECT_EQ(first, "hello");
  EXPECT_EQ(second, "hello");
  EXPECT_THAT(server.requests().at(1), Not(HasSubstr("X-First")));
}

TEST(CurlLoop, AStopEndsATransferThatDoesNotEnd) {
  ScriptedServer server({"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"}, ScriptedServer::After::kWait);
  Handle handle(seconds(10));
  Loop loop;
  std::stop_source stop;
  handle.set(CURLOPT_URL, server.url().c_str());
  handle.on_body([&](std::string_view) { stop.request_stop(); });
  EXPECT_EQ(loop.finish(handle, stop.get_token(), kLong), std::nullopt);
}

TEST(CurlLoop, AWakeEndsAWait) {
  Loop loop;
  loop.wake();
  loop.wait(kLong);
}

TEST(CurlLoop, TheSameHandleCanBeginAgainAfterAStop) {
  ScriptedServer server({kHello});
  Handle handle(seconds(10));
  Loop loop;
  std::stop_source stop;
  stop.request_stop();
  handle.set(CURLOPT_URL, server.url().c_str());
  std::string body;
  handle.on_body([&](std::string_view data) { body.append(data); });
  EXPECT_EQ(loop.finish(handle, stop.get_token(), kLong), std::nullopt);
  EXPECT_EQ(loop.finish(handle, {}, kLong), CURLE_OK);
  EXPECT_EQ(body, "hello");
}

TEST(CurlLoop, WhatAStepThrowsEndsTheTransfer) {
  ScriptedServer silent({});
  Handle handle(seconds(10));
  Loop loop;
  handle.set(CURLOPT_URL, silent.url().c_str());
  handle.on_body([](std::string_view) {});
  EXPECT_THROW(loop.finish(handle, {}, kLong, [](bool) { throw std::runtime_error("too slow"); }), std::runtime_error);
  ScriptedServer server({kHello});
  EXPECT_EQ(finish(handle, loop, server.url()), CURLE_OK);
}

}   // namespace
}   // namespace kedge::transfer
