// Checks a job description, field by field in the order in which it is written.
#include "engine/job/job_check.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

#include "engine/core/value_size.h"
#include "engine/generate/generate.h"
#include "engine/job/refuse.h"
#include "engine/job/targets_check.h"
#include "engine/job/task_check.h"
#include "engine/table/row_filter.h"
#include "engine/table/typed_columns.h"

namespace kedge::engine {
namespace {

// --- dataset ---

void check(const schema::OpenmlRef& ref) {
  if (ref.name.empty() && ref.id == 0) refuse("dataset.openml", "a data set of OpenML needs a name or an id");
  if (!ref.name.empty() && ref.id != 0) refuse("dataset.openml", "a data set of OpenML takes a name or an id, not both");
  if (ref.id < 0) refuse("dataset.openml.id", fmt::format("id is {}, must be at least 1", ref.id));
  if (ref.version < 0) refuse("dataset.openml.version", fmt::format("version is {}, must be at least 1", ref.version));
}

void check_addresses(const schema::UrlRef& ref) {
  constexpr std::size_t kMost = 1000;
  if (ref.urls.empty()) {
    if (ref.url.empty()) refuse("dataset.url.url", "url is empty");
    return;
  }
  if (!ref.url.empty()) refuse("dataset.url.urls", "url is given as well, must be one of the two");
  if (ref.urls.size() > kMost)
    refuse("dataset.url.urls", fmt::format("urls has {} addresses, at most {}", ref.urls.size(), kMost));
  for (std::size_t i = 0; i < ref.urls.size(); ++i) {
    if (!ref.urls[i].starts_with("http://") && !ref.urls[i].starts_with("https://"))
      refuse(fmt::format("dataset.url.urls[{}]", i),
             fmt::format("address is '{}', must begin with http:// or https://", ref.urls[i].substr(0, 200)));
  }
}

void check(const schema::UrlRef& ref) {
  check_addresses(ref);
  constexpr std::array<std::string_view, 5> kFormats{"csv", "arff", "libsvm", "parquet", "arrow"};
  if (std::ranges::find(kFormats, ref.format) == kFormats.end())
    refuse("dataset.url.format",
           fmt::format("format is '{}', must be csv, arff, libsvm, parquet or arrow", ref.format));
  const bool is_hex = std::all_of(ref.sha256.begin(), ref.sha256.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (!ref.sha256.empty() && (ref.sha256.size() != 64 || !is_hex)) {
    refuse("dataset.url.sha256", fmt::format("sha256 is '{}', must be 64 hexadecimal digits", ref.sha256));
  }
}

void check(const schema::BuiltinRef& ref) {
  if (ref.name.empty()) refuse("dataset.builtin", "the name of the data set is empty");
}

void check(const schema::SklearnRef& ref) {
  if (ref.name.empty()) refuse("dataset.sklearn", "the name of the data set is empty");
}

void check(const schema::InlineRef& ref) {
  if (ref.csv.empty() && ref.bytes > 0) {
    refuse("dataset.inline.csv", fmt::format("csv was left out of this copy of a job; it had {} bytes. Send the text again", ref.bytes));
  }
  if (ref.csv.empty()) refuse("dataset.inline.csv", "csv is empty, must have a header line and rows");
}

void check(const schema::StoredRef& ref) {
  if (ref.name.empty()) refuse("dataset.stored", "the name of the data set is empty");
}

void check(const schema::GenerateRef& ref) {
  check_generated(ref);
}

void check_types(const schema::Select& select) {
  constexpr std::size_t kMost = 10000;
  for (const auto& [column, type] : select.types) {
    if (!is_column_type(type))
      refuse("select.types." + column, fmt::format("type is '{}', must be {}", type.substr(0, 64), kColumnTypes));
  }
  if (select.naValues.size() > kMost)
    refuse("select.naValues", fmt::format("naValues has {} texts, at most {}", select.naValues.size(), kMost));
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
  check_targets(select);
  check_types(select);
  check_row_filter(select);
}

// --- pipeline ---

// What a value says of the work that its check takes.
struct Reading {
  std::size_t bytes = 0, patterns = 0;
  Reading& operator+=(const Reading& other) { return bytes += other.bytes, patterns += other.patterns, *this; }
};

Reading reading_of(const schema::ValueMap& map);

Reading reading_of(const schema::Value& value) {
  Reading all;
  if (const auto* map = std::get_if<schema::ValueMap>(&value.data)) return reading_of(*map);
  if (const auto* list = std::get_if<schema::ValueList>(&value.data)) {
    for (const schema::Value& item : *list) all += reading_of(item);
    return all;
  }
  return {.bytes = held_bytes(value)};
}

Reading reading_of(const schema::ValueMap& map) {
  Reading all;
  for (const auto& [name, value] : map) {
    all += reading_of(value);
    all.bytes += name.size();
    if (name == "pattern") ++all.patterns;
  }
  return all;
}

Reading reading_of(const std::vector<schema::Step>& steps) {
  Reading all;
  for (const schema::Step& step : steps) all += reading_of(step.params);
  return all;
}

const schema::Value* grid_of(const schema::Task& task) {
  if (const auto* grid = std::get_if<schema::GridSearch>(&task)) return &grid->paramGrid;
  if (const auto* halving = std::get_if<schema::HalvingGridSearch>(&task)) return &halving->paramGrid;
  if (const auto* random = std::get_if<schema::RandomizedSearch>(&task)) return &random->paramDistributions;
  return nullptr;
}

std::vector<StepTraits> check_steps(const std::vector<schema::Step>& steps, const CheckClock& clock) {
  if (steps.empty()) refuse("pipeline", "the pipeline is empty, must have at least one estimator");
  if (const std::size_t patterns = reading_of(steps).patterns; patterns > kMostPatterns) {
    refuse("pipeline", fmt::format("the pipeline has {} patterns of columns, must have at most {}", patterns, kMostPatterns));
  }
  std::vector<StepTraits> traits;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    clock.spend("pipeline", i, steps.size());
    traits.push_back(traits_of(steps[i], fmt::format("pipeline[{}]", i)));
  }
  check_order(steps, traits, "pipeline");
  return traits;
}

// "auto", "cpu", "cluster", "cuda" or "cuda:N".
void check_device(std::string_view device) {
  constexpr std::string_view kIndexed = "cuda:";
  if (device == "auto" || device == "cpu" || device == "cluster" || device == "cuda") return;
  if (device.starts_with(kIndexed)) {
    const std::string_view digits = device.substr(kIndexed.size());
    std::uint16_t index = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error == std::errc() && end == digits.data() + digits.size()) return;
  }
  refuse("device", fmt::format("device is '{}', must be auto, cpu, cluster, cuda or cuda:N", device));
}

}  // namespace

