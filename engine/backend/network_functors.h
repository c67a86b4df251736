// The formulas of neural networks' layers that the CPU and the CUDA bodies share.
#pragma once

#include "engine/backend/functors.h"
#include "engine/backend/ops/network.h"
#include "engine/backend/raw.h"
#include "engine/core/rng.h"

namespace kedge::engine {

inline constexpr double kLeak = 0.01;   // slope of leaky_relu below 0

// The standard normal distribution's share below x.
KEDGE_HD inline double normal_share(double x) {
  return 0.5 * (1 + erf(x * 0.70710678118654752440));
}

template <class T>
KEDGE_HD T activated(Activation f, T x) {
  switch (f) {
    case Activation::kLogistic:
      return static_cast<T>(1 / (1 + exp(-static_cast<double>(x))));
    case Activation::kTanh:
      return static_cast<T>(tanh(static_cast<double>(x)));
    case Activation::kRelu:
      return x > T{0} ? x : (x == x ? T{0} : x);
    case Activation::kExp:
      return static_cast<T>(exp(static_cast<double>(x)));
    case Activation::kLeakyRelu:
      return x < T{0} ? x * static_cast<T>(kLeak) : x;
    case Activation::kElu:
      return x < T{0} ? static_cast<T>(expm1(static_cast<double>(x))) : x;
    case Activation::kGelu:
      return static_cast<T>(static_cast<double>(x) * normal_share(static_cast<double>(x)));
    case Activation::kSilu:
      return static_cast<T>(static_cast<double>(x) / (1 + exp(-static_cast<double>(x))));
    case Activation::kIdentity:
      break;
  }
  return x;
}

// d times the slope of f where its value (with slopes_by_input: its input) is a.
template <class T>
KEDGE_HD T sloped(Activation f, T a, T d) {
  switch (f) {
    case Activation::kLogistic:
      return d * a * (T{1} - a);
    case Activation::kTanh:
      return d * (T{1} - a * a);
    case Activation::kRelu:
      return a == T{0} ? T{0} : d;
    case Activation::kLeakyRelu:
      return a < T{0} ? d * static_cast<T>(kLeak) : d;
    case Activation::kElu:
      return a < T{0} ? d * (a + T{1}) : d;
    case Activation::kGelu: {
      const double z = static_cast<double>(a);
      return static_cast<T>(static_cast<double>(d) * (normal_share(z) + z * exp(-z * z / 2) * 0.39894228040143267794));
    }
    case Activation::kSilu: {
      const double z = static_cast<double>(a), share = 1 / (1 + exp(-z));
      return static_cast<T>(static_cast<double>(d) * share * (1 + z * (1 - share)));
    }
    case Activation::kExp:
    case Activation::kIdentity:
      break;
  }
  return d;
}

template <class T>
KEDGE_HD double log_share(double share) {
  const double eps = static_cast<double>(std::numeric_limits<T>::epsilon());
  return log(share < eps ? eps : share > 1 - eps ? 1 - eps : share);
}

// Loss of one row of values; they become its slopes. `goal` is the row's place among the goals.
template <class T>
KEDGE_HD double output_row(OutputLoss loss, const T* bias, const Goals<T>& goals, std::int64_t goal, T* z,
                           std::int64_t k) {
  const double weight = goals.weights.size == 0 ? 1.0 : raw(goals.weights)[goal];
  for (std::int64_t c = 0; bias && c < k; ++c) z[c] += bias[c];
  switch (loss) {
    case OutputLoss::kSquared: {
      const double difference = static_cast<double>(z[0]) - static_cast<double>(raw(goals.values)[goal]);
      z[0] = static_cast<T>(weight * difference);
      return weight * difference * difference / 2;
    }
    case OutputLoss::kPoisson: {
      const double y = static_cast<double>(raw(goals.values)[goal]), p = exp(static_cast<double>(z[0]));
      z[0] = static_cast<T>(weight * (p - y));
      return weight * ((y > 0 ? y * log(y / p) : 0.0) - y + p);
    }
    case OutputLoss::kBinary: {
      const double p = 1 / (1 + exp(-static_cast<double>(z[0])));
      const bool is_second = raw(goals.codes)[goal] != 0;
      z[0] = static_cast<T>(weight * (p - (is_second ? 1.0 : 0.0)));
      return -weight * log_share<T>(is_second ? p : 1 - p);
    }
    case OutputLoss::kClasses: {
      softmax_row(z, k);
      const std::int32_t own = raw(goals.codes)[goal];
      const double share = static_cast<double>(z[own]);
      for (std::int64_t c = 0; c < k; ++c)
        z[c] = static_cast<T>(weight * (static_cast<double>(z[c]) - (c == own ? 1.0 : 0.0)));
      return -weight * log_share<T>(share);
    }
    case OutputLoss::kMisses:
      break;
  }
  const std::int32_t found = k == 1 ? (z[0] > T{0} ? 1 : 0) : argmax_row(z, k);
  return found == raw(goals.codes)[goal] ? 0.0 : weight;
}

// The constants of a step, in T.
template <class T>
struct StepConstants {
  bool is_adam, is_nesterov;
  T rate, first, first_rest, second, second_rest, epsilon, penalty;
  bool is_rmsprop;
  T kept;   // of a weight before the step

