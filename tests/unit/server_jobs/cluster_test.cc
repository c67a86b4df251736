// How the ranks of a cluster are started, and how the first of them comes to the server.
#include "server/jobs/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "schemas/error.h"

namespace kedge::server {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

const std::vector<std::string> kWorker{"/bin/worker", "--channel", "unix:/s"};

int connect_to(const std::filesystem::path& path, const std::string& words) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::send(fd, words.data(), words.size(), 0), static_cast<ssize_t>(words.size()));
  return fd;
}

TEST(LaunchArguments, OfACommandHaveWorkerAndRanksInTheirPlaces) {
  const ClusterOptions options{.ranks = 3, .launcher = "command", .command = "/bin/sh  -n {ranks} {worker} --last"};
  EXPECT_THAT(launch_arguments(options, kWorker),
              ElementsAre("/bin/sh", "-n", "3", "/bin/worker", "--channel", "unix:/s", "--last"));
}

TEST(LaunchArguments, OfAProgramThatIsMissingAreAnError) {
  const ClusterOptions options{.ranks = 2, .launcher = "command", .command = "no-such-launcher {worker}"};
  EXPECT_THROW(launch_arguments(options, kWorker), schema::Error);
  EXPECT_THAT(cluster_entry(options, "/bin/worker").missing, HasSubstr("there is no program no-such-launcher"));
}

TEST(ClusterEntry, SaysThatThePlugInIsMissing) {
  const ClusterOptions options{.ranks = 2, .launcher = "command", .command = "/bin/sh {worker}"};
  EXPECT_THAT(cluster_entry(options, "/nowhere/bin/worker").missing, HasSubstr("without MPI"));
}

TEST(LaunchArguments, OfMpirunKeepConnectionsAlive) {
  if (::access("/usr/bin/mpirun", X_OK) != 0) GTEST_SKIP() << "there is no mpirun";
  const std::vector<std::string> arguments = launch_arguments({.ranks = 4, .hosts = {"n1:2", "n2:2"}}, kWorker);
  EXPECT_THAT(arguments, IsSupersetOf({"oob_tcp_keepalive_time", "oob_tcp_keepalive_intvl", "oob_tcp_keepalive_probes",
                                       "4", "n1:2,n2:2"}));
  EXPECT_EQ(arguments.back(), "unix:/s");
}

TEST(LaunchArguments, OfMpirunNameTheAgentsWhereThereIsAKey) {
  if (::access("/usr/bin/mpirun", X_OK) != 0) GTEST_SKIP() << "there is no mpirun";
  ClusterOptions options{.ranks = 4, .hosts = {"n1:2", "n2:2"}};
  EXPECT_THAT(launch_arguments(options, kWorker), Not(Contains("plm_rsh_agent")));
  options.key = "/etc/cluster.key";
  EXPECT_THAT(launch_arguments(options, kWorker), IsSupersetOf({"plm_rsh_agent", "orte_leave_session_attached",
                                                                "/bin/kedge host-exec --key /etc/cluster.key"}));
}

TEST(ClusterEntry, SaysThatAgentsCannotBeCalled) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "cluster agents";
  std::filesystem::create_directories(folder);
  for (const char* name : {"libkedge_mpi.so", "kedge"}) std::ofstream(folder / name) << "";
  ClusterOptions options{.ranks = 2, .launcher = "command", .key = "/etc/cluster.key", .command = "/bin/sh {worker}"};
  EXPECT_THAT(cluster_entry(options, folder / "kedge-worker").missing,
              AllOf(HasSubstr("there is no program"), HasSubstr("which cluster-key needs")));
  std::filesystem::permissions(folder / "kedge", std::filesystem::perms::owner_all);
  EXPECT_THAT(cluster_entry(options, folder / "kedge-worker").missing, HasSubstr("has a blank"));
  options.key.clear();
  EXPECT_EQ(cluster_entry(options, folder / "kedge-worker").missing, "");
  std::filesystem::remove_all(folder);
}

TEST(RankSocket, TakesTheCallerThatSaysTheToken) {
  const RankSocket socket;
  EXPECT_EQ(std::filesystem::status(socket.path().parent_path()).permissions(), std::filesystem::perms::owner_all);
  const int stranger = connect_to(socket.path(), std::string(socket.token().size(), 'x'));
  const int rank = connect_to(socket.path(), socket.token() + "hello");
  const int accepted = socket.accept(-1, {});
  std::string said(5, '\0');
  EXPECT_EQ(::recv(accepted, said.data(), said.size(), MSG_WAITALL), 5);
  EXPECT_EQ(said, "hello");
  for (const int fd : {stranger, rank, accepted}) ::close(fd);
}

TEST(RankSocket, DoesNotWaitForALauncherThatHasEnded) {
  const RankSocket socket;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(1);
  const int ended = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  EXPECT_THROW(socket.accept(ended, {}), schema::Error);
  ::close(ended);
  ::waitpid(child, nullptr, 0);
}

TEST(RankSocket, DoesNotWaitAfterAStop) {
  const RankSocket socket;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(socket.accept(-1, stop.get_token()), schema::Error);
}

TEST(EndLeftovers, EndsWhatHasTheTokenAndNothingElse) {
  const std::string variable = "KEDGE_CHANNEL_TOKEN=of-this-test-alone";
  const pid_t child = ::fork();
  if (child == 0) {
    char* const arguments[] = {const_cast<char*>("sleep"), const_cast<char*>("60"), nullptr};
    char* const environment[] = {const_cast<char*>(variable.c_str()), nullptr};
    ::execve("/bin/sleep", arguments, environment);
    ::_exit(1);
  }
  EXPECT_EQ(end_leftovers("of-another-test"), 0);
  while (end_leftovers("of-this-test-alone") == 0) ::usleep(1000);   // until the child is what it will be
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
}

}   // namespace
}   // namespace kedge::server
