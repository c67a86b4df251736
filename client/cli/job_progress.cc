// Turns events into lines of a given width.
#include "client/cli/job_progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "client/cli/units.h"
#include "client/cli/warnings.h"
#include "kedge/session.h"

namespace kedge::cli {
namespace {

constexpr double kShortest_s = 0.0005;                    // what is shorter is not worth a word
constexpr double kLeastRateTime_s = 0.2;                  // before that a rate means nothing
constexpr double kPlainEvery_s = JobProgress::kPlainEvery_s, kPlainAtMost_s = 60;   // between plain lines
constexpr std::string_view kBest = "best_";               // a metric of a search: its best score so far

std::string amount(double value, const std::string& unit) {
  if (unit != "bytes") return fmt::format("{:.0f}", value);
  if (value >= 1e6) return fmt::format("{:.1f} MB", value / 1e6);
  return fmt::format("{:.1f} kB", value / 1e3);
}

std::string counts(const schema::ProgressEvent& p) {
  const std::string done = amount(static_cast<double>(p.done), p.unit);
  const std::string unit = p.unit == "bytes" || p.unit == p.phase ? "" : " " + printable(p.unit);   // "trees 3 of 9"
  return p.total > 0 ? fmt::format("{} of {}{}", done, amount(static_cast<double>(p.total), p.unit), unit) : done + unit;
}

double share(const schema::ProgressEvent& p) {
  return std::clamp(static_cast<double>(p.done) / static_cast<double>(std::max<std::int64_t>(p.total, 1)), 0.0, 1.0);
}

double rate(const Count& count) {   // per second; 0: not known yet
  const double seconds = count.at - count.begin;
  return seconds < kLeastRateTime_s ? 0 : static_cast<double>(count.last.done - count.first_done) / seconds;
}

std::string rate_text(const Count& count) {
  const double value = rate(count);
  if (value <= 0) return {};
  if (count.last.unit == "bytes") return amount(value, "bytes") + "/s";
  return fmt::format("{:.{}f} {}/s", value, value < 10 ? 1 : 0, printable(count.last.unit));
}

std::string time_left(const Count& count, double now) {
  const double per_second = rate(count);
  if (per_second <= 0 || count.last.total <= count.last.done) return {};
  const double left = static_cast<double>(count.last.total - count.last.done) / per_second - (now - count.seen);
  return duration_words(std::max(0.0, left)) + " left";
}

// A part of a line. Where there is no room, the part with the highest rank goes first; those of rank 0 stay, and are cut.
struct Part {
  std::string text;
  int rank = 0;
  Style style = Style::kPlain;
  bool is_bar = false;
};

// Title, counts, share, bar, rate, time left: most of what a count can say.
std::vector<Part> parts_of(const std::string& title, const Count& count, double now, Style style) {
  std::vector<Part> parts{{title, 0, style}, {counts(count.last), 0}};
  if (count.last.total > 0) parts.push_back({fmt::format("{:.0f} %", std::floor(100 * share(count.last))), 1});
  if (count.last.total > 0) parts.push_back({.is_bar = true});
  parts.push_back({rate_text(count), 3});
  parts.push_back({time_left(count, now), 0});
  std::erase_if(parts, [](const Part& part) { return part.text.empty() && !part.is_bar; });
  return parts;
}

std::string bar(double done, int width) {
  const auto full = static_cast<std::size_t>(done * (width - 2));
  return "[" + std::string(full, '=') + std::string(static_cast<std::size_t>(width - 2) - full, ' ') + "]";
}

int width_of(const std::vector<Part>& parts) {
  int width = 0;
  for (const Part& part : parts) width += part.is_bar ? 0 : display_width(part.text) + 2;
  return width - 2;
}

Line fitted(std::vector<Part> parts, int columns, double done) {
  constexpr int kLeastBar = 10, kMostBar = 26;
  while (width_of(parts) > columns) {
    const auto first = std::ranges::max_element(parts, {}, &Part::rank);
    if (first->rank == 0) break;
    parts.erase(first);
  }
  const int room = columns - width_of(parts) - 2;
  Line line;
  for (const Part& part : parts) {
    if (part.is_bar && room < kLeastBar) continue;
    if (!line.empty()) line.push_back({"  "});
    line.push_back({part.is_bar ? bar(done, std::min(room, kMostBar)) : part.text, part.style});
  }
  return cut(line, columns);
}

std::string plain_text(const std::vector<Part>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!parts[i].is_bar) text += (i == 0 ? "" : i == 1 ? ": " : ", ") + parts[i].text;
  return text;
}

bool is_whole(const schema::ProgressEvent& p) { return p.phase == "candidate" || (p.phase == "fold" && p.fold < 0); }
bool is_search(const Count& whole) { return whole.last.phase == "candidate"; }
std::string whole_title(const Count& whole) { return is_search(whole) ? "search" : "cross-validation"; }

std::string phase_title(const schema::ProgressEvent& p) {
  return printable(p.phase) + (p.fold < 0 ? "" : fmt::format(" fold {}", p.fold + 1));
}

}  // namespace

