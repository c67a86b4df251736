// What tests of every row of the catalogue share: the rows, estimators made of them, and what these say of samples.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "engine/estimators/catalogue.h"
#include "engine/estimators/row_scores.h"
#include "fixture.h"

namespace kedge::engine::testing {

inline constexpr double kRowSumTolerance = 1e-6;   // float scores that were normalised in float

struct Row {
  std::string estimator, device;
  bool is_double;
  friend void PrintTo(const Row& row, std::ostream* out) { *out << row.estimator << " on " << row.device; }
};

inline std::vector<Row> rows_in(std::vector<bool> precisions, std::string_view kind = {}) {   // kind: empty: all
  std::vector<Row> rows;
  for (const CatalogueEntry& entry : catalogue())
    if (kind.empty() || entry.info.kind == kind)
      for (const std::string& device : device_names())
        for (const bool is_double : precisions) rows.push_back({entry.info.name, device, is_double});
  return rows;
}
inline std::vector<Row> all_rows() {
  return rows_in({false, true});
}

inline std::string row_name(const ::testing::TestParamInfo<Row>& info) {
  return info.param.estimator + "_" + info.param.device + (info.param.is_double ? "_double" : "_float");
}

template <class T>
std::unique_ptr<Estimator<T>> make(const std::string& name, const schema::ValueMap& params) {
  const CatalogueEntry* entry = find_estimator(name);
  if constexpr (std::is_same_v<T, float>) return entry->make_f32(params);
  else return entry->make_f64(params);
}

template <class T>
std::unique_ptr<Estimator<T>> make(const std::string& name) {
  return make<T>(name, small_params(name));
}

template <class T>
void expect_usable_output(const Context& ctx, const Estimator<T>& estimator, const Samples<T>& X) {
  if (const auto* transformer = dynamic_cast<const Transformer<T>*>(&estimator)) {
    for (const double v : host_values(ctx, transformer->transform(ctx, X))) ASSERT_TRUE(std::isfinite(v));
  }
  if (const auto* scorer = dynamic_cast<const RowScorer<T>*>(&estimator)) {
    for (const std::string& output : scorer->row_outputs()) {
      const Matrix<double> scores = scorer->row_scores(ctx, X, output);
      ASSERT_EQ(scores.rows(), X.n_rows());
      for (const double v : scores.to_host()) ASSERT_TRUE(std::isfinite(v)) << output;
    }
  }
  if (const auto* regressor = dynamic_cast<const Regressor<T>*>(&estimator)) {
    const std::vector<double> values = regressor->predict(ctx, X);
    ASSERT_EQ(static_cast<std::int64_t>(values.size()), X.n_rows());
    for (const double v : values) ASSERT_TRUE(std::isfinite(v));
    return;
  }
  if (const auto* clusterer = dynamic_cast<const Clusterer<T>*>(&estimator)) {
    ASSERT_EQ(static_cast<std::int64_t>(clusterer->labels().size()), X.n_rows());
    for (const std::int32_t label : clusterer->labels()) ASSERT_GE(label, -1);
    if (clusterer->can_predict()) {
      ASSERT_EQ(static_cast<std::int64_t>(clusterer->predict(ctx, X).size()), X.n_rows());
    }
    return;
  }
  if (const auto* detector = dynamic_cast<const OutlierDetector<T>*>(&estimator); detector && detector->can_predict()) {
    for (const std::int32_t label : detector->predict(ctx, X)) ASSERT_TRUE(label == 1 || label == -1);
  }
  if (const auto* several = dynamic_cast<const MultiOutput<T>*>(&estimator)) {
    const std::vector<std::vector<double>> said = several->predict(ctx, X);
    ASSERT_EQ(said.size(), several->class_counts().size());
    for (std::size_t k = 0; k < said.size(); ++k) {
      const std::int32_t n_classes = several->class_counts()[k];
      ASSERT_EQ(static_cast<std::int64_t>(said[k].size()), X.n_rows());
      for (const double v : said[k]) ASSERT_TRUE(std::isfinite(v) && (n_classes == 0 || (v >= 0 && v < n_classes)));
    }
    return;
  }
  const auto* classifier_or_null = dynamic_cast<const Classifier<T>*>(&estimator);
  if (!classifier_or_null) return;   // an estimator that neither transforms nor predicts
  const Classifier<T>& classifier = *classifier_or_null;
  const std::int64_t k = classifier.n_classes();
  for (const std::int32_t code : classifier.predict(ctx, X)) ASSERT_TRUE(code >= 0 && code < k);
  if (!classifier.has_proba()) return;
  Matrix<double> proba(ctx.memory(), X.n_rows(), k);
  classifier.predict_proba(ctx, X, proba.view());
  const std::vector<double> shares = proba.to_host();
  for (std::int64_t i = 0; i < X.n_rows(); ++i) {
    double sum = 0;
    for (std::int64_t c = 0; c < k; ++c) sum += shares[i * k + c];
    ASSERT_NEAR(sum, 1.0, kRowSumTolerance) << "row " << i;
  }
}

template <class V>
void append_bits(std::string& bits, const std::vector<V>& values) {
  bits.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(V));
}

// The bits of everything that an estimator says of rows.
template <class T>
std::string said_of(const Context& ctx, const Estimator<T>& estimator, const Samples<T>& X) {
  std::string bits;
  if (const auto* transformer = dynamic_cast<const Transformer<T>*>(&estimator)) {
    append_bits(bits, host_values(ctx, transformer->transform(ctx, X)));
  }
  if (const auto* regressor = dynamic_cast<const Regressor<T>*>(&estimator))
    append_bits(bits, regressor->predict(ctx, X));
  if (const auto* clusterer = dynamic_cast<const Clusterer<T>*>(&estimator)) {
    append_bits(bits, clusterer->labels());
    if (clusterer->can_predict()) append_bits(bits, clusterer->predict(ctx, X));
  }
  if (const auto* scorer = dynamic_cast<const RowScorer<T>*>(&estimator)) {
    for (const std::string& output : scorer->row_outputs())
      append_bits(bits, scorer->row_scores(ctx, X, output).to_host());
  }
  if (const auto* several = dynamic_cast<const MultiOutput<T>*>(&estimator)) {
    for (const std::vector<double>& one : several->predict(ctx, X)) append_bits(bits, one);
    if (several->has_proba())
      for (const std::vector<double>& one : several->predict_proba(ctx, X)) append_bits(bits, one);
  }
  if (const auto* classifier = dynamic_cast<const Classifier<T>*>(&estimator)) {
    append_bits(bits, classifier->predict(ctx, X));
    const std::int64_t k = classifier->n_classes();
    Matrix<double> proba(ctx.memory(), X.n_rows(), k), decision(ctx.memory(), X.n_rows(), k == 2 ? 1 : k);
    if (classifier->has_proba()) classifier->predict_proba(ctx, X, proba.view()), append_bits(bits, proba.to_host());
    if (classifier->has_decision())
      classifier->decision_function(ctx, X, decision.view()), append_bits(bits, decision.to_host());
  }
  return bits;
}

}   // namespace kedge::engine::testing
