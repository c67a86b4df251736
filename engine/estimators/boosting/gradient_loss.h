// The losses of exact gradient boosting: first predictions, slopes, values, and what a leaf adds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kedge::engine {

enum class GradientLoss { kSquared, kAbsolute, kHuber, kQuantile, kBinomial, kMultinomial, kExponential };

// Targets are values, or classes 0 .. n_outputs - 1 (0 and 1 with one output). Raw predictions lie output after output.
// Source: Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29, 2001.
struct StageLoss {
  GradientLoss kind = GradientLoss::kSquared;
  double alpha = 0.9;   // the quantile, or for huber that of the errors beyond which they count linearly
  double delta = 0.5;   // of huber: that error
  std::int64_t n_outputs = 1;

  // What a model without trees predicts, raw, for each output. has_weights: whether the user gave them.
  std::vector<double> first_predictions(std::span<const double> y, std::span<const double> weights,
                                        bool has_weights) const;
  void set_delta(std::span<const double> y, std::span<const double> raw, std::span<const double> weights);
  // Negative gradients of the rows [begin, end), to their places in slopes (n x n_outputs, output after output).
  void negative_gradient(std::span<const double> y, std::span<const double> raw, std::int64_t begin, std::int64_t end,
                         std::span<double> slopes) const;
  // Of row i, in scikit-learn's units.
  double row_loss(std::size_t i, std::span<const double> y, std::span<const double> raw) const;
  // What the leaf of these rows adds to output k.
  double leaf_value(std::int64_t k, std::span<const std::uint32_t> rows, std::span<const double> y,
                    std::span<const double> raw, std::span<const double> slopes, std::span<const double> weights) const;
  // Probabilities of the classes (of the second where there is one output), in place.
  void to_shares(std::vector<double>& raw) const;
};

// The smallest value such that those up to it have this share of the weight.
double weighted_percentile(std::vector<double> values, const std::vector<double>& weights, double share);

}   // namespace kedge::engine
