// Writes to FILE.part, then renames it.
#include "client/cli/whole_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "schemas/error.h"

namespace kedge::cli {

WholeFile::WholeFile(std::filesystem::path file, mode_t mode)
    : file_(std::move(file)), part_(file_.string() + ".part") {
  ::unlink(part_.c_str());   // of a client that was killed; what it has open stays its own
  const int descriptor = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (descriptor >= 0) stream_.reset(::fdopen(descriptor, "wb"));
  if (!stream_) refuse();
}

WholeFile::~WholeFile() {
  if (stream_) ::unlink(part_.c_str());
}

void WholeFile::refuse() const {
  throw schema::Error(schema::ErrorCode::kUnavailable,
                      fmt::format("cannot write {}: {}", file_.string(), std::generic_category().message(errno)));
}

void WholeFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stream_.get()) != text.size()) refuse();
}

void WholeFile::finish() {
  if (std::fflush(stream_.get()) != 0 || ::fsync(::fileno(stream_.get())) != 0 ||
      ::rename(part_.c_str(), file_.c_str()) != 0)
    refuse();
  stream_.reset();
}

}   // namespace kedge::cli
