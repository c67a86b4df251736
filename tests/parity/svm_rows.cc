// Working sets on a device that chooses and solves them itself, against plain loops, to the bit. Devices that leave
// them to the host have nothing to check here.
#include "tests/parity/svm_rows.h"

#include <cmath>
#include <numeric>

#include "engine/backend/ops/support_vectors.h"
#include "engine/backend/svm_functors.h"
#include "tests/parity/probe.h"

namespace kedge::parity {
namespace {

using engine::kSmoSet;

constexpr double kTol = 1e-3;
constexpr std::int64_t kFewSteps = 60;   // before free variables move together

// Kernel values of points on a curve, the last ones as the first, and variables of them, some of which may not move.
struct SmoCase {
  std::int64_t n_rows;
  std::vector<float> K;
  std::vector<std::int32_t> row;
  std::vector<signed char> y;
  std::vector<double> C, alpha, offset;
  bool by_sign;

  SmoCase(std::int64_t n, std::int64_t per_row, bool by_sign) : n_rows(n / per_row), by_sign(by_sign) {
    engine::PhiloxStream random(31, 2);
    std::vector<double> at;
    for (std::int64_t i = 0; i < n_rows; ++i)
      at.push_back(i + 3 > n_rows && i >= 3 ? at[static_cast<std::size_t>(i - 3)] : 4 * random.uniform());
    for (const double a : at)
      for (const double b : at) K.push_back(static_cast<float>(std::exp(-(a - b) * (a - b))));
    for (std::int64_t t = 0; t < n; ++t) {
      const auto i = static_cast<std::size_t>(t % n_rows);
      row.push_back(static_cast<std::int32_t>(i));
      y.push_back(per_row == 2 ? (t < n_rows ? 1 : -1) : (std::sin(2 * at[i]) + random.uniform() > 0.5 ? 1 : -1));
      C.push_back(t % 11 == 5 ? 0 : 1 + static_cast<double>(t % 3));
      alpha.push_back(0), offset.push_back(per_row == 2 ? std::sin(at[i]) - 0.05 * y.back() : y.back());
    }
    if (!by_sign) return;
    double left[2] = {static_cast<double>(n) / 20, static_cast<double>(n) / 20};
    for (std::size_t t = 0; t < y.size(); ++t) {
      double& of_sign = left[y[t] > 0 ? 0 : 1];
      alpha[t] = std::min(C[t], of_sign), of_sign -= alpha[t];
    }
  }
  float k(std::size_t t, std::size_t u) const { return K[static_cast<std::size_t>(row[t] * n_rows + row[u])]; }
  std::size_t group(std::size_t t) const { return by_sign && y[t] < 0 ? 1 : 0; }
};

// The same by plain loops, without the steps of free variables.
class PlainSmo {
 public:
  explicit PlainSmo(const SmoCase& of) : of_(of), alpha(of.alpha), values(static_cast<std::size_t>(of.n_rows), 0.0) {}

  double score(std::size_t t) const { return of_.offset[t] - values[static_cast<std::size_t>(of_.row[t])]; }
  bool rises(std::size_t t) const { return engine::may_rise(of_.y[t], alpha[t], of_.C[t]); }
  bool falls(std::size_t t) const { return engine::may_fall(of_.y[t], alpha[t], of_.C[t]); }

  double gap() const {
    double worst = -engine::kInfinite;
    for (std::size_t g = 0; g < 2; ++g) worst = std::max(worst, extents(g)[0] - extents(g)[1]);
    return worst;
  }

  std::vector<std::size_t> choose() {
    std::vector<std::size_t> set;
    const auto take = [&](std::size_t t) {
      if (std::ranges::find(set, t) == set.end()) set.push_back(t);
    };
    for (std::size_t g = 0; g < 2; ++g)
      for (const bool up : {true, false})
        for (const std::size_t t : violators(g, up)) take(t);
    for (const std::size_t t : former_)
      if (set.size() < kSmoSet && alpha[t] > 0 && alpha[t] < of_.C[t]) take(t);
    former_ = set;
    std::ranges::stable_partition(set, [&](std::size_t t) { return of_.group(t) == 0; });
    return set;
  }

