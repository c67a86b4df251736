// Checks a job description, field by field in the order in which it is written.
#include "engine/job_check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::Value;

constexpr std::array<std::string_view, 3> kSplitters = {"auto", "KFold", "StratifiedKFold"};
constexpr std::int64_t kMaxSeed = 0xffffffff;   // numpy's RandomState takes 32 bits

[[noreturn]] void refuse(std::string where, std::string message, ErrorCode code = ErrorCode::kInvalidValue) {
  throw Error(code, std::move(message), std::move(where));
}

// "; did you mean 'x'?" or nothing.
template <class Range>
std::string suggestion(std::string_view name, const Range& candidates) {
  const std::string_view nearest = schema::nearest_name(name, candidates);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

// --- dataset ---

void check(const schema::OpenmlRef& ref) {
  if (ref.name.empty() && ref.id == 0) refuse("dataset.openml", "a data set of OpenML needs a name or an id");
  if (!ref.name.empty() && ref.id != 0) refuse("dataset.openml", "a data set of OpenML takes a name or an id, not both");
  if (ref.id < 0) refuse("dataset.openml.id", fmt::format("id is {}, must be at least 1", ref.id));
  if (ref.version < 0) refuse("dataset.openml.version", fmt::format("version is {}, must be at least 1", ref.version));
}

void check(const schema::UrlRef& ref) {
  if (ref.url.empty()) refuse("dataset.url.url", "url is empty");
  if (ref.format != "csv" && ref.format != "arff") {
    refuse("dataset.url.format", fmt::format("format is '{}', must be csv or arff", ref.format));
  }
  const bool is_hex = std::all_of(ref.sha256.begin(), ref.sha256.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (!ref.sha256.empty() && (ref.sha256.size() != 64 || !is_hex)) {
    refuse("dataset.url.sha256", fmt::format("sha256 is '{}', must be 64 hexadecimal digits", ref.sha256));
  }
}

void check(const schema::BuiltinRef& ref) {
  if (ref.name.empty()) refuse("dataset.builtin", "the name of the data set is empty");
}

void check(const schema::InlineRef& ref) {
  if (ref.csv.empty()) refuse("dataset.inline.csv", "csv is empty, must have a header line and rows");
}

void check(const schema::Select& select) {
  if (select.rows && *select.rows < 1) refuse("select.rows", fmt::format("rows is {}, must be at least 1", *select.rows));
  if (select.dtype && *select.dtype != "float32" && *select.dtype != "float64") {
    refuse("select.dtype", fmt::format("dtype is '{}', must be float32 or float64", *select.dtype));
  }
  if (select.scale && !std::isfinite(*select.scale)) {
    refuse("select.scale", fmt::format("scale is {}, must be finite", *select.scale));
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < select.columns.size(); ++i) {
    if (!seen.insert(select.columns[i]).second) {
      refuse(fmt::format("select.columns[{}]", i), fmt::format("column '{}' is named twice", select.columns[i]));
    }
  }
}

// --- pipeline ---

const CatalogueEntry& find_step(const schema::Step& step, const std::string& path) {
  if (const CatalogueEntry* entry = find_estimator(step.estimator)) return *entry;
  std::vector<std::string_view> names;
  for (const CatalogueEntry& entry : catalogue()) names.push_back(entry.info.name);
  refuse(path + ".estimator", fmt::format("unknown estimator '{}'{}", step.estimator, suggestion(step.estimator, names)),
         ErrorCode::kUnknownEstimator);
}

std::vector<const CatalogueEntry*> check_steps(const std::vector<schema::Step>& steps) {
  if (steps.empty()) refuse("pipeline", "the pipeline is empty, must have at least one estimator");
  std::vector<const CatalogueEntry*> entries;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string path = fmt::format("pipeline[{}]", i);
    const CatalogueEntry& entry = find_step(steps[i], path);
    try {
      entry.make_f64(steps[i].params);
    } catch (const Error& error) {
      throw Error(error.code, error.message, error.where.empty() ? path + ".params" : path + "." + error.where);
    }
    if (i + 1 < steps.size() && entry.info.kind != "transformer") {
      refuse(path, fmt::format("{} is a {}, only the last step may be one", entry.info.name, entry.info.kind));
    }
    entries.push_back(&entry);
  }
  return entries;
}

// --- task ---

void check_seed(const std::optional<std::int64_t>& seed, bool shuffle, const std::string& task) {
  if (!seed) return;
  if (*seed < 0 || *seed > kMaxSeed) {
    refuse(task + ".randomState", fmt::format("randomState is {}, must be from 0 to {}", *seed, kMaxSeed));
  }
  if (!shuffle) refuse(task + ".randomState", "randomState has no effect without shuffle: leave it out or set shuffle to true");
}

std::vector<const Scorer*> check_scoring(const std::vector<std::string>& names, const std::string& task) {
  std::vector<const Scorer*> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Scorer* scorer = find_scorer(names[i]);
    const std::string path = fmt::format("{}.scoring[{}]", task, i);
    if (!scorer) {
      refuse(path, fmt::format("unknown scorer '{}', must be one of {}{}", names[i], fmt::join(scorer_names(), ", "),
                               suggestion(names[i], scorer_names())));
    }
    if (std::find(found.begin(), found.end(), scorer) != found.end()) refuse(path, fmt::format("'{}' is named twice", names[i]));
    found.push_back(scorer);
  }
  if (found.empty()) found.push_back(find_scorer("accuracy"));
  return found;
}

