// What the training profile of a model, by which drift is counted, costs: in a fit, in the model's file, and in a
// prediction. Prints a row of Markdown for each table: medians of rounds in which the fit (or the answer) and the work
// for the profile take turns, in processor time.
#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/backend/loader.h"
#include "engine/core/model_file.h"
#include "engine/model/model_plan.h"
#include "engine/model/training_profile.h"
#include "engine/pipeline.h"
#include "tests/unit/engine/small_dataset.h"

namespace {

using namespace kedge::engine;
namespace schema = kedge::schema;
constexpr int kRounds = 5;

// Of the processor, by all threads: other programs on the machine are not counted.
double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <class Work>
double seconds_of(const Work& work) {
  const double start = processor_seconds();
  work();
  return processor_seconds() - start;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Numbers without a pattern, every seventh column rounded to few values, and two classes.
std::filesystem::path write_table(const std::filesystem::path& folder, std::int64_t n_rows, std::int64_t n_cols) {
  std::vector<ColumnInfo> columns;
  for (std::int64_t j = 0; j < n_cols; ++j) columns.push_back(numeric("x" + std::to_string(j)));
  columns.push_back(nominal("y", {"no", "yes"}));
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(n_rows * (n_cols + 1)));
  std::uint64_t state = 1;
  for (std::int64_t i = 0; i < n_rows; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < n_cols; ++j) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      const double drawn = static_cast<double>(state >> 33) / 2147483648.0 - 0.5;
      values.push_back(j % 7 == 6 ? std::round(drawn * 4) : drawn);
      sum += j % 3 == 0 ? drawn : 0;
    }
    values.push_back(sum > 0 ? 1 : 0);
  }
  return write_dataset(folder, std::move(columns), values, "y");
}

// Bytes that the profile adds to a model.
std::int64_t bytes_of_profile(const Context& ctx, const TrainingProfile& profile, const schema::ModelInfo& info) {
  constexpr std::size_t kKeep = std::size_t{1} << 26;
  const auto size_of = [&](bool has_profile) {
    ModelFileWriter writer({}, kKeep);
    StateArchive archive(ctx, writer, 2);
    TrainingProfile copy = profile;
    if (has_profile) copy.state(archive, info);
    return std::ssize(writer.finish(info));
  };
  return size_of(true) - size_of(false);
}

struct Times {
  double own, of_profile;
};
template <class Own, class OfProfile>
Times in_turns(const Own& own, const OfProfile& of_profile) {
  std::vector<double> ours, profiles;
  for (int round = 0; round < kRounds; ++round)
    ours.push_back(seconds_of(own)), profiles.push_back(seconds_of(of_profile));
  return {median(ours), median(profiles)};
}

// The fit without the profile, which it has made as well.
std::string said_of_fit(const Times& times) {
  const double alone = times.own - times.of_profile;
  return fmt::format("{:.1f} ms | {:.2f} ms ({:.1f} %)", alone * 1e3, times.of_profile * 1e3,
                     100 * times.of_profile / alone);
}
std::string said_of_answer(const Times& times) {
  return fmt::format("{:.1f} us | {:.1f} us ({:.0f} %)", times.own * 1e6, times.of_profile * 1e6,
                     100 * times.of_profile / times.own);
}

void measure(std::int64_t n_rows, std::int64_t n_cols, std::vector<schema::Step> steps) {
  const TemporaryFolder folder;
  const std::unique_ptr<Device> device = open_device("cpu");
  const Context ctx{.device = *device};
  const DatasetFile data(write_table(folder.path(), n_rows, n_cols));
  const std::string name = steps.back().estimator;
  const schema::JobSpec spec{
      .dataset = {schema::StoredRef{"made"}}, .pipeline = std::move(steps), .task = schema::Fit{}};
  const Pipeline pipeline = Pipeline::build(spec);
  RunFiles files{.model_file = folder.path() / "model.kedge", .data_digest = "feed"};
  pipeline.run(ctx, data, {}, &files);
  const auto model = StoredModel::load(ctx, files.model_file);
  const Selection selection = select_features(spec.select, data.meta(), {.nan = true, .categories = true});
  const Times fit =
      in_turns([&] { pipeline.run(ctx, data, {}, &files); }, [&] { training_profile(selection, data, model->info()); });
  const auto file = static_cast<std::int64_t>(std::filesystem::file_size(files.model_file)),
             of_profile = bytes_of_profile(ctx, *model->profile(), model->info());
  fmt::print("| {} x {}, {} | {} | {} + {} bytes |", n_rows, n_cols, name, said_of_fit(fit), file - of_profile,
             of_profile);
  BinCounter counter(*model->profile(), model->info());
  const DatasetRows source(model->info(), data, n_rows);
  for (const std::int64_t asked : {1, 100, 10'000}) {
    const ModelRows rows = source.rows(0, std::min(asked, n_rows));
    const std::int64_t repeats = std::max<std::int64_t>(1, 2000 / asked);
    Times times = in_turns(
        [&] {
          for (std::int64_t i = 0; i < repeats; ++i) answer_rows(ctx, *model, rows, "predict");
        },
        [&] {
          for (std::int64_t i = 0; i < repeats; ++i) counter.count(rows);
        });
    times.own /= static_cast<double>(repeats), times.of_profile /= static_cast<double>(repeats);
    fmt::print(" {} |", said_of_answer(times));
  }
  fmt::print("\n");
  std::fflush(stdout);
}

}   // namespace

int main() {
  fmt::print(
      "| table, last step | fit | profile | file | 1 row | counting | 100 rows | counting | 10,000 rows | counting |\n");
  const std::vector<schema::Step> line{{"StandardScaler", {}}, {"LogisticRegression", {}}};
  const std::vector<schema::Step> forest{{"RandomForestClassifier", {{"n_estimators", std::int64_t{20}}}}};
  for (const auto& [n_rows, n_cols] : {std::pair{1000, 10}, {20'000, 28}, {5'000, 500}}) {
    measure(n_rows, n_cols, line);
    if (n_cols < 500) measure(n_rows, n_cols, forest);
  }
  return 0;
}
