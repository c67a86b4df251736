// What the metrics look at: borrowed host arrays of one set of predictions.
#pragma once

#include <cstdint>
#include <span>

namespace kedge::engine {

// Classes, true and predicted: n codes each in 0 .. n_classes - 1, n >= 1. weights: n, or empty (all rows weigh 1).
struct LabelView {
  std::span<const std::int32_t> y_true, y_pred;
  std::int32_t n_classes = 0;   // of the data set, whether or not the rows have them all
  std::span<const double> weights;
};

// True classes and a score of each class: probabilities or decision values, row-major n x n_classes. With two classes `scores` may
// also hold n numbers, those of class 1.
struct ScoreView {
  std::span<const std::int32_t> y_true;
  std::span<const double> scores;
  std::int32_t n_classes = 0;
  std::span<const double> weights;
};

// True and predicted values of a regression: n finite numbers each, n >= 1.
struct ValueView {
  std::span<const double> y_true, y_pred;
  std::span<const double> weights;
};

}  // namespace kedge::engine
