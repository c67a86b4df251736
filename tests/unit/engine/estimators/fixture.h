// What estimator tests share: devices, small data sets from tests/data/estimators, samples and targets made from them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/samples.h"

namespace kedge::engine::testing {

// Opened once a process; "cpu" or "emulated".
Device& device_named(const std::string& name);
std::vector<std::string> device_names();

struct Data {
  std::int64_t n_rows = 0, n_cols = 0;
  std::vector<double> X;             // row-major
  std::vector<std::int32_t> y;
  std::vector<std::string> classes;   // "0", "1", ...
  std::vector<double> values = {};    // for regressors; empty: the class codes
};
Data load_data(const std::string& name);   // "iris" ...: tests/data/estimators/NAME.csv, target last
Data make_data(std::int64_t n_rows, std::int64_t n_cols, std::int32_t n_classes);   // separable blobs, the same every time

// Parameters with which the estimator of a catalogue row takes ordinary data, small enough for the emulated device.
schema::ValueMap small_params(const std::string& estimator);

// Whether it takes a column of texts.
bool reads_texts(const std::string& estimator);

// Whether a fit compares all rows with all, so that thousands of them take seconds.
bool compares_all_rows(const std::string& estimator);

std::string read_text(const std::string& name);   // of tests/data/estimators/NAME

// Device copies of a Data, and selections of its rows. Must outlive the samples and targets that it gives.
template <class T>
class Loaded {
 public:
  Loaded(Device& device, const Data& data);
  // For this estimator: as a column of texts, one of each row's numbers, where it takes texts.
  Loaded(Device& device, const Data& data, const std::string& estimator);
  Samples<T> all() const { return samples_; }
  Samples<T> rows(const std::vector<std::int32_t>& rows) const;
  Target target() const;
  Target target(const std::vector<std::int32_t>& rows) const;

 private:
  Device& device_;
  const Data& data_;
  Samples<T> samples_;
};

}  // namespace kedge::engine::testing
