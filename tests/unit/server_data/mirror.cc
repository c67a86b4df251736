// The OpenML mirror of ../shared as a child process, with its faults.
#include "tests/unit/server_data/mirror.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace kedge {
namespace {

constexpr auto kStartDeadline = std::chrono::seconds(30);
constexpr auto kPollInterval = std::chrono::milliseconds(5);

std::string first_line(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace

std::filesystem::path mirror_directory() {
  const char* set = std::getenv("KEDGE_SHARED_DIR");
  const std::filesystem::path shared = set ? std::filesystem::path(set) : std::filesystem::path(KEDGE_SOURCE_DIR).parent_path() / "shared";
  std::error_code ignored;
  return std::filesystem::exists(shared / "openml" / "serve.py", ignored) ? shared / "openml" : std::filesystem::path();
}

Mirror::Mirror(const std::vector<std::string>& arguments) {
  const std::filesystem::path port_file = directory_.path() / "port";
  std::vector<std::string> words = {"python3", (mirror_directory() / "serve.py").string(), "--port", "0", "--lifetime", "300",
                                    "--port-file", port_file.string(), "--log", (directory_.path() / "log").string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const int error = posix_spawnp(&process_, "python3", &quiet, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  if (error != 0) throw std::runtime_error("python3 cannot be started");
  for (const auto deadline = std::chrono::steady_clock::now() + kStartDeadline; port_.empty();) {
    port_ = first_line(port_file);
    if (port_.empty() && std::chrono::steady_clock::now() > deadline) throw std::runtime_error("the mirror does not start");
    if (port_.empty()) std::this_thread::sleep_for(kPollInterval);
  }
}

Mirror::~Mirror() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

std::string Mirror::url() const { return "http://" + host(); }

int Mirror::count_requests(const std::string& part) const {
  std::ifstream log(directory_.path() / "log");
  int count = 0;
  for (std::string line; std::getline(log, line);) count += line.find(part) != std::string::npos;
  return count;
}

}  // namespace kedge
