// The page's address and the live list: see look_commands.h.
#include "client/cli/look_commands.h"

#include <fmt/core.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <sstream>

#include "client/cli/job_commands.h"
#include "client/cli/job_table.h"
#include "client/cli/live_area.h"
#include "client/cli/target.h"
#include "client/cli/units.h"
#include "kedge/session.h"
#include "schemas/codec.h"

namespace kedge::cli {
namespace {

constexpr std::chrono::seconds kEvery{1};   // between two looks at the list

volatile std::sig_atomic_t interrupted = 0;
void note_interrupt(int) {
  interrupted = 1;
}

bool has_display() {
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY"})
    if (const char* value = std::getenv(name); value && *value) return true;
  return false;
}

// False when there is no program that opens it.
bool open_in_browser(const std::string& address) {
  std::array<char*, 3> arguments{const_cast<char*>("xdg-open"), const_cast<char*>(address.c_str()), nullptr};
  pid_t child = 0;
  if (posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) return false;
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// How many lines the terminal shows; 24 where it does not say.
std::size_t terminal_rows() {
  constexpr std::size_t kUsual = 24;
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : kUsual;
}

// The table in lines that fit the terminal, newest jobs first.
std::vector<Line> lines_of(const std::string& url, const schema::JobPage& jobs, const Page& page) {
  const double now = unix_seconds();
  const auto time = static_cast<std::time_t>(now);
  std::tm local{};
  localtime_r(&time, &local);
  std::array<char, 16> clock{};
  std::strftime(clock.data(), clock.size(), "%H:%M:%S", &local);
  std::vector<Line> lines{line_of(fmt::format("{}  {}", printable(url), clock.data()), Style::kDim)};
  std::istringstream table(jobs_table(jobs.jobs, page, now));
  for (std::string line; std::getline(table, line);)
    lines.push_back(line_of(line, lines.size() == 1 ? Style::kBold : Style::kPlain));
  if (jobs.jobs.empty()) lines.push_back(line_of("no jobs"));
  if (const std::size_t rows = terminal_rows(); lines.size() >= rows) lines.resize(rows - 1);   // the oldest do not fit
  return lines;
}

// Returns at once when interrupted.
void rest() {
  const timespec time{.tv_sec = kEvery.count(), .tv_nsec = 0};
  nanosleep(&time, nullptr);
}

}   // namespace

std::string page_address(std::string url, const std::string& job) {
  while (url.ends_with('/')) url.pop_back();
  return url + "/ui/" + (job.empty() ? "" : "#/jobs/" + job);
}

int ui(const Options& options) {
  const std::string address = page_address(server_url(options), options.argument);
  if (options.json) fmt::print("{}\n", schema::value_to_json(schema::ValueMap{{"url", address}}));
  else fmt::print("{}\n", address);
  std::fflush(stdout);
  if (options.none || options.json || !has_display()) return kSucceeded;
  if (!open_in_browser(address)) fmt::print(stderr, "no browser could be opened; follow the link\n");
  return kSucceeded;
}

int top(const Options& options) {
  const Session session = connect_server(options);
  const auto look = [&] { return session.jobs(options.state, options.limit); };
  if (options.json || !page_of(STDOUT_FILENO).is_live) return jobs(options);
  struct sigaction action{};   // without SA_RESTART, so that a rest ends
  action.sa_handler = note_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  LiveArea area;
  while (!interrupted) {
    const schema::JobPage found = look();
    const Page page = page_of(STDOUT_FILENO);
    fmt::print("{}", area.draw(page, lines_of(server_url(options), found, page)));
    std::fflush(stdout);
    rest();
  }
  fmt::print("\n");
  return kSucceeded;
}

}   // namespace kedge::cli
