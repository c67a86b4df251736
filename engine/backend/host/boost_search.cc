// Searches the cuts of a column: sums from the left, then the gains of all cuts side by side.
#include "engine/backend/host/boost_search.h"

#include <algorithm>
#include <limits>

#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr int kMostBins = 257;

// The gains[b], about, of the cut that has left[b] on its left.
KEDGE_CLONES void free_gains(const GainTerms t, const std::int64_t* __restrict left, int n, double* __restrict gains) {
  for (int b = 0; b < n; ++b) gains[b] = about_gain(t, left[2 * b], left[2 * b + 1]);
}

KEDGE_CLONES double greatest(const double* values, int n) {
  double lanes[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
  int i = 0;
  for (; i + 8 <= n; i += 8)
    for (int l = 0; l < 8; ++l) lanes[l] = values[i + l] > lanes[l] ? values[i + l] : lanes[l];
  for (; i < n; ++i) lanes[0] = values[i] > lanes[0] ? values[i] : lanes[0];
  return *std::max_element(lanes, lanes + 8);
}

// The first place from `at` on whose value is not below `least`; n if there is none.
KEDGE_CLONES int find_at_least(const double* values, int at, int n, double least) {
  for (; at + 8 <= n; at += 8) {
    int found = 0;
    for (int l = 0; l < 8; ++l) found |= values[at + l] >= least;
    if (found) break;
  }
  while (at < n && values[at] < least) ++at;
  return at;
}

// One column in one node.
class Search {
 public:
  Search(const CutJudge& judge, const CutNode& node, const BoostColumn& column, const BoostSum* bins, int monotonic)
      : judge_(judge),
        node_(node),
        column_(column),
        bins_(bins),
        monotonic_(monotonic),
        terms_{judge.gradient_unit,      judge.hessian_unit,      judge.l2 + kBoostTiny,
               judge.gradient(node.sum), judge.hessian(node.sum), judge.gradient(node.sum) * node.value,
               judge.least_hessian,      judge.count(node.sum),   judge.least_rows,
               judge.count_bits} {}

  BoostCut cut() {
    if (column_.is_category) search_categories();
    else search_numbers();
    return best_;
  }

 private:
  bool is_bounded() const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return monotonic_ != 0 || node_.low != -kInfinity || node_.high != kInfinity;
  }

  double gain_of(BoostSum left) const {
    return exact_gain(terms_, {judge_.l2, node_.low, node_.high, monotonic_}, left[0], left[1]);
  }

  BoostSum left_of(int b) const { return BoostSum{left_[2 * b], left_[2 * b + 1]}; }

  struct Best {
    int at = -1;
    double gain = 0;
  };
  // The greatest gain above 0 of the first n sums in left_; of equal ones the first, or the last. Gains that are about
  // the greatest are computed again, exactly.
  Best best_of(int n, bool takes_last) {
    double least = 0;
    if (!is_bounded()) {
      free_gains(terms_, left_, n, gains_);
      const double about = greatest(gains_, n);
      if (about <= 0) return {};
      least = least_gain(terms_, about);
    }
    Best best;
    const bool is_free = !is_bounded();
    for (int b = 0; b < n; ++b) {
      if (is_free && (b = find_at_least(gains_, b, n, least)) == n) break;
      const double gain = gain_of(left_of(b));
      if (gain > best.gain || (takes_last && best.at >= 0 && gain == best.gain)) best = {b, gain};
    }
    return best;
  }

  void search_numbers() {
    const int n = column_.n_bins(), n_cuts = n - 1 + (column_.has_missing ? 1 : 0);
    BoostSum sum{};
    if (!column_.has_missing) return search_filled(n_cuts);
    for (int b = 0; b < n_cuts; ++b) sum += bins_[b], left_[2 * b] = sum[0], left_[2 * b + 1] = sum[1];
    if (const Best best = best_of(n_cuts, false); best.at >= 0) take(best, best.at, false);
    // Missing values on the left. Of equal cuts the last: scikit-learn looks from there.
    for (int b = 0; b + 1 < n; ++b) left_[2 * b] += bins_[n][0], left_[2 * b + 1] += bins_[n][1];
    if (const Best best = best_of(n - 1, true); best.at >= 0 && best.gain > best_.gain) take(best, best.at, true);
  }

  // Behind bins that have rows alone: a cut behind another one parts the rows as the one before it.
  void search_filled(int n_cuts) {
    int bin[kMostBins], n = 0;
    BoostSum sum{};
    if (terms_.rows > n_cuts) {   // few bins are empty
      for (; n < n_cuts; ++n) sum += bins_[n], left_[2 * n] = sum[0], left_[2 * n + 1] = sum[1], bin[n] = n;
    } else {
      for (int b = 0; b < n_cuts; ++b) {
        sum += bins_[b], left_[2 * n] = sum[0], left_[2 * n + 1] = sum[1], bin[n] = b;
        n += bins_[b][1] != 0;
      }
    }
    if (const Best best = best_of(n, false); best.at >= 0) take(best, bin[best.at], false);
  }

  void take(const Best& best, int bin, bool missing_left) {
    best_.gain = best.gain, best_.bin = bin, best_.missing_left = missing_left, best_.left_sum = left_of(best.at);
  }

  // Categories with enough rows, by what they would predict (Fisher, "On grouping for maximum homogeneity", 1958); each
  // half of that order from its end.
  void search_categories() {
    const int n_codes = column_.n_bins() + (column_.has_missing ? 1 : 0);
    const double factor = static_cast<double>(terms_.rows) / terms_.hessian;
    struct Category {
      double value;
      int code;
    };
    std::array<Category, kMostBins> used;
    int n = 0;
    for (int code = 0; code < n_codes; ++code) {
      const double h = judge_.hessian(bins_[code]);
      if (h * factor >= kCategorySupport)
        used[static_cast<std::size_t>(n++)] = {judge_.gradient(bins_[code]) / (h + kCategorySupport), code};
    }
    if (n <= 1) return;
    std::stable_sort(used.begin(), used.begin() + n,
                     [](const Category& a, const Category& b) { return a.value < b.value; });
    int best_at = -1, best_direction = 0;
    for (const int direction : {1, -1}) {
      const int middle = direction == 1 ? (n + 1) / 2 : (n + 1) / 2 - 1;
      BoostSum sum{};
      for (int i = 0; i < middle; ++i) {
        const int at = direction == 1 ? i : n - 1 - i;
        sum += bins_[used[static_cast<std::size_t>(at)].code];
        const double gain = gain_of(sum);
        if (gain > best_.gain && gain > 0)
          best_.gain = gain, best_.left_sum = sum, best_at = at, best_direction = direction;
      }
    }
    if (best_at < 0) return;
    best_.is_category = true;
    for (int at = best_direction == 1 ? 0 : best_at; at < (best_direction == 1 ? best_at + 1 : n); ++at)
      best_.left.insert(used[static_cast<std::size_t>(at)].code);
    best_.missing_left = column_.has_missing && best_.left.has(column_.n_bins());
  }

  const CutJudge& judge_;
  const CutNode& node_;
  const BoostColumn& column_;
  const BoostSum* bins_;
  int monotonic_;
  GainTerms terms_;
  BoostCut best_;
  std::int64_t left_[2 * kMostBins];   // sums of the bins up to each
  double gains_[kMostBins];
};

}   // namespace

BoostCut best_cut(const CutJudge& judge, const CutNode& node, const BoostColumn& column, const BoostSum* bins,
                  int monotonic) {
  return Search(judge, node, column, bins, monotonic).cut();
}

}   // namespace kedge::engine
