// Runs estimators for differential.py and the benchmarks: a case per line of JSON in, Kedge's result per line out.
//
// In:  {"steps": [{"estimator": NAME, "params": {...}}, ...], "dtype": "float32" | "float64", "device": "cpu" |
// "emulated" | "emulated T4" | ...,
//       "X": FILE, "n_cols": d, "codes": FILE, "classes": [...], "values": FILE, "weights": FILE, "test": FILE,
//       "outputs": [{"codes": FILE, "classes": [...], "values": FILE}, ...],
//       "features": [{"name": ..., "categories": [...]}], "sparse": false, "want": ["attributes", "transform",
//       "predict", ...], "repeat": 1}
//      outputs: several target columns, instead of codes, classes and values.
//      FILEs hold raw float64 in the machine's byte order (codes too); all but X may be absent; categories make a
//      column nominal.
// Out: {"fit": seconds, "apply": seconds, "warnings": [...], "attributes": {...}, "transform": {"rows": n, "values":
// [...]}, ...} or
//      {"error": {...}}.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/emulated/gpu_models.h"
#include "engine/backend/loader.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/fit_transformer.h"
#include "engine/estimators/magnitudes.h"
#include "engine/estimators/resampler.h"
#include "engine/estimators/row_scores.h"
#include "schemas/codec.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

const Value* find(const ValueMap& map, std::string_view key) {
  for (const auto& [name, value] : map)
    if (name == key && !value.is_null()) return &value;
  return nullptr;
}

std::string text(const ValueMap& map, std::string_view key, std::string otherwise = "") {
  const Value* value = find(map, key);
  return value ? std::get<std::string>(value->data) : otherwise;
}

std::int64_t whole(const ValueMap& map, std::string_view key, std::int64_t otherwise) {
  const Value* value = find(map, key);
  return value ? std::get<std::int64_t>(value->data) : otherwise;
}

ValueList list(const ValueMap& map, std::string_view key) {
  const Value* value = find(map, key);
  return value ? std::get<ValueList>(value->data) : ValueList{};
}

std::vector<std::string> texts(const ValueList& values) {
  std::vector<std::string> result;
  for (const Value& value : values) result.push_back(std::get<std::string>(value.data));
  return result;
}

std::vector<double> numbers(const std::string& path) {
  if (path.empty()) return {};
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<double> values(static_cast<std::size_t>(file.tellg()) / sizeof(double));
  file.seekg(0).read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(double)));
  return values;
}

// "emulated", or "emulated T4" for a GPU of gpu_models.h, beside what the loader knows.
std::unique_ptr<Device> make_device(const std::string& name) {
  constexpr std::string_view kEmulated = "emulated";
  if (!name.starts_with(kEmulated)) return open_device(name);
  const bool is_usual = name == kEmulated;
  return make_cuda_device(
      {.seed = 7, .model = is_usual ? nullptr : &emulated::gpu_model(name.substr(kEmulated.size() + 1))});
}

Device& device_named(const std::string& name) {
  static std::map<std::string, std::unique_ptr<Device>> devices;
  std::unique_ptr<Device>& device = devices[name];
  if (!device) device = make_device(name);
  return *device;
}

template <class T>
class Case {
 public:
  explicit Case(const ValueMap& spec) : spec_(spec), ctx_{.device = device_named(text(spec, "device", "cpu"))} {
    ctx_.emit = [this](const schema::EventBody& event) {
      if (const auto* log = std::get_if<schema::LogEvent>(&event); log && log->level == "warning")
        warnings_.emplace_back(log->message);
    };
    X_ = samples(text(spec, "X"));
    TargetOutput single = column(spec, "");
    y_.codes = std::move(single.codes), y_.classes = std::move(single.classes), y_.values = std::move(single.values);
    y_.weights = numbers(text(spec, "weights"));
    for (const Value& output : list(spec, "outputs"))
      y_.outputs.push_back(column(std::get<ValueMap>(output.data), std::to_string(y_.outputs.size())));
    unweighted_ = y_, unweighted_.weights.clear();   // weights belong to the last step, as in a job
  }

