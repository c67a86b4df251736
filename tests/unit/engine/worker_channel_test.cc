// The channel over a real socketpair: framing, partial transfers, ends and refusals.
#include "engine/worker/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "schemas/codec.h"

namespace kedge::engine {
namespace {

using schema::CancelCommand;
using schema::EventReport;
using schema::WorkerCommand;
using schema::WorkerReport;

struct Ends {
  int left, right;
};

Ends socket_pair() {
  std::array<int, 2> fds;
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()) != 0) throw std::runtime_error(std::strerror(errno));
  return {fds[0], fds[1]};
}

WorkerReport log_report(const std::string& text) { return {EventReport{7, schema::LogEvent{"info", text}}}; }

void write_raw(int fd, const std::vector<unsigned char>& bytes) {
  ASSERT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

TEST(WorkerChannel, CarriesMessagesBothWays) {
  const Ends ends = socket_pair();
  WorkerChannel server(ends.left), worker(ends.right);
  const WorkerCommand command{CancelCommand{"job-1"}};
  EXPECT_TRUE(server.send(command));
  EXPECT_EQ(worker.receive<WorkerCommand>(), command);
  EXPECT_TRUE(worker.send(log_report("hello")));
  EXPECT_EQ(server.receive<WorkerReport>(), log_report("hello"));
}

TEST(WorkerChannel, CarriesAMessageThatIsLargerThanTheSocketsBuffers) {
  const Ends ends = socket_pair();
  WorkerChannel server(ends.left), worker(ends.right);
  const WorkerReport large = log_report(std::string(8 << 20, 'x'));
  std::jthread sender([&] { EXPECT_TRUE(worker.send(large)); });
  EXPECT_EQ(server.receive<WorkerReport>(), large);
}

// Which file a descriptor is.
ino_t inode_of(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? status.st_ino : 0;
}

TEST(WorkerChannel, CarriesOpenFilesInTheOrderOfTheirMessages) {
  const Ends ends = socket_pair();
  WorkerChannel server(ends.left), worker(ends.right);
  const std::array<int, 3> files{::open("/proc/self/status", O_RDONLY), ::open("/proc/self/maps", O_RDONLY), ::open("/dev/null", O_RDONLY)};
  const WorkerCommand command{CancelCommand{"job-1"}};
  EXPECT_TRUE(server.send(command, WorkerChannel::When::kNow, std::span(files).first(2)));
  EXPECT_TRUE(server.send(command));
  EXPECT_TRUE(server.send(command, WorkerChannel::When::kNow, std::span(files).last(1)));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(worker.receive<WorkerCommand>(), command);
  for (const int file : files) {
    const int taken = worker.take_file();
    EXPECT_EQ(inode_of(taken), inode_of(file));
    EXPECT_EQ(::fcntl(taken, F_GETFD), FD_CLOEXEC);
    ::close(taken), ::close(file);
  }
  EXPECT_EQ(worker.take_file(), -1);
}

TEST(WorkerChannel, ClosesTheFilesThatWereNotTaken) {
  std::array<int, 2> pipe_ends;
  ASSERT_EQ(::pipe(pipe_ends.data()), 0);
  {
    const Ends ends = socket_pair();
    WorkerChannel server(ends.left), worker(ends.right);
    EXPECT_TRUE(server.send(WorkerCommand{CancelCommand{"job-1"}}, WorkerChannel::When::kNow, std::span(pipe_ends).last(1)));
    EXPECT_TRUE(worker.receive<WorkerCommand>().has_value());
    ::close(pipe_ends[1]);
  }
  char byte = 0;
  EXPECT_EQ(::read(pipe_ends[0], &byte, 1), 0);   // the end: no writer is left
  ::close(pipe_ends[0]);
}

// Whether something waits at this end now.
bool has_come(int fd) {
  pollfd polled{.fd = fd, .events = POLLIN};
  return ::poll(&polled, 1, 0) > 0;
}

TEST(WorkerChannel, HoldsBackWhatMayWaitUntilTheNextThatMayNot) {
  const Ends ends = socket_pair();
  WorkerChannel server(ends.left), worker(ends.right);
  worker.hold();
  for (const char* text : {"a", "b"}) EXPECT_TRUE(worker.send(log_report(text), WorkerChannel::When::kWithNext));
  EXPECT_FALSE(has_come(ends.left));
  EXPECT_TRUE(worker.send(log_report("c")));
  for (const char* text : {"a", "b", "c"}) EXPECT_EQ(server.receive<WorkerReport>(), log_report(text));
  EXPECT_TRUE(worker.send(log_report("d"), WorkerChannel::When::kWithNext));   // it still holds
  EXPECT_FALSE(has_come(ends.left));
}

TEST(WorkerChannel, SendsAtOnceWhatItHoldsWhenReleasedAndWhatFollows) {
  const Ends ends = socket_pair();
  WorkerChannel server(ends.left), worker(ends.right);
  worker.hold();
  worker.send(log_report("a"), WorkerChannel::When::kWithNext);
  EXPECT_TRUE(worker.release());
  EXPECT_EQ(server.receive<WorkerReport>(), log_report("a"));
  worker.send(log_report("b"), WorkerChannel::When::kWithNext);
  EXPECT_TRUE(has_come(ends.left));
  EXPECT_TRUE(worker.release());   // of nothing
  EXPECT_EQ(server.receive<WorkerReport>(), log_report("b"));
  EXPECT_FALSE(has_come(ends.left));
}

TEST(WorkerChannel, SaysWhichMessagesCameTogether) {
  const Ends ends = socket_pair();
  WorkerChannel server(ends.left), worker(ends.right);
  const WorkerReport large = log_report(std::string(100'000, 'x'));
  EXPECT_FALSE(server.has_message());
  worker.hold();
  worker.send(log_report("a"), WorkerChannel::When::kWithNext), worker.send(log_report("b"), WorkerChannel::When::kWithNext);
  worker.send(large);
  worker.send(log_report("c"));
  EXPECT_EQ(server.receive<WorkerReport>(), log_report("a"));
  EXPECT_TRUE(server.has_message());
  EXPECT_EQ(server.receive<WorkerReport>(), log_report("b"));
  EXPECT_FALSE(server.has_message());   // not as a whole
  EXPECT_EQ(server.receive<WorkerReport>(), large);
  EXPECT_EQ(server.receive<WorkerReport>(), log_report("c"));
  EXPECT_FALSE(server.has_message());
}

TEST(WorkerChannel, ReportsAClosedPeerAfterItsLastMessage) {
  const Ends ends = socket_pair();
  WorkerChannel server(ends.left);
  {
    WorkerChannel worker(ends.right);
    worker.send(log_report("a")), worker.send(log_report("b"));
  }
  for (const char* text : {"a", "b"}) EXPECT_EQ(server.receive<WorkerReport>(), log_report(text));
  EXPECT_EQ(server.receive<WorkerReport>(), std::nullopt);
}

TEST(WorkerChannel, KeepsMessagesOfSeveralThreadsWhole) {
  constexpr int kThreads = 4, kEach = 200;
  const Ends ends = socket_pair();
  WorkerChannel server(ends.left), worker(ends.right);
  std::vector<std::jthread> senders;
  for (int t = 0; t < kThreads; ++t) {
    senders.emplace_back([&worker, t] {
      for (int i = 0; i < kEach; ++i) worker.send(log_report(std::string(static_cast<std::size_t>(i * 37 + t), 'a')));
    });
  }
  for (int i = 0; i < kThreads * kEach; ++i) ASSERT_TRUE(server.receive<WorkerReport>().has_value());
}

TEST(WorkerChannel, ReportsAClosedPeer) {
  const Ends ends = socket_pair();
  WorkerChannel server(ends.left);
  ::close(ends.right);
  EXPECT_EQ(server.receive<WorkerReport>(), std::nullopt);
  EXPECT_FALSE(server.send(WorkerCommand{CancelCommand{"job-1"}}));   // and no SIGPIPE
}

TEST(WorkerChannel, ReportsAPeerThatDiedInTheMiddleOfAMessageAsClosed) {
  for (const std::vector<unsigned char>& beginning : {std::vector<unsigned char>{9, 0}, {9, 0, 0, 0, 1, 2, 3}}) {
    const Ends ends = socket_pair();
    WorkerChannel server(ends.left);
    write_raw(ends.right, beginning);
    ::close(ends.right);
    EXPECT_EQ(server.receive<WorkerReport>(), std::nullopt);
  }
}

TEST(WorkerChannel, ReadsTheLengthAsLittleEndian) {
  const Ends ends = socket_pair();
  WorkerChannel server(ends.left);
  const std::vector<std::byte> body = schema::to_binary(log_report(std::string(300, 'b')));
  ASSERT_GT(body.size(), 256u);
  write_raw(ends.right, {static_cast<unsigned char>(body.size() & 255), static_cast<unsigned char>(body.size() >> 8), 0, 0});
  ASSERT_EQ(::send(ends.right, body.data(), body.size(), 0), static_cast<ssize_t>(body.size()));
  EXPECT_EQ(server.receive<WorkerReport>(), log_report(std::string(300, 'b')));
  ::close(ends.right);
}

TEST(WorkerChannel, RefusesAFrameAboveTheLimitAndBytesThatDoNotDecode) {
  for (const std::vector<unsigned char>& frame : {std::vector<unsigned char>{1, 0, 0, 4}, {3, 0, 0, 0, 1, 2, 3}}) {
    const Ends ends = socket_pair();
    WorkerChannel server(ends.left);
    write_raw(ends.right, frame);
    try {
      server.receive<WorkerReport>();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const schema::Error& error) {
      EXPECT_EQ(error.code, schema::ErrorCode::kMalformed);
    }
    ::close(ends.right);
  }
}

TEST(WorkerChannel, RefusesToSendAMessageAboveTheLimit) {
  const Ends ends = socket_pair();
  WorkerChannel server(ends.left), worker(ends.right);
  try {
    worker.send(log_report(std::string(WorkerChannel::kMaxMessageBytes, 'x')));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kBodyTooLarge);
    EXPECT_THAT(error.message, testing::StartsWith("the result has "));
  }
  EXPECT_TRUE(worker.send(log_report("still usable")));
  EXPECT_EQ(server.receive<WorkerReport>(), log_report("still usable"));
}

TEST(WorkerChannel, ShutdownWakesAWaitingReceiver) {
  const Ends ends = socket_pair();
  WorkerChannel server(ends.left), worker(ends.right);
  std::jthread receiver([&] { EXPECT_EQ(server.receive<WorkerReport>(), std::nullopt); });
  server.shutdown();
  receiver.join();
  EXPECT_EQ(worker.receive<WorkerCommand>(), std::nullopt);
}

}  // namespace
}  // namespace kedge::engine
