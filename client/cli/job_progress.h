// What is known of a running job, from its events: the lines that show it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "client/cli/terminal.h"
#include "schemas/event.h"

namespace kedge::cli {

// One thing that is counted: the fits of a search, the trees of a forest.
struct Count {
  schema::ProgressEvent last;
  double begin = 0, at = 0;       // s, by the job's clock: when it began, and when `last` was said
  std::int64_t first_done = 0;    // done at `begin`
  double seen = 0;                // s, by our clock: when `last` came
};

// A value: events in, lines out. `now` is our own clock in seconds, from any fixed moment; rates are computed from the
// times in the events, so that a job that is watched late shows the same as one that was watched all along. Not thread
// safe.
class JobProgress {
 public:
  static constexpr double kPlainEvery_s = 5;

  // Takes an event in and returns the lines that stay on the screen because of it. Scores and times of a fold become one line, and of
  // warnings that differ in numbers alone the first.
  std::vector<Line> take(const schema::Event& event, double now);

  // The lines that are drawn in place, for `columns` columns: of a search or a cross-validation the whole (done of all,
  // time left, score so far) and below it the current fit; otherwise the current phase. None when the job has ended.
  std::vector<Line> live(int columns, double now) const;

  // The same in one line for a file or pipe, when one is due: some seconds after the last that was shown, and less
  // often while nothing changes.
  std::optional<std::string> plain(double now);

 private:
  std::vector<Line> taken(const schema::Event& event, double now);
  void take_progress(const schema::ProgressEvent& progress, double at, double now);
  std::vector<Line> take_metric(const schema::MetricEvent& metric);
  std::vector<Line> take_state(const schema::StateEvent& state, double at, double now);
  std::vector<Line> take_log(const schema::LogEvent& log);
  std::vector<Line> gather(std::int64_t fold, const std::string& text);
  std::vector<Line> finish_fold();
  std::vector<Line> ended(const schema::ProgressEvent& progress) const;
  std::string current_label(const char* gap) const;
  std::string plain_line(double now) const;
  std::string score_text() const;

  schema::JobState state_ = schema::JobState::kQueued;
  double state_seen_ = -1;                      // s, by our clock: since when the state holds; -1: no event yet
  double work_at_ = 0;                          // s, by the job's clock: when the task began
  std::optional<Count> whole_, current_;
  std::string score_name_;                      // of the best score, or of the mean over the folds
  double score_ = 0;
  std::int64_t n_scores_ = 0;
  std::int64_t fold_ = -1;                      // of what is gathered
  std::string fold_text_;
  std::map<std::string, int> warnings_;         // how many of each kind
  std::tuple<schema::JobState, std::int64_t, std::int64_t> shown_{};   // what the last plain line said
  double shown_at_ = 0, wait_ = kPlainEvery_s;                         // s, by our clock
};

std::string duration_words(double seconds);   // "12 s", "2 min 05 s", "3 h 20 min", "2 d 04 h"

}  // namespace kedge::cli