  ValueMap run() {
    double fit = 1e300, apply = 1e300;
    for (std::int64_t i = whole(spec_, "repeat", 1); i > 0; --i) {
      X_.table->binned.reset(), warnings_.clear();
      fit = std::min(fit, timed([&] { this->fit(); }));
      answers_.clear();
      const Samples<T> rows = find(spec_, "test") ? samples(text(spec_, "test")) : X_;
      apply = std::min(apply, timed([&] { this->apply(rows); }));
    }
    ValueMap result{{"fit", fit}, {"apply", apply}, {"warnings", warnings_}};
    result.insert(result.end(), answers_.begin(), answers_.end());
    return result;
  }

 private:
  static TargetOutput column(const ValueMap& spec, std::string name) {
    const std::vector<double> codes = numbers(text(spec, "codes"));
    return {.name = std::move(name),
            .codes = {codes.begin(), codes.end()},
            .classes = texts(list(spec, "classes")),
            .values = numbers(text(spec, "values"))};
  }

  template <class F>
  double timed(F&& work) {
    const auto start = Clock::now();
    work();
    ctx_.memory().synchronize();
    return seconds_since(start);
  }

  Samples<T> samples(const std::string& path) {
    const std::vector<double> host = numbers(path);
    const std::vector<T> values(host.begin(), host.end());
    const std::int64_t d = whole(spec_, "n_cols", 1);
    const auto n = static_cast<std::int64_t>(host.size()) / d;
    Samples<T> X = is_sparse() ? samples_of(compressed(values, n, d)) : samples_of(Matrix<T>(ctx_.memory(), n, d, values));
    for (const Value& entry : list(spec_, "features")) {
      const auto& feature = std::get<ValueMap>(entry.data);
      X.table->features.push_back({text(feature, "name"), texts(list(feature, "categories")), find(feature, "categories") != nullptr});
    }
    return X;
  }

  bool is_sparse() const {
    const Value* sparse = find(spec_, "sparse");
    return sparse && *sparse == Value(true);
  }