std::string duration_words(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  return fmt::format("{} d {:02} h", whole / 86400, whole / 3600 % 24);
}

std::vector<Line> JobProgress::take(const schema::Event& event, double now) {
  std::vector<Line> lines = taken(event, now);
  if (!lines.empty()) shown_at_ = now;
  return lines;
}

std::vector<Line> JobProgress::taken(const schema::Event& event, double now) {
  const double at = unix_time(event.time).value_or(now);
  if (state_seen_ < 0) work_at_ = at, state_seen_ = shown_at_ = now;
  if (const auto* progress = std::get_if<schema::ProgressEvent>(&event.body)) {
    take_progress(*progress, at, now);
    return progress->phase == "fold" ? finish_fold() : ended(*progress);
  }
  if (const auto* metric = std::get_if<schema::MetricEvent>(&event.body)) return take_metric(*metric);
  if (const auto* timing = std::get_if<schema::TimingEvent>(&event.body)) {
    if (timing->phase == "load" || timing->phase == "toDevice") work_at_ = at;   // the task begins after it
    if (timing->fold < 0) current_.reset();
    if (timing->seconds < kShortest_s) return {};
    if (timing->fold >= 0) return gather(timing->fold, fmt::format("{} {:.3f} s", printable(timing->phase), timing->seconds));
  }
  if (const auto* log = std::get_if<schema::LogEvent>(&event.body)) return take_log(*log);
  std::vector<Line> lines = finish_fold();
  if (const auto* state = std::get_if<schema::StateEvent>(&event.body)) {
    for (Line& line : take_state(*state, at, now)) lines.push_back(std::move(line));
  } else if (!std::holds_alternative<schema::ResultEvent>(event.body)) {   // after a result the table follows
    std::ostringstream text;
    text << event.body;
    lines.push_back(line_of(printable(text.str())));
  }
  return lines;
}

void JobProgress::take_progress(const schema::ProgressEvent& progress, double at, double now) {
  std::optional<Count>& count = is_whole(progress) ? whole_ : current_;
  const bool is_new = !count || count->last.phase != progress.phase || count->last.fold != progress.fold || progress.done < count->last.done;
  const bool is_late = is_whole(progress) && progress.done > 0;   // the beginning was not seen
  if (is_new) count = is_late ? Count{.begin = work_at_} : Count{.begin = at, .first_done = progress.done};
  count->last = progress, count->at = at, count->seen = now;
  if (is_whole(progress)) current_.reset();   // that fit is done
  wait_ = kPlainEvery_s;   // it moves
}

// A phase that is complete leaves a line; those of single fits do not.
std::vector<Line> JobProgress::ended(const schema::ProgressEvent& progress) const {
  if (progress.total <= 0 || progress.done < progress.total || progress.fold >= 0) return {};
  if (!is_whole(progress)) return whole_ ? std::vector<Line>{} : std::vector<Line>{line_of(phase_title(progress) + ": " + counts(progress))};
  const std::string score = score_name_.empty() ? "" : fmt::format(", best {} {}", score_name_, score_text());
  return {line_of(fmt::format("{}: {}{}", whole_title(*whole_), counts(progress), score))};
}

std::vector<Line> JobProgress::take_metric(const schema::MetricEvent& metric) {
  if (metric.name.starts_with(kBest)) {
    score_name_ = printable(metric.name.substr(kBest.size())), score_ = metric.value;
    return {};
  }
  const std::string text = fmt::format("{} {:.4f}", printable(metric.name), metric.value);
  if (metric.fold < 0) return {line_of(text)};
  if (n_scores_ == 0) score_name_ = printable(metric.name);
  if (score_name_ == printable(metric.name)) score_ += (metric.value - score_) / static_cast<double>(++n_scores_);
  return gather(metric.fold, text);
}

