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

void ProgressDisplay::gather(std::int64_t fold, const std::string& text) {
  if (fold != fold_) finish_fold();
  fold_ = fold;
  fold_text_ += (fold_text_.empty() ? "" : ", ") + text;
}

void ProgressDisplay::finish_fold() {
  if (!fold_text_.empty()) line(fmt::format("fold {}: {}", fold_ + 1, fold_text_));
  fold_text_.clear();
}

void ProgressDisplay::show(const schema::Event& event) {
  constexpr double kShortest = 0.0005;   // s; what is shorter is not worth a word
  if (const auto* metric = std::get_if<schema::MetricEvent>(&event.body); metric && metric->fold >= 0)
    return gather(metric->fold, fmt::format("{} {:.4f}", metric->name, metric->value));
  const auto* timing = std::get_if<schema::TimingEvent>(&event.body);
  if (timing && timing->seconds < kShortest) return;
  if (timing && timing->fold >= 0) return gather(timing->fold, fmt::format("{} {:.3f} s", timing->phase, timing->seconds));
  const auto* progress = std::get_if<schema::ProgressEvent>(&event.body);
  if (!progress || progress->phase == "fold") finish_fold();
  if (progress && terminal_) return live(*progress);
  if (progress && (progress->done < progress->total || progress->fold >= 0 || progress->phase == "fold")) return;
  if (std::holds_alternative<schema::ResultEvent>(event.body)) return;   // the table follows
  std::ostringstream text;
  text << event.body;
  line(text.str());
}

}  // namespace kedge::cli