  CsrMatrix<T> compressed(const std::vector<T>& rows, std::int64_t n, std::int64_t d) {
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> columns;
    std::vector<T> values;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < d; ++j)
        if (const T value = rows[static_cast<std::size_t>(i * d + j)]; value != 0)
          columns.push_back(static_cast<std::int32_t>(j)), values.push_back(value);
      offsets.push_back(static_cast<std::int64_t>(values.size()));
    }
    return {ctx_.memory(), d, std::span<const std::int64_t>(offsets), std::span<const std::int32_t>(columns), std::span<const T>(values)};
  }

  static std::unique_ptr<Estimator<T>> make(const ValueMap& step) {
    const CatalogueEntry* entry = find_estimator(text(step, "estimator"));
    if (!entry) throw std::runtime_error("no estimator " + text(step, "estimator"));
    const Value* params = find(step, "params");
    const ValueMap given = params ? std::get<ValueMap>(params->data) : ValueMap{};
    if constexpr (std::is_same_v<T, float>) return entry->make_f32(given);
    else return entry->make_f64(given);
  }

  const Transformer<T>& transformer(std::size_t step) const { return dynamic_cast<const Transformer<T>&>(*steps_[step]); }

  void fit() {
    steps_.clear();
    Samples<T> current = X_;
    const ValueList specs = list(spec_, "steps");
    for (std::size_t i = 0; i < specs.size(); ++i) {
      steps_.push_back(make(std::get<ValueMap>(specs[i].data)));
      if (!steps_[i]->accepts_nan()) require_finite(ctx_, text(std::get<ValueMap>(specs[i].data), "estimator"), current);
      current = readable(i, current);
      require_magnitudes(ctx_, text(std::get<ValueMap>(specs[i].data), "estimator"), *steps_[i], current, y_);
      steps_[i]->fit(ctx_, current, i + 1 < specs.size() ? unweighted_ : y_);
      if (i + 1 < specs.size()) current = transformer(i).transform(ctx_, current);
    }
    last_input_ = current;
  }

  void apply(Samples<T> rows) {
    for (std::size_t i = 0; i + 1 < steps_.size(); ++i) rows = transformer(i).transform(ctx_, readable(i, rows));
    rows = readable(steps_.size() - 1, rows);
    for (const std::string& want : texts(list(spec_, "want"))) answers_.emplace_back(want, answer(want, rows));
  }

  Samples<T> readable(std::size_t step, const Samples<T>& X) const {
    return X.is_sparse() ? accepted(ctx_, "the probe", *steps_[step], X) : X;
  }

  static Value matrix(std::int64_t rows, std::vector<double> values) { return ValueMap{{"rows", rows}, {"values", std::move(values)}}; }

  Value answer(const std::string& want, const Samples<T>& rows) {
    const Estimator<T>& last = *steps_.back();
    if (want == "attributes") return fitted_attributes(last, rows.n_cols());
    if (want == "transform_only") {   // for its time: what it makes stays on the device
      const Samples<T> made = transformer(steps_.size() - 1).transform(ctx_, rows);
      Matrix<T> scratch;
      if (!made.is_sparse()) made.values(ctx_, scratch);
      return Value();
    }
    if (want == "score_samples_only")
      return dynamic_cast<const RowScorer<T>&>(last).row_scores(ctx_, rows, kScoreSamples), Value();
    if (want == "predict_only") return predict(last, rows), Value();
    if (want == "transform" || want == "fit_transform") {
      const Samples<T> made =
          want == "transform" ? transformer(steps_.size() - 1).transform(ctx_, rows) : fitted_again();
      Matrix<T> scratch;
      const MatrixView<const T> view = made.values(ctx_, scratch);
      std::vector<T> host(static_cast<std::size_t>(view.rows * view.cols));
      if (!host.empty()) ctx_.memory().to_host(host.data(), view.data, host.size() * sizeof(T));
      return matrix(view.rows, {host.begin(), host.end()});
    }
    if (want == "fit_resample") return resampled();
    if (want == "sparse_rows") return sparse_rows(transformer(steps_.size() - 1).transform(ctx_, rows));
    if (want == "labels") return matrix_of(dynamic_cast<const Clusterer<T>&>(last).labels());
    if (want == "predict") return predict(last, rows);
    if (const auto* scorer = dynamic_cast<const RowScorer<T>*>(&last))
      return matrix(rows.n_rows(), scorer->row_scores(ctx_, rows, want).to_host());
    if (const auto* several = dynamic_cast<const MultiOutput<T>*>(&last))
      return side_by_side(rows.n_rows(), several->predict_proba(ctx_, rows));
    const auto& classifier = dynamic_cast<const Classifier<T>&>(last);
    const bool is_decision = want == "decision_function";
    const std::int64_t k = is_decision && classifier.n_classes() == 2 ? 1 : classifier.n_classes();
    Matrix<double> out(ctx_.memory(), rows.n_rows(), k);
    if (is_decision) classifier.decision_function(ctx_, rows, out.view());
    else classifier.predict_proba(ctx_, rows, out.view());
    return matrix(rows.n_rows(), out.to_host());
  }

  // What a pipeline makes of the rows that it fits the last step with.
  Samples<T> fitted_again() const {
    const ValueList specs = list(spec_, "steps");
    const auto last = make(std::get<ValueMap>(specs.back().data));
    return fit_transformed(ctx_, *last, last_input_, y_);
  }

  // The rows that a fit makes of its rows, each with the code of its class behind it.
  Value resampled() const {
    const ValueList specs = list(spec_, "steps");
    const auto last = make(std::get<ValueMap>(specs.back().data));
    const Resampled<T> made = resampler_of(*last)->fit_resample(ctx_, last_input_, y_);
    const std::vector<double> host = host_values(ctx_, made.X);
    const auto d = static_cast<std::size_t>(made.X.n_cols());
    std::vector<double> rows;
    for (std::size_t i = 0; i < made.y.codes.size(); ++i) {
      rows.insert(rows.end(), host.begin() + static_cast<std::ptrdiff_t>(i * d),
                  host.begin() + static_cast<std::ptrdiff_t>((i + 1) * d));
      rows.push_back(made.y.codes[i]);
    }
    return matrix(made.X.n_rows(), std::move(rows));
  }

  Value sparse_rows(const Samples<T>& made) {
    const CsrMatrix<T>& matrix = made.table->sparse.value();
    const auto host = [&]<class V>(VectorView<const V> view) {
      std::vector<V> values(static_cast<std::size_t>(view.size));
      if (!values.empty()) ctx_.memory().to_host(values.data(), view.data, values.size() * sizeof values[0]);
      return std::vector<double>(values.begin(), values.end());
    };
    return ValueMap{{"columns", matrix.cols()},
                    {"indptr", host(matrix.view().offsets)},
                    {"indices", host(matrix.view().columns)},
                    {"data", host(matrix.view().values)}};
  }

  static Value matrix_of(const std::vector<std::int32_t>& codes) {
    return matrix(static_cast<std::int64_t>(codes.size()), {codes.begin(), codes.end()});
  }

  // Each of the parts has the same rows.
  static Value side_by_side(std::int64_t n_rows, const std::vector<std::vector<double>>& parts) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < n_rows; ++i)
      for (const std::vector<double>& part : parts) {
        const std::int64_t width = std::ssize(part) / n_rows;
        all.insert(all.end(), part.begin() + i * width, part.begin() + (i + 1) * width);
      }
    return matrix(n_rows, std::move(all));
  }

  Value predict(const Estimator<T>& last, const Samples<T>& rows) const {
    if (const auto* several = dynamic_cast<const MultiOutput<T>*>(&last))
      return side_by_side(rows.n_rows(), several->predict(ctx_, rows));
    if (const auto* regressor = dynamic_cast<const Regressor<T>*>(&last)) return matrix(rows.n_rows(), regressor->predict(ctx_, rows));
    if (const auto* clusterer = dynamic_cast<const Clusterer<T>*>(&last)) return matrix_of(clusterer->predict(ctx_, rows));
    if (const auto* detector = dynamic_cast<const OutlierDetector<T>*>(&last))
      return matrix_of(detector->predict(ctx_, rows));
    return matrix_of(dynamic_cast<const Classifier<T>&>(last).predict(ctx_, rows));
  }

  const ValueMap& spec_;
  Context ctx_;
  Samples<T> X_, last_input_;
  Target y_, unweighted_;
  std::vector<std::unique_ptr<Estimator<T>>> steps_;
  ValueMap answers_;
  ValueList warnings_;
};

ValueMap run(const ValueMap& spec) {
  try {
    return text(spec, "dtype", "float64") == "float32" ? Case<float>(spec).run() : Case<double>(spec).run();
  } catch (const schema::Error& error) {
    return {{"error", ValueMap{{"code", std::string(schema::error_code_name(error.code))},
                               {"message", error.message},
                               {"where", error.where}}}};
  } catch (const std::exception& error) {
    return {{"error", ValueMap{{"code", "EXCEPTION"}, {"message", error.what()}, {"where", ""}}}};
  }
}

}  // namespace
}  // namespace kedge::engine

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const kedge::schema::Value spec = kedge::schema::value_from_json(line);
    std::cout << kedge::schema::value_to_json(kedge::engine::run(std::get<kedge::schema::ValueMap>(spec.data))) << std::endl;
  }
}
