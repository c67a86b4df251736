// sklearn.datasets.make_regression and make_friedman1. Source of the latter: Friedman, "Multivariate adaptive
// regression splines", The Annals of Statistics 19(1), 1991.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/generate/generators.h"

namespace kedge::engine::generate {
namespace {

struct Linear {
  std::int64_t n_samples = 100, n_features = 100, n_informative = 10, random_state = 0;
  double bias = 0, noise = 0;
  bool shuffle = true;
};

struct Friedman {
  std::int64_t n_samples = 100, n_features = 10, random_state = 0;
  double noise = 0;
};

const ParamSet<Linear>& linear_params() {
  static const ParamSet<Linear> set = [] {
    ParamSet<Linear> made("make_regression");
    add_common(made)
        .add("n_features", &Linear::n_features, at_least(1), "Columns.")
        .add("n_informative", &Linear::n_informative, at_least(0), "Columns that the target depends on.")
        .add("bias", &Linear::bias, {}, "Added to the target.")
        .add("noise", &Linear::noise, at_least(0), "Standard deviation of the noise of the target.")
        .add("shuffle", &Linear::shuffle, "Whether rows and columns are shuffled.");
    return made;
  }();
  return set;
}

const ParamSet<Friedman>& friedman_params() {
  static const ParamSet<Friedman> set = [] {
    ParamSet<Friedman> made("make_friedman1");
    add_common(made)
        .add("n_features", &Friedman::n_features, at_least(5), "Columns; the target depends on the first five.")
        .add("noise", &Friedman::noise, at_least(0), "Standard deviation of the noise of the target.");
    return made;
  }();
  return set;
}

Table plan_linear(const Linear& p) {
  return {.n_features = p.n_features, .fill = [p](const Rows& rows, Draws& draws) {
            rows.fill(0, p.n_features, [&] { return draws.normal(); });
            std::vector<double> slopes = draws.uniforms(std::min(p.n_features, p.n_informative));
            for (double& slope : slopes) slope *= 100;
            for (std::int64_t i = 0; i < rows.n(); ++i) {
              double sum = 0;
              for (std::size_t j = 0; j < slopes.size(); ++j) sum += rows.row(i)[j] * slopes[j];
              rows.y(i) = sum + p.bias;
            }
            if (p.noise > 0)
              for (std::int64_t i = 0; i < rows.n(); ++i) rows.y(i) += p.noise * draws.normal();
            if (!p.shuffle) return;
            rows.shuffle_rows(draws);
            rows.shuffle_columns(draws);
          }};
}

Table plan_friedman(const Friedman& p) {
  return {.n_features = p.n_features, .fill = [p](const Rows& rows, Draws& draws) {
            rows.fill(0, p.n_features, [&] { return draws.uniform(); });
            for (std::int64_t i = 0; i < rows.n(); ++i) {
              const std::span<const double> x = rows.row(i);
              rows.y(i) = 10 * std::sin(std::numbers::pi * x[0] * x[1]) + 20 * (x[2] - 0.5) * (x[2] - 0.5) + 10 * x[3] +
                          5 * x[4] + p.noise * draws.normal();
            }
          }};
}

}   // namespace

std::vector<Generator> regressions() {
  return {
      made("Normal numbers and a target that is a combination of some columns.", linear_params(), &plan_linear),
      made("Uniform numbers and a target with a sine, a square and two slopes.", friedman_params(), &plan_friedman)};
}

}   // namespace kedge::engine::generate