  // At most kFewSteps; the changes of y a.
  std::vector<double> solve(const std::vector<std::size_t>& set) {
    const double tol = std::max(0.1 * gap(), 0.5 * kTol);
    std::vector<double> scores, before;
    for (const std::size_t t : set) scores.push_back(score(t)), before.push_back(alpha[t]);
    for (n_iter = 0; n_iter < kFewSteps; ++n_iter) {
      const auto [i, j, worst] = best_pair(set, scores);
      if (!(worst >= tol)) break;
      const std::size_t a = set[i], b = set[j];
      const double curvature = double{of_.k(a, a)} + double{of_.k(b, b)} - 2.0 * double{of_.k(a, b)};
      const double step = std::min({(scores[i] - scores[j]) / std::max(curvature, engine::kLeastCurvature),
                                    engine::smo_room(of_.y[a], alpha[a], of_.C[a], true),
                                    engine::smo_room(of_.y[b], alpha[b], of_.C[b], false)});
      alpha[a] = engine::smo_moved(of_.y[a], alpha[a], of_.C[a], step);
      alpha[b] = engine::smo_moved(of_.y[b], alpha[b], of_.C[b], -step);
      for (std::size_t k = 0; k < set.size(); ++k)
        scores[k] -= step * (double{of_.k(a, set[k])} - double{of_.k(b, set[k])});
    }
    std::vector<double> changes;
    for (std::size_t k = 0; k < set.size(); ++k) changes.push_back(of_.y[set[k]] * (alpha[set[k]] - before[k]));
    return changes;
  }

  void add(const std::vector<std::int32_t>& rows, const std::vector<double>& coefs) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = 0; j < values.size(); ++j)
        values[j] += coefs[i] * double{of_.K[static_cast<std::size_t>(rows[i]) * values.size() + j]};
  }

 private:
  struct Best {
    std::size_t i, j;
    double gap;
  };

  std::array<double, 2> extents(std::size_t g) const {
    std::array<double, 2> found{-engine::kInfinite, engine::kInfinite};
    for (std::size_t t = 0; t < alpha.size(); ++t) {
      if (of_.group(t) != g) continue;
      if (rises(t)) found[0] = std::max(found[0], score(t));
      if (falls(t)) found[1] = std::min(found[1], score(t));
    }
    return found;
  }

  std::vector<std::size_t> violators(std::size_t g, bool up) const {
    const auto [highest, lowest] = extents(g);
    std::vector<std::size_t> all;
    for (std::size_t t = 0; t < alpha.size(); ++t)
      if (of_.group(t) == g && (up ? rises(t) && score(t) > lowest : falls(t) && score(t) < highest)) all.push_back(t);
    std::ranges::stable_sort(
        all, [&](std::size_t a, std::size_t b) { return up ? score(a) > score(b) : score(a) < score(b); });
    all.resize(std::min<std::size_t>(all.size(), kSmoSet / (of_.by_sign ? 8 : 4)));
    std::ranges::sort(all);
    return all;
  }

  Best best_pair(const std::vector<std::size_t>& set, const std::vector<double>& scores) const {
    Best best{0, 0, -engine::kInfinite};
    double most = -engine::kInfinite;
    for (std::size_t g = 0; g < 2; ++g) {
      double highest = -engine::kInfinite, lowest = engine::kInfinite;
      std::size_t i = 0;
      for (std::size_t k = 0; k < set.size(); ++k) {
        if (of_.group(set[k]) != g) continue;
        if (rises(set[k]) && scores[k] > highest) highest = scores[k], i = k;
        if (falls(set[k])) lowest = std::min(lowest, scores[k]);
      }
      best.gap = std::max(best.gap, highest - lowest);
      for (std::size_t k = 0; highest - lowest > 0 && k < set.size(); ++k) {
        if (of_.group(set[k]) != g || !falls(set[k])) continue;
        const double violation = std::max(0.0, highest - scores[k]);
        const double curvature =
            (double{of_.k(set[i], set[i])} + double{of_.k(set[k], set[k])}) - 2.0 * double{of_.k(set[i], set[k])};
        const double gain = violation * violation / std::max(curvature, engine::kLeastCurvature);
        if (gain > most) most = gain, best.i = i, best.j = k;
      }
    }
    return best;
  }

