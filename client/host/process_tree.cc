// The tree of processes as /proc has it.
#include "client/host/process_tree.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

namespace kedge::host {
namespace {

constexpr std::chrono::milliseconds kLook{20};

struct Parent {
  pid_t pid = 0;
  bool is_dead = false;
};

// By process. Those that end meanwhile are missing.
std::map<pid_t, Parent> parents() {
  std::map<pid_t, Parent> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (!std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; })) continue;
    std::ifstream in(entry.path() / "stat");
    std::string line;
    std::getline(in, line);
    const std::size_t end = line.rfind(") ");   // the program's name may hold anything
    if (end == std::string::npos || line.size() < end + 5) continue;
    found[static_cast<pid_t>(std::stol(name))] = {.pid = static_cast<pid_t>(std::stol(line.substr(end + 4))),
                                                  .is_dead = line[end + 2] == 'Z' || line[end + 2] == 'X'};
  }
  return found;
}

void reap() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}   // namespace

void keep_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

std::vector<pid_t> descendants() {
  const std::map<pid_t, Parent> all = parents();
  std::vector<pid_t> below;
  for (const auto& [pid, parent] : all) {
    pid_t above = parent.pid;
    for (auto next = all.find(above); above != ::getpid() && next != all.end(); next = all.find(above))
      above = next->second.pid;
    if (above == ::getpid() && !parent.is_dead) below.push_back(pid);
  }
  return below;
}

void end_descendants(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (const pid_t pid : descendants()) ::kill(pid, SIGTERM);
  for (std::vector<pid_t> left = descendants(); !left.empty(); left = descendants()) {
    if (std::chrono::steady_clock::now() >= until)
      for (const pid_t pid : left) ::kill(pid, SIGKILL);
    reap();
    std::this_thread::sleep_for(kLook);
  }
  reap();
}

}   // namespace kedge::host
