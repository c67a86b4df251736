// The OpenML mirror of ../shared as a child process, with its faults; tests skip where it is absent.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/server_data/temporary_directory.h"

namespace kedge {

// The folder `shared` next to the repository, or KEDGE_SHARED_DIR; empty when it has no mirror.
std::filesystem::path mirror_directory();

// Runs serve.py with the given further arguments until it goes out of scope. Throws when it does not start.
class Mirror {
 public:
  explicit Mirror(const std::vector<std::string>& arguments = {});
  ~Mirror();
  Mirror(const Mirror&) = delete;

  std::string url() const;
  std::string host() const { return "127.0.0.1:" + port_; }
  // Requests so far whose path contains `part`.
  int count_requests(const std::string& part) const;

 private:
  TemporaryDirectory directory_;
  pid_t process_ = -1;
  std::string port_;
};

}  // namespace kedge

// First statement of a test that needs the mirror.
#define KEDGE_NEEDS_MIRROR()                                                                              \
  if (kedge::mirror_directory().empty())                                                                  \
  GTEST_SKIP() << "no OpenML mirror: neither KEDGE_SHARED_DIR nor ../shared has openml/serve.py"
