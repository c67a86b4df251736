// Elastic nets on the CPU: one path a thread.
#include <algorithm>
#include <span>
#include <vector>

#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"
#include "engine/core/rng.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kPathNs = 1'000'000;   // longer than waking a thread takes

KEDGE_CLONES void add_multiple(double factor, const double* x, std::int64_t n, double* __restrict y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

// Coordinate descent on one path.
class Descent {
 public:
  Descent(const ElasticNetPath& path, const ElasticNetOptions& options, std::uint64_t stream)
      : p_(path),
        options_(options),
        d_(path.q.size),
        random_(options.seed, stream),
        w_(static_cast<std::size_t>(d_)),
        Qw_(w_.size(), 0.0),
        is_excluded_(w_.size()) {
    std::copy_n(raw(p_.coef), d_, w_.begin());
    for (std::int64_t j = 0; j < d_; ++j)
      if (w_[at(j)] != 0) add_multiple(w_[at(j)], row(j), d_, Qw_.data());
  }

  void run() {
    for (std::int64_t a = 0; a < p_.l1.size; ++a) {
      solve(raw(p_.l1)[a], raw(p_.l2)[a], raw(p_.gap)[a], raw(p_.n_iter)[a]);
      std::copy(w_.begin(), w_.end(), raw(p_.coef) + a * d_);
    }
  }

 private:
  static std::size_t at(std::int64_t j) { return static_cast<std::size_t>(j); }
  const double* row(std::int64_t j) const { return raw(p_.Q) + j * p_.Q.stride; }
  double diagonal(std::int64_t j) const { return row(j)[j]; }
  double slope(std::int64_t j) const { return raw(p_.q)[j] - Qw_[at(j)]; }

  double gap(double l1, double l2) {
    ElasticNetSums s;
    for (std::int64_t j = 0; j < d_; ++j) {
      const double w = w_[at(j)], dual = elastic_net_dual(slope(j), w, l1, l2), size = options_.positive ? dual : std::abs(dual);
      s.l1_norm += std::abs(w), s.squared_norm += w * w, s.qw += w * raw(p_.q)[j], s.wQw += w * Qw_[at(j)];
      s.dual_norm = j == 0 ? size : std::max(s.dual_norm, size), s.dual_squared += dual * dual;
    }
    dual_norm_ = s.dual_norm;
    return elastic_net_gap(s, p_.y_squared, l1, l2);
  }

  void move(std::int64_t j, double to) {
    add_multiple(to - w_[at(j)], row(j), d_, Qw_.data());
    w_[at(j)] = to;
  }

  // Keeps the coordinates that the gap does not exclude. Without an L1 penalty: those of columns that are not 0.
  void screen(double l1, double l2, double gap) {
    active_.clear();
    for (std::int64_t j = 0; j < d_; ++j) {
      if (is_excluded_[at(j)]) continue;
      const bool out =
          l1 > 0 ? elastic_net_excludes(elastic_net_dual(slope(j), w_[at(j)], l1, l2), dual_norm_, diagonal(j), l1, l2, gap)
                 : diagonal(j) == 0;
      is_excluded_[at(j)] = out;
      if (!out) active_.push_back(j);
    }
    for (std::int64_t j = 0; j < d_; ++j)   // after the decisions, which all see the same residual
      if (is_excluded_[at(j)] && w_[at(j)] != 0) move(j, 0.0);
  }

  void solve(double l1, double l2, double& reached, std::int32_t& n_iter) {
    const double tol = options_.tol * p_.y_squared;
    reached = gap(l1, l2), n_iter = 0;
    if (reached >= 0 && reached <= tol) return;
    std::fill(is_excluded_.begin(), is_excluded_.end(), false);
    screen(l1, l2, reached);
    for (std::int64_t iteration = 0; iteration < options_.max_iter; ++iteration) {
      check_job_stop();
      double largest = 0, largest_step = 0;
      for (std::size_t i = 0; i < active_.size(); ++i) {
        const std::int64_t j = active_[options_.random ? random_.below(static_cast<std::uint32_t>(active_.size())) : i];
        const double w = w_[at(j)], to = elastic_net_coordinate(slope(j), w, diagonal(j), l1, l2, options_.positive);
        if (to != w) move(j, to);
        largest = std::max(largest, std::abs(to)), largest_step = std::max(largest_step, std::abs(to - w));
      }
      ++n_iter;
      if (largest != 0 && largest_step > options_.tol * largest && iteration + 1 < options_.max_iter) continue;
      reached = gap(l1, l2);
      if (reached <= tol) return;
      screen(l1, l2, reached);
    }
  }

  const ElasticNetPath& p_;
  const ElasticNetOptions& options_;
  std::int64_t d_;
  PhiloxStream random_;
  std::vector<double> w_, Qw_;
  std::vector<bool> is_excluded_;
  std::vector<std::int64_t> active_;
  double dual_norm_ = 0;
};

template <class T>
class CpuConvex final : public ConvexOps<T> {
 public:
  void elastic_net_paths(std::span<const ElasticNetPath> paths, const ElasticNetOptions& options) override {
    const auto n = static_cast<std::int64_t>(paths.size());
    for_tiles(n, 1, n * kPathNs, [&](std::int64_t i, std::int64_t, std::int64_t) {
      Descent(paths[static_cast<std::size_t>(i)], options, static_cast<std::uint64_t>(i)).run();
    });
  }
};

}   // namespace

template <class T>
std::unique_ptr<ConvexOps<T>> make_cpu_convex() {
  return std::make_unique<CpuConvex<T>>();
}
template std::unique_ptr<ConvexOps<float>> make_cpu_convex<float>();
template std::unique_ptr<ConvexOps<double>> make_cpu_convex<double>();

}   // namespace kedge::engine
