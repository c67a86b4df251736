// Layers of neural networks on the CPU.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/host/philox_run.h"
#include "engine/backend/network_functors.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kFormulaNs = 5;   // an exponential in double, as part of a vector
constexpr std::int64_t kStepsPerNs = 2;
constexpr std::int64_t kDrawNs = 2;   // a quarter of a block of Philox, of several at once

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
    case Activation::kLeakyRelu:
    case Activation::kElu:
    case Activation::kGelu:
    case Activation::kSilu:
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
    case Activation::kLeakyRelu:
      return slope_row<Activation::kLeakyRelu, T>;
    case Activation::kElu:
      return slope_row<Activation::kElu, T>;
    case Activation::kGelu:
      return slope_row<Activation::kGelu, T>;
    case Activation::kSilu:
      return slope_row<Activation::kSilu, T>;
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

// Where weights decay by themselves (decoupled), before the step.
template <class T>
KEDGE_CLONES void shrink_run(T kept, std::int64_t n, T* __restrict p) {
  for (std::int64_t j = 0; j < n; ++j) p[j] *= kept;
}

template <class T>
KEDGE_CLONES void rmsprop_run(const StepConstants<T> c, const T* __restrict g, std::int64_t n, T penalty,
                              T* __restrict p, T* __restrict v) {
  for (std::int64_t j = 0; j < n; ++j) p[j] += rmsprop_step(c, g[j] + penalty * p[j], v[j]);
}