  explicit StepConstants(const DescentStep& s)
      : is_adam(s.is_adam),
        is_nesterov(s.is_nesterov),
        rate(static_cast<T>(s.rate)),
        first(static_cast<T>(s.first_decay)),
        first_rest(static_cast<T>(1 - s.first_decay)),
        second(static_cast<T>(s.second_decay)),
        second_rest(static_cast<T>(1 - s.second_decay)),
        epsilon(static_cast<T>(s.epsilon)),
        penalty(static_cast<T>(s.penalty)),
        is_rmsprop(s.is_rmsprop),
        kept(static_cast<T>(1 - s.shrinkage)) {}
  KEDGE_HD void take_rate(double own_rate, double shrinkage) {
    rate = static_cast<T>(own_rate), kept = static_cast<T>(1 - shrinkage);
  }
};

template <class T>
KEDGE_HD T adam_step(const StepConstants<T>& c, T g, T& m, T& v) {
  m = c.first * m + c.first_rest * g;
  v = c.second * v + c.second_rest * (g * g);
  return -c.rate * m / (sqrt(v) + c.epsilon);
}

template <class T>
KEDGE_HD T rmsprop_step(const StepConstants<T>& c, T g, T& v) {
  v = c.second * v + c.second_rest * (g * g);
  return -c.rate * g / (sqrt(v) + c.epsilon);
}

// 0 with probability `rate`, otherwise 1 / (1 - rate): the factor of a cell.
KEDGE_HD inline double kept_share(double rate, std::uint64_t seed, std::uint64_t stream, std::uint64_t cell) {
  const PhiloxBlock block = philox(seed, stream, cell / 4);
  return block.word[cell % 4] * 0x1.0p-32 < rate ? 0 : 1 / (1 - rate);
}

// What brings a gradient of this sum of squares to a norm of at most `most`; as torch, with 1e-6 against a norm of 0.
KEDGE_HD inline double clip_factor(double most, double squares) {
  const double factor = most / (sqrt(squares) + 1e-6);
  return factor < 1 ? factor : 1;
}

// The slope by a normalisation's input where `d` comes back, of n numbers whose slopes have this sum, and this sum of
// products with h.
KEDGE_HD inline double normal_slope(double d, double h, double sum, double product_sum, double n, double spread) {
  return spread * (d - sum / n - h * product_sum / n);
}

template <class T>
KEDGE_HD T momentum_step(const StepConstants<T>& c, T g, T& m) {
  m = c.first * m - c.rate * g;
  return c.is_nesterov ? c.first * m - c.rate * g : m;
}

// Whether x is an integer from 0 to n_codes - 1. NaN is not.
template <class T>
KEDGE_HD bool is_code(T x, std::int64_t n_codes) {
  return x >= T{0} && x < static_cast<T>(n_codes) && x == floor(x);
}

}   // namespace kedge::engine
