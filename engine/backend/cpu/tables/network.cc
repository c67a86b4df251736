// Layers of neural networks on the CPU: batches are short, so that most of it stays on the calling thread.
#include <algorithm>
#include <vector>

#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/network_functors.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kFormulaNs = 5;   // an exponential in double, as part of a vector
constexpr std::int64_t kStepsPerNs = 2;

template <class T>
KEDGE_CLONES void add_bias(const T* bias, std::int64_t k, T* __restrict z) {
  for (std::int64_t j = 0; j < k; ++j) z[j] += bias[j];
}

template <class T>
KEDGE_CLONES void relu_row(std::int64_t k, T* z) {
  for (std::int64_t j = 0; j < k; ++j) z[j] = z[j] < T{0} ? T{0} : z[j];
}

template <class T>
KEDGE_CLONES void logistic_row(std::int64_t k, T* z) {
  for (std::int64_t j = 0; j < k; ++j) z[j] = static_cast<T>(1 / (1 + vector_exp(-static_cast<double>(z[j]))));
}

template <class T>
KEDGE_CLONES void tanh_row(std::int64_t k, T* z) {
  for (std::int64_t j = 0; j < k; ++j) z[j] = static_cast<T>(vector_tanh(static_cast<double>(z[j])));
}

template <class T>
void activate_row(Activation f, std::int64_t k, T* z) {
  switch (f) {
    case Activation::kRelu:
      return relu_row(k, z);
    case Activation::kLogistic:
      return logistic_row(k, z);
    case Activation::kTanh:
      return tanh_row(k, z);
    case Activation::kExp:
      for (std::int64_t j = 0; j < k; ++j) z[j] = activated(f, z[j]);
      return;
    case Activation::kIdentity:
      return;
  }
}

template <class T>
KEDGE_CLONES void add_to_sums(const T* d, std::int64_t k, double* __restrict sums) {
  for (std::int64_t j = 0; j < k; ++j) sums[j] += static_cast<double>(d[j]);
}

// d *= f'(a). A loop of its own for each formula, so that it becomes vectors.
template <Activation F, class T>
KEDGE_CLONES void slope_row(const T* a, std::int64_t k, T* __restrict d) {
  for (std::int64_t j = 0; j < k; ++j) {
    const T own = sloped(F, a[j], T{1});   // of relu 0 or 1: a choice between values would be guessed wrong
    d[j] = F == Activation::kRelu ? d[j] * own : sloped(F, a[j], d[j]);
  }
}

template <class T>
void keep_row(const T*, std::int64_t, T*) {}

template <class T>
auto slopes_of(Activation f) {
  switch (f) {
    case Activation::kRelu:
      return slope_row<Activation::kRelu, T>;
    case Activation::kLogistic:
      return slope_row<Activation::kLogistic, T>;
    case Activation::kTanh:
      return slope_row<Activation::kTanh, T>;
    case Activation::kExp:
    case Activation::kIdentity:
      break;
  }
  return keep_row<T>;
}

template <class T>
KEDGE_CLONES double squares_of(const T* p, std::int64_t n) {
  return lane_sum(n, [=](std::int64_t j) { return static_cast<double>(p[j]) * static_cast<double>(p[j]); });
}

template <class T>
KEDGE_CLONES void adam_run(const StepConstants<T> c, const T* __restrict g, std::int64_t n, T penalty, T* __restrict p,
                           T* __restrict m, T* __restrict v) {
  for (std::int64_t j = 0; j < n; ++j) p[j] += adam_step(c, g[j] + penalty * p[j], m[j], v[j]);
}

template <class T>
KEDGE_CLONES void momentum_run(const StepConstants<T> c, const T* __restrict g, std::int64_t n, T penalty,
                               T* __restrict p, T* __restrict m) {
  for (std::int64_t j = 0; j < n; ++j) p[j] += momentum_step(c, g[j] + penalty * p[j], m[j]);
}

template <class T>
class CpuNetwork final : public NetworkOps<T> {
 public:
  void activate(Activation f, VectorView<const T> bias, MatrixView<T> Z) override {
    const bool is_plain = f == Activation::kRelu || f == Activation::kIdentity;
    for_rows(Z.rows, Z.cols * (is_plain ? 1 : kFormulaNs), [&](std::int64_t i) {
      T* const z = raw(Z) + i * Z.stride;
      if (!bias.empty()) add_bias(raw(bias), Z.cols, z);
      activate_row(f, Z.cols, z);
    });
  }

  void backward(Activation f, MatrixView<const T> A, double scale, MatrixView<T> D,
                VectorView<T> bias_gradient) override {
    const auto slopes = slopes_of<T>(f);
    const auto sums = tile_table_sums(D.rows, D.cols, kRowTile, D.cols, [&](std::int64_t i, double* table) {
      T* const d = raw(D) + i * D.stride;
      slopes(raw(A) ? raw(A) + i * A.stride : nullptr, D.cols, d);
      add_to_sums(d, D.cols, table);
    });
    for (std::int64_t j = 0; j < D.cols; ++j)
      raw(bias_gradient)[j] = static_cast<T>(scale * sums[static_cast<std::size_t>(j)]);
  }

  void output(OutputLoss loss, VectorView<const T> bias, const Goals<T>& goals, double scale, MatrixView<T> Z,
              VectorView<double> sums) override {
    const T* const offsets = bias.empty() ? nullptr : raw(bias);
    raw(sums)[0] += scale * tile_sum(Z.rows, 4 * kFormulaNs * Z.cols, [&](std::int64_t i) {
                      return output_row(loss, offsets, goals, raw(goals.batch)[i], raw(Z) + i * Z.stride, Z.cols);
                    });
  }

  void descend(const DescentStep& step, VectorView<const T> gradient, VectorView<T> parameters, VectorView<T> first,
               VectorView<T> second, VectorView<double> sums) override {
    constexpr std::int64_t kRun = 4096;
    const StepConstants<T> constants(step);
    std::vector<double> squares(static_cast<std::size_t>(tiles_of(parameters.size, kRun)), 0.0);
    const auto run = [&](std::int64_t begin, std::int64_t end, T penalty) {
      T* const p = raw(parameters) + begin;
      const T* const g = raw(gradient) + begin;
      if (step.is_adam) adam_run(constants, g, end - begin, penalty, p, raw(first) + begin, raw(second) + begin);
      else momentum_run(constants, g, end - begin, penalty, p, raw(first) + begin);
    };
    for_tiles(parameters.size, kRun, parameters.size / kStepsPerNs,
              [&](std::int64_t tile, std::int64_t begin, std::int64_t end) {
                const std::int64_t middle = std::clamp(step.n_weights, begin, end);
                squares[static_cast<std::size_t>(tile)] = squares_of(raw(parameters) + begin, middle - begin);
                run(begin, middle, constants.penalty);
                run(middle, end, T{0});
              });
    double total = 0;
    for (const double square : squares) total += square;
    raw(sums)[0] += step.loss_scale * step.penalty / 2 * total;
  }
};

}   // namespace

template <class T>
std::unique_ptr<NetworkOps<T>> make_cpu_network() {
  return std::make_unique<CpuNetwork<T>>();
}
template std::unique_ptr<NetworkOps<float>> make_cpu_network<float>();
template std::unique_ptr<NetworkOps<double>> make_cpu_network<double>();

}   // namespace kedge::engine