// kept_share() of `count` cells from their words on.
template <class T>
KEDGE_CLONES void drop_run(const std::uint32_t* __restrict words, double rate, std::int64_t count, T* __restrict z) {
  const double kept = 1 / (1 - rate);
  for (std::int64_t l = 0; l < count; ++l) z[l] = static_cast<T>(z[l] * (words[l] * 0x1.0p-32 < rate ? 0 : kept));
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
      if (step.is_rmsprop) rmsprop_run(constants, g, end - begin, penalty, p, raw(second) + begin);
      else if (step.is_adam) adam_run(constants, g, end - begin, penalty, p, raw(first) + begin, raw(second) + begin);
      else momentum_run(constants, g, end - begin, penalty, p, raw(first) + begin);
    };
    for_tiles(parameters.size, kRun, parameters.size / kStepsPerNs,
              [&](std::int64_t tile, std::int64_t begin, std::int64_t end) {
                const std::int64_t middle = std::clamp(step.n_weights, begin, end);
                squares[static_cast<std::size_t>(tile)] = squares_of(raw(parameters) + begin, middle - begin);
                if (step.shrinkage != 0) shrink_run(constants.kept, middle - begin, raw(parameters) + begin);
                run(begin, middle, constants.penalty);
                run(middle, end, T{0});
              });
    double total = 0;
    for (const double square : squares) total += square;
    raw(sums)[0] += step.loss_scale * step.penalty / 2 * total;
  }

  void drop(double rate, std::uint64_t seed, std::uint64_t stream, MatrixView<T> Z) override {
    for_rows(Z.rows, Z.cols * kDrawNs, [&](std::int64_t i) {
      constexpr std::int64_t kWords = 4 * kPhiloxRun;
      std::uint32_t words[kWords];
      const std::int64_t first = i * Z.cols, end = first + Z.cols;
      for (std::int64_t cell = first; cell < end;) {
        const std::int64_t in_block = cell % 4, count = std::min(kWords - in_block, end - cell);
        philox_run(seed, stream, static_cast<std::uint64_t>(cell / 4), words);
        drop_run(words + in_block, rate, count, raw(Z) + i * Z.stride + (cell - first));
        cell += count;
      }
    });
  }

  void normalize(NormOver over, double epsilon, VectorView<const T> scale, VectorView<const T> shift, MatrixView<T> Z,
                 MatrixView<T> H, VectorView<double> spread, double momentum, VectorView<double> moving) override {
    const bool by_rows = over == NormOver::kRow;
    const std::vector<double> moments = by_rows ? std::vector<double>() : batch_moments(Z);
    const double* const mean = moments.data();
    for (std::int64_t j = 0; !by_rows && j < Z.cols; ++j) {
      const double n = static_cast<double>(Z.rows), variance = mean[Z.cols + j];
      raw(spread)[j] = 1 / std::sqrt(variance + epsilon);
      if (moving.empty()) continue;
      raw(moving)[j] += momentum * (mean[j] - raw(moving)[j]);
      double& seen = raw(moving)[Z.cols + j];
      seen += momentum * (variance * (n > 1 ? n / (n - 1) : 1) - seen);
    }
    for_rows(Z.rows, 3 * Z.cols, [&](std::int64_t i) {
      T* const z = raw(Z) + i * Z.stride;
      const RowMoments own = by_rows ? row_moments(z, Z.cols) : RowMoments{};
      const double own_spread = 1 / std::sqrt(own.variance + epsilon);
      if (by_rows) raw(spread)[i] = own_spread;
      for (std::int64_t j = 0; j < Z.cols; ++j) {
        const double h = by_rows ? (z[j] - own.mean) * own_spread : (z[j] - mean[j]) * raw(spread)[j];
        if (raw(H)) raw(H)[i * H.stride + j] = static_cast<T>(h);
        z[j] = static_cast<T>(raw(scale)[j] * h + raw(shift)[j]);
      }
    });
  }

  void normalize_as_seen(double epsilon, VectorView<const T> scale, VectorView<const T> shift,
                         VectorView<const double> moving, MatrixView<T> Z) override {
    for_rows(Z.rows, 8 * Z.cols, [&](std::int64_t i) {
      T* const z = raw(Z) + i * Z.stride;
      for (std::int64_t j = 0; j < Z.cols; ++j) {
        const double h = (z[j] - raw(moving)[j]) / std::sqrt(raw(moving)[Z.cols + j] + epsilon);
        z[j] = static_cast<T>(raw(scale)[j] * h + raw(shift)[j]);
      }
    });
  }

  void normalize_backward(NormOver over, VectorView<const T> scale, MatrixView<const T> H,
                          VectorView<const double> spread, double gradient_scale, MatrixView<T> D,
                          VectorView<T> scale_gradient, VectorView<T> shift_gradient) override {
    const std::int64_t k = D.cols;
    const std::vector<double> sums =
        tile_table_sums(D.rows, 2 * k, kRowTile, 2 * k, [&](std::int64_t i, double* table) {
          const T *const d = raw(D) + i * D.stride, *const h = raw(H) + i * H.stride;
          for (std::int64_t j = 0; j < k; ++j) table[j] += d[j], table[k + j] += double{d[j]} * h[j];
        });
    for (std::int64_t j = 0; j < k; ++j) {
      raw(shift_gradient)[j] = static_cast<T>(gradient_scale * sums[static_cast<std::size_t>(j)]);
      raw(scale_gradient)[j] = static_cast<T>(gradient_scale * sums[static_cast<std::size_t>(k + j)]);
    }
    for_rows(D.rows, 4 * k, [&](std::int64_t i) {
      T* const d = raw(D) + i * D.stride;
      const T* const h = raw(H) + i * H.stride;
      if (over == NormOver::kRow) return row_slopes(raw(scale), h, raw(spread)[i], k, d);
      for (std::int64_t j = 0; j < k; ++j)
        d[j] = static_cast<T>(raw(scale)[j] * normal_slope(d[j], h[j], sums[static_cast<std::size_t>(j)],
                                                           sums[static_cast<std::size_t>(k + j)],
                                                           static_cast<double>(D.rows), raw(spread)[j]));
    });
  }

  void clip_norm(double most, VectorView<T> gradient, VectorView<double>) override {
    T* const g = raw(gradient);
    const double squares = tile_sums(
        gradient.size, 1, [&](std::int64_t begin, std::int64_t end) { return squares_of(g + begin, end - begin); });
    const double factor = clip_factor(most, squares);
    if (factor < 1)
      for (std::int64_t j = 0; j < gradient.size; ++j) g[j] = static_cast<T>(g[j] * factor);
  }

  std::optional<Cell> find_no_code(MatrixView<const T> X, VectorView<const std::int32_t> columns,
                                   std::int64_t n_codes) override {
    for (std::int64_t i = 0; i < X.rows; ++i) {
      if (i % kRowTile == 0) check_job_stop();
      for (std::int64_t c = 0; c < columns.size; ++c) {
        const std::int64_t column = raw(columns)[c];
        if (!is_code(raw(X)[i * X.stride + column], n_codes)) return first_of_row(X, columns, n_codes, i);
      }
    }
    return std::nullopt;
  }

  void embed(MatrixView<const T> X, VectorView<const std::int32_t> columns, MatrixView<const T> table,
             MatrixView<T> out) override {
    for_rows(out.rows, out.cols, [&](std::int64_t i) {
      for (std::int64_t c = 0; c < columns.size; ++c) {
        const auto code = static_cast<std::int64_t>(raw(X)[i * X.stride + raw(columns)[c]]);
        std::copy_n(raw(table) + code * table.stride, table.cols, raw(out) + i * out.stride + c * table.cols);
      }
    });
  }

  // The cells in order of their codes, so that only vectors that occur are summed.
  void embed_backward(MatrixView<const T> X, VectorView<const std::int32_t> columns, double scale,
                      MatrixView<const T> D, MatrixView<T> gradient) override {
    const std::int64_t width = gradient.cols;
    std::vector<std::pair<std::int64_t, std::int64_t>> cells;   // code and place
    cells.reserve(static_cast<std::size_t>(X.rows * columns.size));
    for (std::int64_t i = 0; i < X.rows; ++i)
      for (std::int64_t c = 0; c < columns.size; ++c)
        cells.emplace_back(static_cast<std::int64_t>(raw(X)[i * X.stride + raw(columns)[c]]), i * columns.size + c);
    std::ranges::sort(cells);
    for (std::int64_t k = 0; k < gradient.rows; ++k) std::fill_n(raw(gradient) + k * gradient.stride, width, T{0});
    std::vector<double> sums(static_cast<std::size_t>(width));
    for (std::size_t first = 0, last = 0; first < cells.size(); first = last) {
      std::ranges::fill(sums, 0.0);
      for (; last < cells.size() && cells[last].first == cells[first].first; ++last) {
        const std::int64_t i = cells[last].second / columns.size, c = cells[last].second % columns.size;
        add_to_sums(raw(D) + i * D.stride + c * width, width, sums.data());
      }
      T* const to = raw(gradient) + cells[first].first * gradient.stride;
      for (std::int64_t j = 0; j < width; ++j) to[j] = static_cast<T>(scale * sums[static_cast<std::size_t>(j)]);
    }
  }

 private:
  // Of a row that has one; `columns` are in any order.
  static Cell first_of_row(MatrixView<const T> X, VectorView<const std::int32_t> columns, std::int64_t n_codes,
                           std::int64_t i) {
    std::int64_t first = X.cols;
    for (std::int64_t c = 0; c < columns.size; ++c) {
      const std::int64_t column = raw(columns)[c];
      if (!is_code(raw(X)[i * X.stride + column], n_codes)) first = std::min(first, column);
    }
    return {i, first};
  }
  struct RowMoments {
    double mean = 0, variance = 0;
  };
  static RowMoments row_moments(const T* z, std::int64_t k) {
    double sum = 0, squares = 0;
    for (std::int64_t j = 0; j < k; ++j) sum += z[j];
    const double mean = sum / static_cast<double>(k);
    for (std::int64_t j = 0; j < k; ++j) squares += (z[j] - mean) * (z[j] - mean);
    return {mean, squares / static_cast<double>(k)};
  }
  static void row_slopes(const T* scale, const T* h, double spread, std::int64_t k, T* d) {
    double sum = 0, products = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      const double own = double{d[j]} * scale[j];
      sum += own, products += own * h[j];
    }
    for (std::int64_t j = 0; j < k; ++j)
      d[j] = static_cast<T>(normal_slope(double{d[j]} * scale[j], h[j], sum, products, static_cast<double>(k), spread));
  }
  // Means of the columns, then their variances.
  static std::vector<double> batch_moments(MatrixView<const T> Z) {
    const double n = static_cast<double>(std::max<std::int64_t>(Z.rows, 1));
    std::vector<double> all = tile_table_sums(Z.rows, Z.cols, kRowTile, Z.cols, [&](std::int64_t i, double* table) {
      add_to_sums(raw(Z) + i * Z.stride, Z.cols, table);
    });
    for (double& sum : all) sum /= n;
    std::vector<double> squares =
        tile_table_sums(Z.rows, Z.cols, kRowTile, 2 * Z.cols, [&](std::int64_t i, double* table) {
          const T* const z = raw(Z) + i * Z.stride;
          for (std::int64_t j = 0; j < Z.cols; ++j) {
            const double difference = z[j] - all[static_cast<std::size_t>(j)];
            table[j] += difference * difference;
          }
        });
    for (const double square : squares) all.push_back(square / n);
    return all;
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
