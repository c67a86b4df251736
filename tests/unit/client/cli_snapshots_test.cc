// What stands on terminals of 60, 80 and 200 columns, and in a pipe, during run, a search and up: recorded in snapshots/. With
// KEDGE_WRITE_SNAPSHOTS set, the files are written instead of compared.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "client/cli/job_progress.h"
#include "client/cli/phase_display.h"
#include "client/cli/table.h"

namespace kedge::cli {
namespace {

using schema::JobState;
using schema::LogEvent;
using schema::MetricEvent;
using schema::ProgressEvent;
using schema::StateEvent;
using schema::TimingEvent;

// Lines that stay as they are; those that are drawn in place between two lines of dashes, at the given moments.
class Recording {
 public:
  explicit Recording(const Page& page) : page_(page) {}

  void say(double at, schema::EventBody body) {
    now_ = at;
    const auto ms = static_cast<int>(at * 1000 + 0.5);
    const schema::Event event{.id = ++id_, .time = fmt::format("2026-01-02T03:{:02}:{:02}.{:03}Z", ms / 60000, ms / 1000 % 60, ms % 1000), .body = std::move(body)};
    for (const Line& line : progress_.take(event, now_)) text_ += paragraph(page_, line, 2);
    if (page_.is_live) return;
    if (const auto line = progress_.plain(now_)) text_ += *line + '\n';
  }
  void look() { look(progress_.live(page_.columns - 1, now_)); }
  void look(const std::vector<Line>& lines) {
    if (!page_.is_live) return;
    text_ += "-----\n";
    for (const Line& line : lines) text_ += rendered(line, false) + '\n';
    text_ += "-----\n";
  }
  void add(const std::string& text) { text_ += text; }
  const std::string& text() const { return text_; }
  const Page& page() const { return page_; }