std::vector<Line> JobProgress::take_state(const schema::StateEvent& state, double at, double now) {
  if (state.state != state_) {   // a job that was interrupted begins anew
    state_ = state.state;
    work_at_ = at, state_seen_ = now;
    whole_.reset(), current_.reset();
    score_name_.clear();
    score_ = 0, n_scores_ = 0;
  }
  std::ostringstream text;
  text << schema::EventBody(state);
  const bool is_bad = state.state == schema::JobState::kFailed;
  const bool is_good = state.state == schema::JobState::kSucceeded;
  return {line_of(printable(text.str()), is_bad ? Style::kBad : is_good ? Style::kGood : Style::kPlain)};
}

std::vector<Line> JobProgress::take_log(const schema::LogEvent& log) {
  const bool is_warning = log.level == "warning";
  if (is_warning && ++warnings_[warning_kind(log.message)] > 1) return {};   // the final table counts them
  std::vector<Line> lines = finish_fold();
  lines.push_back(line_of(fmt::format("{}: {}", printable(log.level), printable(log.message)), is_warning ? Style::kWarning : Style::kPlain));
  return lines;
}

std::vector<Line> JobProgress::gather(std::int64_t fold, const std::string& text) {
  std::vector<Line> lines;
  if (fold != fold_) lines = finish_fold();
  fold_ = fold;
  fold_text_ += (fold_text_.empty() ? "" : ", ") + text;
  return lines;
}

std::vector<Line> JobProgress::finish_fold() {
  if (fold_text_.empty()) return {};
  Line line = line_of(fmt::format("fold {}: {}", fold_ + 1, fold_text_));
  fold_text_.clear();
  return {line};
}

std::string JobProgress::score_text() const {
  return std::abs(score_) < 1e6 ? fmt::format("{:.4f}", score_) : fmt::format("{:.5g}", score_);
}

// What runs below the whole: the fit that is under way, by its number.
std::string JobProgress::current_label(const char* gap) const {
  const schema::ProgressEvent& whole = whole_->last;
  std::string label = fmt::format("{} {}", is_search(*whole_) ? "fit" : "fold", whole.done + 1);
  if (whole.done >= whole.total) label = is_search(*whole_) ? "refit" : "last steps";
  if (current_ && is_search(*whole_) && current_->last.fold >= 0) label += fmt::format(", fold {}", current_->last.fold + 1);
  return current_ ? label + gap + printable(current_->last.phase) : label;
}

std::vector<Line> JobProgress::live(int columns, double now) const {
  if (state_seen_ < 0 || schema::is_final(state_)) return {};
  if (!whole_ && current_)
    return {fitted(parts_of(phase_title(current_->last), *current_, now, Style::kBold), columns, share(current_->last))};
  if (!whole_) {
    const std::string state(schema::job_state_name(state_));
    return {cut(Line{Span{state, Style::kBold}, Span{"  " + duration_words(now - state_seen_)}}, columns)};
  }
  std::vector<Part> parts = parts_of(whole_title(*whole_), *whole_, now, Style::kBold);
  if (!score_name_.empty()) {
    const char* word = is_search(*whole_) ? "best" : "mean";
    const bool has_room = width_of(parts) + display_width(score_name_) + 20 < columns;
    parts.push_back({fmt::format("{}{} {}", word, has_room ? " " + score_name_ : "", score_text()), 0, Style::kGood});
  }
  std::vector<Part> below{{"  " + current_label("  "), 0}, {duration_words(now - whole_->seen), 0}};
  if (current_) below = parts_of(below.front().text, *current_, now, Style::kPlain);
  return {fitted(std::move(parts), columns, share(whole_->last)), fitted(std::move(below), columns, current_ ? share(current_->last) : 0)};
}

std::string JobProgress::plain_line(double now) const {
  std::string text;
  if (whole_) text = plain_text(parts_of(whole_title(*whole_), *whole_, now, {}));
  if (whole_ && !score_name_.empty()) text += fmt::format(", {} {} {}", is_search(*whole_) ? "best" : "mean", score_name_, score_text());
  const std::string title = !current_ ? "" : whole_ ? current_label(", ") : phase_title(current_->last);
  if (current_) text += (text.empty() ? "" : "; ") + plain_text(parts_of(title, *current_, now, {}));
  return text.empty() ? fmt::format("{}: {}", schema::job_state_name(state_), duration_words(now - state_seen_)) : text;
}

std::optional<std::string> JobProgress::plain(double now) {
  if (state_seen_ < 0 || schema::is_final(state_) || now - shown_at_ < wait_) return std::nullopt;
  const std::tuple what{state_, whole_ ? whole_->last.done : -1, current_ ? current_->last.done : -1};
  wait_ = what == shown_ ? std::min(2 * wait_, kPlainAtMost_s) : kPlainEvery_s;
  shown_ = what, shown_at_ = now;
  return plain_line(now);
}

}  // namespace kedge::cli
