// Reads KEDGE_FAILPOINT and does what it says.
#include "engine/worker/failpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace kedge::engine {

namespace {

constexpr std::string_view kOnce = "worker.run.abort_once:";

std::string failpoint_named() {
  const char* value = std::getenv("KEDGE_FAILPOINT");
  return value ? value : "";
}

}  // namespace

bool failpoint_has_a_file() { return failpoint_named().starts_with(kOnce); }

void failpoint_at_run() {
  const std::string failpoint = failpoint_named();
  if (failpoint == "worker.run.abort") std::abort();
  if (failpoint == "worker.run.hang") {
    while (true) ::pause();
  }
  if (failpoint.starts_with(kOnce)) {
    const int fd = ::open(failpoint.c_str() + kOnce.size(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0) std::abort();
  }
}

}  // namespace kedge::engine