void check_dataset(const schema::DatasetRef& dataset, const schema::Select& select) {
  std::visit([](const auto& ref) { check(ref); }, dataset.source);
  check(select);
}

CheckedJob check_job(const schema::JobSpec& spec, const CheckBudget& budget) {
  const CheckClock clock(budget);
  CheckedJob job{.spec = spec};
  check_dataset(spec.dataset, spec.select);
  if (schema::model_of(spec.task)) {
    check_model_task(spec);
    check_device(spec.device);
    return job;
  }
  job.steps = check_steps(spec.pipeline, clock);
  check_targets(job.steps, spec.select, "select.targets");
  check_task_of_targets(spec);
  check_task(job, clock);
  check_device(spec.device);
  return job;
}

std::size_t check_size(const schema::JobSpec& spec) {
  constexpr std::size_t kPatternBytes = std::size_t{32} << 10;   // what is read in the time that a long pattern takes
  std::size_t candidates = 1;
  Reading once = reading_of(spec.pipeline);
  if (const schema::Value* grid = grid_of(spec.task)) {
    candidates += static_cast<std::size_t>(count_candidates(*grid));
    if (const auto* random = std::get_if<schema::RandomizedSearch>(&spec.task))
      candidates = std::max<std::size_t>(candidates, static_cast<std::size_t>(std::max<std::int64_t>(random->nIter, 0)));
    once += reading_of(*grid);
  }
  if (const auto* curve = std::get_if<schema::ValidationCurve>(&spec.task)) {
    candidates += curve->paramRange.size();
    for (const schema::Value& value : curve->paramRange) once += reading_of(value);
  }
  constexpr std::size_t kCandidateBytes = 1000;   // read in the time that a candidate takes without its parameters
  return candidates * (kCandidateBytes + once.bytes + once.patterns * kPatternBytes);
}

}  // namespace kedge::engine