  const SmoCase& of_;
  std::vector<std::size_t> former_;

 public:
  std::vector<double> alpha, values;
  std::int64_t n_iter = 0;
};

// The device's steps of a case, with its kernel there.
struct DeviceSmo {
  DeviceSmo(engine::Device& device, engine::SupportVectorOps& ops, const SmoCase& of)
      : memory(device.memory()),
        of(of),
        steps(ops.smo_steps({of.row, of.y, of.C, of.alpha, of.offset, of.by_sign, of.n_rows})),
        kept(memory, of.n_rows, of.n_rows, of.K) {}

  engine::SmoSet solve(std::int64_t max_iter) {
    const VectorView<const std::int32_t> rows = steps->choose(kTol);
    std::vector<std::int32_t> host(static_cast<std::size_t>(kSmoSet));
    memory.to_host(host.data(), rows.data, host.size() * sizeof(std::int32_t));
    std::vector<float> square;
    for (const std::int32_t a : host)
      for (const std::int32_t b : host) square.push_back(of.K[static_cast<std::size_t>(a * of.n_rows + b)]);
    const Matrix<float> K(memory, kSmoSet, kSmoSet, square);
    return steps->solve(K.view(), max_iter);
  }

  engine::Memory& memory;
  const SmoCase& of;
  std::unique_ptr<engine::SmoSteps> steps;
  Matrix<float> kept;
};

void add_both(DeviceSmo& device, PlainSmo* plain, const std::vector<std::int32_t>& rows,
              const std::vector<double>& coefs) {
  for (std::size_t first = 0; first < rows.size(); first += kSmoSet) {
    const std::size_t count = std::min<std::size_t>(kSmoSet, rows.size() - first);
    device.steps->add(device.kept.view(), std::span(rows).subspan(first, count),
                      std::span(coefs).subspan(first, count));
  }
  if (plain) plain->add(rows, coefs);
}

void add_start(DeviceSmo& device, PlainSmo* plain, const SmoCase& of) {
  std::vector<std::int32_t> rows;
  std::vector<double> coefs;
  for (std::size_t t = 0; t < of.alpha.size(); ++t)
    if (of.alpha[t] != 0) rows.push_back(of.row[t]), coefs.push_back(of.y[t] * of.alpha[t]);
  add_both(device, plain, rows, coefs);
}

// Shape: rows variables, cols of each row of the kernel; k: whether each sign has its sum.
void check_sets(engine::Device& device, Probe<double>& probe) {
  engine::SupportVectorOps* const ops = engine::support_vector_ops(device);
  if (!ops) return;
  const auto [n, per_row, by_sign] = probe.shape();
  const SmoCase of(n, per_row, by_sign != 0);
  DeviceSmo found(device, *ops, of);
  PlainSmo plain(of);
  add_start(found, &plain, of);
  for (int set = 0; set < 3; ++set) {
    const double gap = plain.gap();
    const engine::SmoSet solved = found.solve(kFewSteps);
    EXPECT_EQ(solved.gap, gap) << "set " << set;
    if (!(gap >= kTol)) {
      EXPECT_EQ(solved.rows.empty(), true);
      break;
    }
    std::vector<std::int32_t> rows;
    const std::vector<std::size_t> chosen = plain.choose();
    for (const std::size_t t : chosen) rows.push_back(of.row[t]);
    const std::vector<double> changes = plain.solve(chosen);
    EXPECT_EQ(solved.rows == rows, true) << "set " << set << " has other rows";
    EXPECT_EQ(solved.changes == changes, true) << "set " << set << " is solved otherwise";
    EXPECT_EQ(solved.n_iter, plain.n_iter) << "set " << set;
    EXPECT_EQ(found.steps->alpha() == plain.alpha, true) << "set " << set;
    add_both(found, &plain, solved.rows, solved.changes);
    EXPECT_EQ(found.steps->values() == plain.values, true) << "set " << set;
  }
}