// 0 for an absent size or a number of rows, else the fraction.
double check_size(const std::optional<Value>& size, const char* name) {
  if (!size || size->is_null()) return 0;
  const std::string path = std::string("task.fitScore.") + name;
  if (const auto* rows = std::get_if<std::int64_t>(&size->data)) {
    if (*rows < 1) refuse(path, fmt::format("{} is {}, must be at least 1 row or a fraction between 0 and 1", name, *rows));
    return 0;
  }
  const auto* fraction = std::get_if<double>(&size->data);
  if (!fraction) {
    refuse(path, fmt::format("{} is {}, must be a number", name, schema::to_string(*size)), ErrorCode::kWrongType);
  }
  if (!(*fraction > 0 && *fraction < 1)) {
    refuse(path, fmt::format("{} is {}, must be a fraction between 0 and 1 or a whole number of rows", name, *fraction));
  }
  return *fraction;
}

void check_ends_in_classifier(const CheckedJob& job, std::string_view task) {
  if (job.ends_in_classifier()) return;
  const auto& info = job.estimators.back()->info;
  refuse(fmt::format("pipeline[{}]", job.estimators.size() - 1),
         fmt::format("{} needs a classifier as its last step, {} is a {}", task, info.name, info.kind));
}

void check_task(const schema::Fit&, CheckedJob&) {}

void check_task(const schema::FitScore& task, CheckedJob& job) {
  const double test = check_size(task.testSize, "testSize"), train = check_size(task.trainSize, "trainSize");
  if (test + train > 1) {
    refuse("task.fitScore.trainSize", fmt::format("testSize and trainSize are {} together, must be at most 1", test + train));
  }
  if (task.stratify && !task.shuffle) refuse("task.fitScore.stratify", "stratify needs shuffle: rows in order keep no shares");
  check_seed(task.randomState, task.shuffle, "task.fitScore");
  job.scorers = check_scoring(task.scoring, "task.fitScore");
  check_ends_in_classifier(job, "fitScore");
}

void check_task(const schema::CrossValidate& task, CheckedJob& job) {
  if (task.cv < 2) refuse("task.crossValidate.cv", fmt::format("cv is {}, must be at least 2", task.cv));
  if (std::find(kSplitters.begin(), kSplitters.end(), task.splitter) == kSplitters.end()) {
    refuse("task.crossValidate.splitter", fmt::format("splitter is '{}', must be one of {}{}", task.splitter,
                                                      fmt::join(kSplitters, ", "), suggestion(task.splitter, kSplitters)));
  }
  check_seed(task.randomState, task.shuffle, "task.crossValidate");
  job.scorers = check_scoring(task.scoring, "task.crossValidate");
  check_ends_in_classifier(job, "crossValidate");
}

// "auto", "cpu", "cuda" or "cuda:N".
void check_device(std::string_view device) {
  constexpr std::string_view kIndexed = "cuda:";
  if (device == "auto" || device == "cpu" || device == "cuda") return;
  if (device.starts_with(kIndexed)) {
    const std::string_view digits = device.substr(kIndexed.size());
    std::uint16_t index = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error == std::errc() && end == digits.data() + digits.size()) return;
  }
  refuse("device", fmt::format("device is '{}', must be auto, cpu, cuda or cuda:N", device));
}

}  // namespace

CheckedJob check_job(const schema::JobSpec& spec) {
  CheckedJob job{.spec = spec};
  std::visit([](const auto& ref) { check(ref); }, spec.dataset.source);
  check(spec.select);
  job.estimators = check_steps(spec.pipeline);
  std::visit([&](const auto& task) { check_task(task, job); }, spec.task);
  check_device(spec.device);
  return job;
}

}  // namespace kedge::engine
