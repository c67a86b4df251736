// Shows the events of a running job.
#include "client/cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>

#include "kedge/session.h"

namespace kedge::cli {
namespace {

std::string amount(double value, const std::string& unit) {
  if (unit != "bytes") return fmt::format("{:.0f} {}", value, unit);
  if (value >= 1e6) return fmt::format("{:.1f} MB", value / 1e6);
  return fmt::format("{:.1f} kB", value / 1e3);
}

std::string bar(double share) {
  constexpr int kWidth = 24;
  const int full = static_cast<int>(share * kWidth);
  return fmt::format("[{}{}]", std::string(full, '='), std::string(kWidth - full, ' '));
}

}  // namespace

std::string progress_text(const schema::ProgressEvent& progress, double seconds, std::int64_t before) {
  const std::string fold = progress.fold < 0 ? "" : fmt::format(" fold {}", progress.fold + 1);
  std::string text = fmt::format("{}{}", progress.phase, fold);
  const double done = static_cast<double>(progress.done), total = static_cast<double>(progress.total);
  if (progress.total > 0) {
    const double share = std::min(1.0, done / total);
    text += fmt::format(" {:3.0f} % {} {} of {}", 100 * share, bar(share), amount(done, progress.unit), amount(total, progress.unit));
  } else {
    text += fmt::format(" {}", amount(done, progress.unit));
  }
  const double rate = seconds > 0.2 ? (done - static_cast<double>(before)) / seconds : 0;
  if (rate <= 0) return text;
  text += fmt::format("  {}/s", amount(rate, progress.unit));
  if (progress.total > progress.done) text += fmt::format("  {:.0f} s left", (total - done) / rate);
  return text;
}

ProgressDisplay::ProgressDisplay() : ProgressDisplay(isatty(STDERR_FILENO) == 1) {}
ProgressDisplay::~ProgressDisplay() { clear(); }

void ProgressDisplay::clear() {
  if (live_shown_) std::fputs("\r\033[K", stderr);
  live_shown_ = false;
}

void ProgressDisplay::line(const std::string& text) {
  clear();
  std::fprintf(stderr, "%s\n", text.c_str());
}

void ProgressDisplay::live(const schema::ProgressEvent& progress) {
  const auto now = std::chrono::steady_clock::now();
  const std::string key = fmt::format("{}/{}", progress.phase, progress.fold);
  if (key != phase_) phase_ = key, phase_start_ = now, first_done_ = progress.done;
  const double seconds = std::chrono::duration<double>(now - phase_start_).count();
  std::fprintf(stderr, "\r\033[K%s", progress_text(progress, seconds, first_done_).c_str());
  std::fflush(stderr);
  live_shown_ = true;
}

void ProgressDisplay::show(const schema::Event& event) {
  const auto* progress = std::get_if<schema::ProgressEvent>(&event.body);
  if (progress && terminal_) return live(*progress);
  if (std::holds_alternative<schema::ResultEvent>(event.body)) return;   // the table follows
  if (progress && progress->done < progress->total) return;             // plain lines: only what is complete
  std::ostringstream text;
  text << event;
  line(text.str());
}

}  // namespace kedge::cli