// To the end, with the steps of free variables: no pair violates, bounds and sums hold, and again the same bits.
void check_optimum(engine::Device& device, Probe<double>& probe) {
  engine::SupportVectorOps* const ops = engine::support_vector_ops(device);
  if (!ops) return;
  const auto [n, per_row, by_sign] = probe.shape();
  const SmoCase of(n, per_row, by_sign != 0);
  std::vector<double> before;
  for (int run = 0; run < 2; ++run) {
    DeviceSmo found(device, *ops, of);
    add_start(found, nullptr, of);
    for (int set = 0; set < 50; ++set) {
      const engine::SmoSet solved = found.solve(16384);
      if (solved.rows.empty()) break;
      add_both(found, nullptr, solved.rows, solved.changes);
    }
    const std::vector<double> alpha = found.steps->alpha();
    if (run == 1) {
      EXPECT_EQ(alpha == before, true) << "a second run has other bits";
      return;
    }
    before = alpha;
    PlainSmo plain(of);
    plain.alpha = alpha, plain.values = found.steps->values();
    EXPECT_EQ(plain.gap() < kTol, true) << plain.gap();
    double sums[2] = {0, 0};
    for (std::size_t t = 0; t < alpha.size(); ++t) {
      EXPECT_EQ(alpha[t] >= 0 && alpha[t] <= of.C[t], true) << "multiplier " << t;
      sums[of.group(t)] += of.y[t] * (alpha[t] - of.alpha[t]);
    }
    for (const double sum : sums) probe.expect_near(sum, 0, 1e-9 * static_cast<double>(n), "sum of the multipliers");
  }
}

void check_put(engine::Device& device, Probe<double>& probe) {
  engine::SupportVectorOps* const ops = engine::support_vector_ops(device);
  if (!ops) return;
  const auto [n, d, k] = probe.shape();
  const Table from = probe.numbers(n, d, 1);
  std::vector<std::int32_t> places(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) places[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(n - 1 - i);
  const Array<std::int32_t> there(probe.memory(), places);
  const auto check = [&]<class From, class To>(From, To) {
    Padded<To> put(probe.memory(), n, d), moved(probe.memory(), n, d);
    const Padded<From> values(probe.memory(), from);
    ops->put_rows(values.view(), {}, put.view()), ops->put_rows(values.view(), there.view(), moved.view());
    const Table straight = put.to_table(), turned = moved.to_table();
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < d; ++j) {
        EXPECT_EQ(straight.at(i, j), from.at(i, j)) << i << ", " << j;
        EXPECT_EQ(turned.at(n - 1 - i, j), from.at(i, j)) << i << ", " << j;
      }
  };
  check(float{}, float{}), check(float{}, double{}), check(double{}, float{});
}

using Check = void (*)(engine::Device&, Probe<double>&);

Case case_of(const char* op, const Shape& shape, Check check) {
  const auto run = [shape, check](engine::Device& device, const LaunchWatch& launches) {
    Findings findings;
    Probe<double> probe(device, shape, 1, launches);
    check(device, probe);
    return findings.take();
  };
  return {op, "float32", shape, run};
}

}   // namespace

std::vector<Case> svm_cases() {
  std::vector<Case> cases;
  // Few variables, about a set, several tiles; two variables a row; both sums.
  for (const Shape& shape : {Shape{7, 1, 0}, Shape{200, 1, 0}, Shape{600, 1, 1}, Shape{600, 2, 0}, Shape{2500, 2, 1}})
    cases.push_back(case_of("smo_sets", shape, &check_sets));
  for (const Shape& shape : {Shape{100, 1, 0}, Shape{100, 1, 1}})
    cases.push_back(case_of("smo_optimum", shape, &check_optimum));
  for (const Shape& shape : {Shape{1, 1, 0}, Shape{70, 300, 0}})
    cases.push_back(case_of("smo_put_rows", shape, &check_put));
  return cases;
}

}   // namespace kedge::parity
