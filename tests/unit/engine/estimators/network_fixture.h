// What tests of networks share: two small data sets, a fit with what it gives, and what is refused.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/core/rng.h"
#include "engine/estimators/catalogue.h"
#include "fixture.h"

namespace kedge::engine::testing {

inline Data waves() {
  Data data{.n_rows = 12, .n_cols = 3};
  for (int i = 0; i < 12; ++i) {
    for (int j = 0; j < 3; ++j) data.X.push_back(std::sin(1.3 * i + 0.7 * j));
    data.values.push_back(std::cos(0.9 * i));
  }
  return data;
}

// Three classes in 400 rows.
inline Data rings() {
  Data data{.n_rows = 400, .n_cols = 4, .classes = {"a", "b", "c"}};
  PhiloxStream random(7, 0);
  for (int i = 0; i < 400; ++i) {
    double sum = 0;
    for (int j = 0; j < 4; ++j) {
      data.X.push_back(2 * random.uniform() - 1);
      sum += data.X.back() * data.X.back();
    }
    data.y.push_back(sum < 1 ? 0 : sum < 1.6 ? 1 : 2);
    data.values.push_back(sum);
  }
  return data;
}

inline schema::Value texts(const std::vector<const char*>& layers) {
  schema::ValueList list;
  for (const char* const layer : layers) list.emplace_back(layer);
  return list;
}

struct Answer {
  std::vector<double> curve, predictions;
  schema::ValueMap attributes;
  std::vector<std::string> said;   // by log events

  std::vector<double> numbers(const char* attribute) const {
    return numbers_of(*find_value(attributes, attribute)).value();
  }
};

// Weights may be empty. Predictions are a regressor's values, or a classifier's probabilities.
inline Answer answer(const std::string& name, const schema::ValueMap& params, const Data& data,
                     const char* device = "cpu", const std::vector<double>& weights = {}) {
  Answer found;
  const Context ctx{.device = device_named(device), .emit = [&](const schema::EventBody& event) {
                      if (const auto* log = std::get_if<schema::LogEvent>(&event)) found.said.push_back(log->message);
                    }};
  const Loaded<double> loaded(ctx.device, data);
  auto estimator = find_estimator(name)->make_f64(params);
  Target y = loaded.target();
  y.weights = weights;
  estimator->fit(ctx, loaded.all(), y);
  found.attributes = estimator->attributes();
  found.curve = found.numbers("loss_curve_");
  if (auto* const regressor = dynamic_cast<Regressor<double>*>(estimator.get()))
    found.predictions = regressor->predict(ctx, loaded.all());
  if (auto* const classifier = dynamic_cast<Classifier<double>*>(estimator.get())) {
    Matrix<double> proba(ctx.memory(), data.n_rows, classifier->n_classes());
    classifier->predict_proba(ctx, loaded.all(), proba.view());
    found.predictions = proba.to_host();
  }
  return found;
}

// What is said against these parameters, or none.
inline std::string refusal(const std::string& name, const schema::ValueMap& params) {
  try {
    find_estimator(name)->make_f64(params);
  } catch (const schema::Error& error) {
    return error.message;
  }
  return "none";
}

// What a fit with these parameters ends with, or none.
inline std::string failure(const std::string& name, const schema::ValueMap& params, const Data& data,
                           const char* device = "cpu") {
  try {
    answer(name, params, data, device);
  } catch (const schema::Error& error) {
    return error.message;
  }
  return "none";
}

}   // namespace kedge::engine::testing
