// The rate is that of the whole upload: steadier than that of the last second, and what the time left is computed from.
#include "client/cli/upload_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <exception>

#include "client/cli/units.h"

namespace kedge::cli {
namespace {

constexpr auto kPause = std::chrono::milliseconds(100);

void write_stderr(const std::string& text) {
  fmt::print(stderr, "{}", text);
}

}   // namespace

std::string upload_text(std::int64_t bytes, std::int64_t total, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
  const std::string speed = size_text(static_cast<std::int64_t>(rate)) + "/s";
  if (total <= 0) return fmt::format("{}, {}", size_text(bytes), speed);
  if (bytes >= total) return fmt::format("{} sent, {}; the server reads it", size_text(total), speed);
  const std::string left = rate > 0 ? seconds_text(static_cast<double>(total - bytes) / rate) + " left" : "waiting";
  return fmt::format("{} of {}, {}, {}", size_text(bytes), size_text(total), speed, left);
}

UploadProgress::UploadProgress() : page_(page_of(STDERR_FILENO)) {}

UploadProgress::~UploadProgress() {
  if (page_.is_live) write_stderr(area_.clear(page_));
}

void UploadProgress::show(std::int64_t bytes, std::int64_t total) noexcept try {
  const auto now = Clock::now();
  const bool is_last = total > 0 && bytes >= total;
  if (!page_.is_live || (now < next_ && !is_last)) return;
  next_ = now + kPause;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  write_stderr(area_.draw(page_, {line_of(upload_text(bytes, total, seconds))}));
} catch (const std::exception&) {   // no memory for a line of text: the upload goes on
}

}   // namespace kedge::cli
