// RBFSampler and SkewedChi2Sampler: random Fourier features. No other code makes them, so they need no header.
#include <cmath>
#include <numbers>
#include <optional>

#include "engine/backend/linked_tables.h"
#include "engine/core/legacy_distributions.h"
#include "engine/core/params.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kBlockRows = 2048;

struct FourierParams {
  std::int64_t n_components = 100;
  std::optional<std::int64_t> random_state;
};

template <class P>
ParamSet<P>& add_fourier_params(ParamSet<P>& set) {
  return set.add("n_components", &P::n_components, between(1, 1 << 20), "Features to make.")
      .random_state(&P::random_state);
}

// x' = sqrt(2 / n_components) cos(x weights + offset), whose products of rows have a kernel as their mean. Draws are
// those of numpy's RandomState, so that a seed gives scikit-learn's map. Cost a row: n_components * n_features. Source:
// Rahimi and Recht, "Random features for large-scale kernel machines", NIPS 2007.
template <class T>
class FourierSampler : public Transformer<T> {
 public:
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override {
    require_fitted_columns(name(), X, static_cast<std::size_t>(n_features_));
    check(ctx, X);
    const auto k = static_cast<std::int64_t>(offset_.size());
    const Matrix<T> weights(ctx.memory(), n_features_, k, weights_);
    const Array<T> offset(ctx.memory(), std::span<const T>(offset_));
    const Matrix<T> size(ctx.memory(), 1, 1, std::vector<T>{static_cast<T>(std::sqrt(2.0 / static_cast<double>(k)))});
    Backend<T>& ops = ctx.ops<T>();
    Matrix<T> gathered, scratch, out = table_matrix<T>(ctx.device, X.n_rows(), k);
    const std::int64_t step = block_rows(ctx, kBlockRows, k);
    for (std::int64_t first = 0; first < X.n_rows(); first += step) {
      ctx.check_stop();
      const std::int64_t count = std::min(step, X.n_rows() - first);
      const MatrixView<T> to = out.view().row_range(first, count);
      const MatrixView<const T> rows = mapped(ctx, X.values(ctx, first, count, gathered), scratch);
      ops.linear->gemm(Transpose::kNo, Transpose::kNo, T{1}, rows, weights.view(), T{0}, to);
      ops.rows->add_to_rows(offset.view(), to);
      ops.maps->map(Unary::kCos, 1, to, to);
      ops.maps->combine(Binary::kMultiply, to, size.view(), to);
    }
    return samples_of(std::move(out));
  }
  schema::ValueMap attributes() const override {
    return {
        {"random_weights_", rows_value({weights_.begin(), weights_.end()}, static_cast<std::int64_t>(offset_.size()))},
        {"random_offset_", std::vector<double>(offset_.begin(), offset_.end())}};
  }
  void state(StateArchive& archive) override {
    archive.features(n_features_);
    archive.field("offset", offset_, kAnySize);
    archive.field("weights", weights_, n_features_, static_cast<std::int64_t>(offset_.size()));
  }

 protected:
  // draw(random) makes a weight; n_components of them for each column.
  template <class Draw>
  void draw(const Context& ctx, const Samples<T>& X, const FourierParams& params, const Draw& draw_weight) {
    require_rows(name(), X);
    check(ctx, X);
    ctx.check_stop();
    n_features_ = X.n_cols();
    LegacyRandom random(static_cast<std::uint32_t>(params.random_state.value_or(static_cast<std::int64_t>(ctx.seed))));
    weights_.resize(static_cast<std::size_t>(n_features_ * params.n_components));
    offset_.resize(static_cast<std::size_t>(params.n_components));
    for (T& weight : weights_) weight = static_cast<T>(draw_weight(random));
    for (T& offset : offset_) offset = static_cast<T>(2 * std::numbers::pi * random.uniform());
  }

 private:
  virtual const char* name() const = 0;
  virtual void check(const Context&, const Samples<T>&) const {}
  // What is multiplied with the weights; `rows` may be in the table itself.
  virtual MatrixView<const T> mapped(const Context&, MatrixView<const T> rows, Matrix<T>&) const { return rows; }

  std::int64_t n_features_ = 0;
  std::vector<T> weights_, offset_;   // n_features x n_components; n_components
};

MemoryNeed memory_of(const SampleShape& X, const schema::Step& step) {
  const std::int64_t k = memory::integer(step, "n_components");
  return memory::makes(X, k, X.cols * k * (X.value_bytes + memory::kDouble) + 2 * memory::block(X));
}

