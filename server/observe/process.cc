// Figures of this process, from /proc and getrusage.
#include "server/observe/process.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace kedge::server::observe {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// The 22nd field of /proc/self/stat says in clock ticks when the process was started after the machine was; the name before it
// may hold spaces, but ends at the last ')'.
double start_time() {
  std::string text;
  std::getline(std::ifstream("/proc/self/stat"), text);
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) rest >> skipped;
  double ticks = 0;
  rest >> ticks;
  timespec now{}, up{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  ::clock_gettime(CLOCK_BOOTTIME, &up);
  return static_cast<double>(now.tv_sec - up.tv_sec) + ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}   // namespace

void append_process(Exposition& out) {
  const auto one = [&](const char* name, const char* type, const char* help, double value) {
    out.family(name, type, help);
    out.sample({}, value);
  };
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  one("process_cpu_seconds_total", "counter", "User and system time.", seconds(usage.ru_utime) + seconds(usage.ru_stime));
  double all_pages = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> all_pages >> pages;
  one("process_resident_memory_bytes", "gauge", "Resident memory.", pages * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  std::error_code none;
  const auto open =
      std::distance(std::filesystem::directory_iterator("/proc/self/fd", none), std::filesystem::directory_iterator());
  one("process_open_fds", "gauge", "Open file descriptors.", static_cast<double>(open));
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  one("process_max_fds", "gauge", "File descriptors that may be open.", static_cast<double>(limit.rlim_cur));
  static const double started = start_time();   // does not move with the wall clock
  one("process_start_time_seconds", "gauge", "Start of the process, in seconds since 1970.", started);
}

}   // namespace kedge::server::observe