 private:
  Page page_;
  JobProgress progress_;
  double now_ = 0;
  std::int64_t id_ = 0;
  std::string text_;
};

schema::Result base_result() {
  schema::Result result{.nSamples = 52667, .nFeatures = 784, .dtype = "float32"};
  result.device = {.kind = "cuda", .name = "NVIDIA L4"};
  result.timings = {.queued = 0.002, .download = 4.1, .parse = 0.42, .toDevice = 0.03, .fit = 62.5, .predict = 1.25, .score = 0.06, .total = 68.36};
  result.timings.cold = true;
  result.memory = schema::MemoryReport{.neededBytes = 300 << 20, .predictedBytes = 700 << 20, .peakBytes = 640 << 20};
  return result;
}

void record_run(Recording& r) {
  r.say(0.0, StateEvent{.state = JobState::kQueued});
  r.say(0.1, StateEvent{.state = JobState::kFetching});
  r.say(0.2, ProgressEvent{.phase = "download", .done = 0, .total = 128'000'000, .unit = "bytes"});
  r.say(2.2, ProgressEvent{.phase = "download", .done = 57'600'000, .total = 128'000'000, .unit = "bytes"});
  r.look();
  r.say(4.3, ProgressEvent{.phase = "download", .done = 128'000'000, .total = 128'000'000, .unit = "bytes"});
  r.say(4.3, TimingEvent{.phase = "download", .seconds = 4.1});
  r.say(5.0, StateEvent{.state = JobState::kRunning});
  r.look();
  r.say(5.1, TimingEvent{.phase = "toDevice", .seconds = 0.03});
  r.say(5.1, ProgressEvent{.phase = "fold", .done = 0, .total = 5, .unit = "folds"});
  r.say(6.0, ProgressEvent{.phase = "trees", .done = 10, .total = 200, .unit = "trees", .fold = 0});
  r.say(11.0, ProgressEvent{.phase = "trees", .done = 85, .total = 200, .unit = "trees", .fold = 0});
  r.look();
  for (std::int64_t fold = 0; fold < 2; ++fold) {
    const double at = 18 + 13 * static_cast<double>(fold);
    r.say(at, MetricEvent{.name = "accuracy", .value = 0.9652 - 0.001 * static_cast<double>(fold), .fold = fold});
    r.say(at, TimingEvent{.phase = "fit", .seconds = 12.5, .fold = fold});
    r.say(at, TimingEvent{.phase = "predict", .seconds = 0.25, .fold = fold});
    r.say(at, ProgressEvent{.phase = "fold", .done = fold + 1, .total = 5, .unit = "folds"});
  }
  r.say(32, ProgressEvent{.phase = "trees", .done = 8, .total = 200, .unit = "trees", .fold = 2});
  r.say(36, ProgressEvent{.phase = "trees", .done = 68, .total = 200, .unit = "trees", .fold = 2});
  r.look();
  r.say(73, StateEvent{.state = JobState::kSucceeded});
  schema::Result result = base_result();
  result.scores.emplace_back("accuracy", schema::Score{{0.9652, 0.9641, 0.9660, 0.9649, 0.9655}, 0.9651, 0.0006});
  result.timings.folds.assign(5, {.fit = 12.5, .predict = 0.25, .score = 0.012});
  r.add(result_table(result, r.page()));
}

void record_search(Recording& r) {
  constexpr const char* kStopped = "LogisticRegression: stopped after max_iter = {} iterations with a gradient of {}; raise max_iter, or scale the data";
  r.say(0.0, StateEvent{.state = JobState::kRunning});
  r.say(0.1, ProgressEvent{.phase = "candidate", .done = 0, .total = 75, .unit = "fits"});
  r.look();
  for (std::int64_t i = 1; i <= 40; ++i) {
    if (i % 8 == 1) r.say(1.4 * static_cast<double>(i), LogEvent{"warning", fmt::format(fmt::runtime(kStopped), 100, 0.01 * static_cast<double>(i))});
    if (i % 10 == 1) r.say(1.4 * static_cast<double>(i), MetricEvent{.name = "best_neg_root_mean_squared_error", .value = -48818.3676 + static_cast<double>(i)});
    r.say(1.4 * static_cast<double>(i), ProgressEvent{.phase = "candidate", .done = i, .total = 75, .unit = "fits"});
  }
  r.look();
  r.say(56.2, ProgressEvent{.phase = "iterations", .done = 1, .total = 1000, .unit = "iterations", .fold = 2});
  r.say(57.0, ProgressEvent{.phase = "iterations", .done = 321, .total = 1000, .unit = "iterations", .fold = 2});
  r.look();
  r.say(105, ProgressEvent{.phase = "candidate", .done = 75, .total = 75, .unit = "fits"});
  r.say(106, ProgressEvent{.phase = "trees", .done = 20, .total = 200, .unit = "trees"});
  r.look();
  r.say(110, StateEvent{.state = JobState::kSucceeded});
  schema::Result result = base_result();
  schema::SearchResult& search = result.search.emplace();
  schema::ValueList candidates;
  std::vector<double> means, deviations;
  for (std::int64_t i = 0; i < 15; ++i) {
    schema::ValueMap params{{"model__n_estimators", schema::Value(50 * (i + 1))}, {"model__criterion", schema::Value("friedman_mse")}, {"温度__spalte", schema::Value("größe")}};
    candidates.emplace_back(params);
    means.push_back(-50000 + 100 * static_cast<double>(i));
    deviations.push_back(1000 - static_cast<double>(i));
    search.bestParams = params, search.bestScore = means.back();
  }
  search.cvResults = {{"params", schema::Value(candidates)}, {"mean_test_score", schema::Value(means)}, {"std_test_score", schema::Value(deviations)}};
  result.scores.emplace_back("neg_root_mean_squared_error", schema::Score{{-48818.3676, -50824.2292, -47000.1, -48000.25, -49123.5}, -48753.2894, 1261.7});
  for (int i = 0; i < 15; ++i) result.warnings.push_back(fmt::format(fmt::runtime(kStopped), 100, 0.01 * i));
  result.warnings.emplace_back("text columns are left out: comment");
  r.add(result_table(result, r.page()));
}

void record_up(Recording& r) {
  PhaseDisplay display;
  const Page page = r.page();
  const auto pass = [&](const char* name, double seconds, const std::string& note) {
    r.look({cut(phase_line({name, -1, note}), page.columns - 1)});
    r.add(paragraph(page, phase_line({name, seconds, note}), 20));
  };
  pass("offers", 1.25, "aws, runpod, vastai");
  pass("launch", 2.5, "aws g6.xlarge (L4) us-east-1a at 0.805 USD/h");
  pass("boot", 34.75, "i-0123456789abcdef0 ended by itself: the provider had no capacity for this kind of machine in this zone, InsufficientInstanceCapacity");
  pass("launch", 2.75, "runpod NVIDIA L4 (L4) EU-RO-1 at 0.430 USD/h");
  pass("start", 12.5, "https://203.0.113.7:5334");
  provisioning::UpResult result;
  result.version = "0.1.0", result.fuse = "the pod's own key ends it at its hard end";
  result.no_gpu = "the driver is 535, must be 580 or newer";
  result.intent.offer.gpu = "L4", result.intent.offer.price_usd_per_hour = 0.43;
  result.intent.lease.idle_s = 900, result.intent.lease.life_s = 8 * 3600;
  result.phases = {{"offers", 1.25, ""}, {"launch", 2.5, ""}, {"boot", 34.75, ""}, {"launch", 2.75, ""}, {"start", 12.5, ""}};
  r.add(paragraph(page, gpu_warning(result).value(), 2));
  for (const Line& line : ready_lines(result, "runpod NVIDIA L4 (L4) EU-RO-1 at 0.430 USD/h", true)) r.add(paragraph(page, line, 2));
}

struct Snapshot {
  const char* name;
  void (*record)(Recording&);
  int columns;   // 0: a pipe
  friend void PrintTo(const Snapshot& c, std::ostream* out) { *out << c.name << '_' << c.columns; }
};

class Snapshots : public testing::TestWithParam<Snapshot> {};

std::string recorded(const Snapshot& snapshot) {
  Recording recording({.columns = snapshot.columns, .is_live = snapshot.columns > 0});
  snapshot.record(recording);
  return recording.text();
}

TEST_P(Snapshots, AreAsRecorded) {
  const std::string text = recorded(GetParam());
  const std::string width = GetParam().columns ? std::to_string(GetParam().columns) : "pipe";
  const auto path = std::filesystem::path(KEDGE_SNAPSHOTS) / fmt::format("{}_{}.txt", GetParam().name, width);
  if (std::getenv("KEDGE_WRITE_SNAPSHOTS")) std::ofstream(path) << text;
  std::ifstream file(path);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(file), {})) << path;
}

TEST_P(Snapshots, HaveNoLineBeyondTheirWidth) {
  const std::string text = recorded(GetParam());
  for (std::size_t begin = 0, end; GetParam().columns && (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    EXPECT_LE(display_width(text.substr(begin, end - begin)), GetParam().columns) << text.substr(begin, end - begin);
}

INSTANTIATE_TEST_SUITE_P(OfSessions, Snapshots,
                         testing::Values(Snapshot{"run", record_run, 60}, Snapshot{"run", record_run, 80}, Snapshot{"run", record_run, 200},
                                         Snapshot{"run", record_run, 0}, Snapshot{"search", record_search, 60}, Snapshot{"search", record_search, 80},
                                         Snapshot{"search", record_search, 200}, Snapshot{"search", record_search, 0}, Snapshot{"up", record_up, 60},
                                         Snapshot{"up", record_up, 80}, Snapshot{"up", record_up, 200}, Snapshot{"up", record_up, 0}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace kedge::cli
