// Modes of what the server keeps: see private_directory.h.
#include "server/private_directory.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include "schemas/error.h"

namespace kedge::server {
namespace {

namespace fs = std::filesystem;
constexpr fs::perms kOthers = fs::perms::group_all | fs::perms::others_all;

bool is_open(const fs::file_status& status) { return (status.permissions() & kOthers) != fs::perms::none; }

// What a server, `kedged init` and the run by hand put at the top of a data directory.
bool is_a_servers(const fs::path& entry) {
  constexpr std::array<std::string_view, 9> kNames{"kedge.lock", "datasets", "models", "results",   "serving",
                                                   "tmp",        "tls",      "port",   "lost+found"};
  const std::string name = entry.filename();
  return std::ranges::find(kNames, name) != kNames.end() || name.starts_with("kedge.db") || name.starts_with("auth.db");
}

[[noreturn]] void refuse(const fs::path& directory, const char* why) {
  throw schema::Error(schema::ErrorCode::kUnavailable,
                      fmt::format("other users can read the data directory {}, and it {}: 'chmod 700' it, or name another with --data-dir",
                                  directory.string(), why));
}

}  // namespace

void keep_new_files_private() { ::umask(0077); }

std::string make_private(const fs::path& directory) {
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (error || !fs::is_directory(status) || !is_open(status)) return {};
  struct stat owner {};
  if (::stat(directory.c_str(), &owner) != 0 || owner.st_uid != ::geteuid()) {
    if ((status.permissions() & fs::perms::others_all) == fs::perms::none) return "its group can read the data directory " + directory.string();
    refuse(directory, "belongs to another user");
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(directory))
    if (!is_a_servers(entry.path())) refuse(directory, "has files that are not a server's");
  fs::permissions(directory, kOthers, fs::perm_options::remove);   // first: from now on no other user can enter
  int n_repaired = 1;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_symlink() || !is_open(entry.status())) continue;
    fs::permissions(entry.path(), kOthers, fs::perm_options::remove, error);
    n_repaired += !error;
  }
  return fmt::format("other users could read the data directory {}: {} files and folders are private now", directory.string(), n_repaired);
}

}  // namespace kedge::server