struct RbfParams : FourierParams {
  schema::Value gamma = 1.0;
};

template <class T>
class RBFSampler final : public FourierSampler<T> {
 public:
  explicit RBFSampler(const schema::ValueMap& params) : params_(param_set().parse(params)) {}
  static schema::EstimatorInfo info() {
    return {.name = kName,
            .kind = "transformer",
            .family = "kernel_approximation",
            .doc = "Approximate feature map of the Gaussian kernel, by cosines of random directions.",
            .params = param_set().infos(),
            .attributes = {"random_weights_", "random_offset_"}};
  }
  void fit(const Context& ctx, const Samples<T>& X, const Target&) override {
    require_rows(kName, X);
    const double scale = std::sqrt(2 * gamma_on(ctx, X));
    LegacyNormal normal;
    this->draw(ctx, X, params_, [&](LegacyRandom& random) { return scale * normal(random); });
  }

 private:
  static constexpr const char* kName = "RBFSampler";
  static const ParamSet<RbfParams>& param_set() {
    static const ParamSet<RbfParams> set = [] {
      ParamSet<RbfParams> made(kName);
      made.any("gamma", &RbfParams::gamma, {string_form({"scale"}), number_form(at_least(0))},
               "Factor in the exponent of the kernel. scale: 1 / (n_features * variance of all values).");
      return add_fourier_params(made);
    }();
    return set;
  }
  const char* name() const override { return kName; }
  double gamma_on(const Context& ctx, const Samples<T>& X) const {
    if (const auto* number = std::get_if<double>(&params_.gamma.data)) return *number;
    const double variance = total_variance(column_moments(ctx, X));
    return variance > 0 ? 1 / variance : 1;
  }

  RbfParams params_;
};

struct SkewedParams : FourierParams {
  double skewedness = 1;
};

template <class T>
class SkewedChi2Sampler final : public FourierSampler<T> {
 public:
  explicit SkewedChi2Sampler(const schema::ValueMap& params) : params_(param_set().parse(params)) {}
  static schema::EstimatorInfo info() {
    return {.name = kName,
            .kind = "transformer",
            .family = "kernel_approximation",
            .doc = "Approximate feature map of the skewed chi-squared kernel, by cosines of random directions.",
            .params = param_set().infos(),
            .attributes = {"random_weights_", "random_offset_"}};
  }
  void fit(const Context& ctx, const Samples<T>& X, const Target&) override {
    this->draw(ctx, X, params_, [](LegacyRandom& random) {
      return std::numbers::inv_pi * std::log(std::tan(std::numbers::pi / 2 * random.uniform()));
    });
  }

 private:
  static constexpr const char* kName = "SkewedChi2Sampler";
  static const ParamSet<SkewedParams>& param_set() {
    static const ParamSet<SkewedParams> set = [] {
      ParamSet<SkewedParams> made(kName);
      made.add("skewedness", &SkewedParams::skewedness, {}, "Is added to all values before their logarithm.");
      return add_fourier_params(made);
    }();
    return set;
  }
  const char* name() const override { return kName; }
  void check(const Context& ctx, const Samples<T>& X) const override {
    const std::vector<double> least = column_ranges(ctx, X).minimum;
    for (std::size_t j = 0; j < least.size(); ++j) {
      require(!(least[j] <= -params_.skewedness), schema::ErrorCode::kBadData,
              "{}: column {} has {}, must be above {}, skewedness below 0", kName,
              X.table->column_label(static_cast<std::int64_t>(j)), least[j], -params_.skewedness);
    }
  }
  MatrixView<const T> mapped(const Context& ctx, MatrixView<const T> rows, Matrix<T>& scratch) const override {
    if (scratch.rows() < rows.rows) scratch = Matrix<T>(ctx.memory(), rows.rows, rows.cols);
    const MatrixView<T> to = scratch.view().row_range(0, rows.rows);
    const Matrix<T> skewedness(ctx.memory(), 1, 1, std::vector<T>{static_cast<T>(params_.skewedness)});
    MapOps<T>& maps = *ctx.ops<T>().maps;
    maps.combine(Binary::kAdd, rows, skewedness.view(), to);
    maps.map(Unary::kLog, 1, to, to);
    return to;
  }

  SkewedParams params_;
};

}   // namespace

void add_random_fourier(Rows& rows) {
  add<RBFSampler>(rows, memory_of, {0, 1});
  add<SkewedChi2Sampler>(rows, memory_of, {2, 3});
}

}   // namespace kedge::engine
