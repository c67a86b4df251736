// Reads KEDGE_FAILPOINT and does what it says.
#include "engine/worker/failpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace kedge::engine {

void failpoint_at_run() {
  const char* value = std::getenv("KEDGE_FAILPOINT");
  const std::string failpoint = value ? value : "";
  const std::string once = "worker.run.abort_once:";
  if (failpoint == "worker.run.abort") std::abort();
  if (failpoint == "worker.run.hang") {
    while (true) ::pause();
  }
  if (failpoint.starts_with(once)) {
    const int fd = ::open(failpoint.c_str() + once.size(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0) std::abort();
  }
}

}  // namespace kedge::engine
