// Clusters between steep slopes, as scikit-learn's cluster_optics_xi() finds them.
#include "engine/estimators/cluster/optics_clusters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace kedge::engine {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct SteepDown {
  std::int64_t start, end;
  double between;   // the largest reachability since
};

class Xi {
 public:
  Xi(const OpticsOrder& found, const XiOptions& options)
      : n_(static_cast<std::int64_t>(found.order.size())),
        options_(options),
        rest_(1 - options.xi),
        place_(found.order.size()) {
    for (const std::int32_t row : found.order) {
      plot_.push_back(found.reach[static_cast<std::size_t>(row)]);
      predecessor_.push_back(found.predecessor[static_cast<std::size_t>(row)]);
    }
    plot_.push_back(kInfinity);
    for (std::size_t i = 0; i < found.order.size(); ++i)
      place_[static_cast<std::size_t>(found.order[i])] = static_cast<std::int64_t>(i);
  }

  std::vector<XiCluster> clusters() {
    double between = 0;
    for (std::int64_t steep = 0, next = 0; steep < n_; ++steep) {
      const bool is_down = is_steep_down(steep);
      if (steep < next || !(is_down || is_steep_up(steep))) continue;
      for (std::int64_t i = next; i <= steep; ++i) between = std::max(between, at(i));
      keep_downs(between);
      const std::int64_t end = end_of_slope(steep, is_down);
      next = end + 1, between = at(next);
      if (is_down) downs_.push_back({steep, end, 0});
      else close(steep, end);
    }
    return std::move(found_);
  }

 private:
  double at(std::int64_t i) const { return plot_[static_cast<std::size_t>(i)]; }
  double ratio(std::int64_t i) const { return at(i) / at(i + 1); }   // compares with nothing where both are infinite
  bool is_steep_up(std::int64_t i) const { return ratio(i) <= rest_; }
  bool is_steep_down(std::int64_t i) const { return ratio(i) >= 1 / rest_; }

  // Slopes down that what came since has not risen above.
  void keep_downs(double between) {
    if (std::isinf(between)) return downs_.clear();
    std::erase_if(downs_, [&](const SteepDown& down) { return !(between <= at(down.start) * rest_); });
    for (SteepDown& down : downs_) down.between = std::max(down.between, between);
  }

  std::int64_t end_of_slope(std::int64_t start, bool is_down) const {
    std::int64_t end = start, flat = 0;
    for (std::int64_t i = start; i < n_; ++i) {
      if (is_down ? is_steep_down(i) : is_steep_up(i)) flat = 0, end = i;
      else if (is_down ? ratio(i) < 1 : ratio(i) > 1) return end;
      else if (++flat > options_.min_samples) break;
    }
    return end;
  }

  // Narrows a cluster until its last row was reached from within.
  std::optional<std::array<std::int64_t, 2>> corrected(std::int64_t start, std::int64_t end) const {
    for (; start < end; --end) {
      if (at(start) > at(end)) return std::array{start, end};
      const std::int32_t from = predecessor_[static_cast<std::size_t>(end)];
      if (from < 0) continue;
      const std::int64_t place = place_[static_cast<std::size_t>(from)];
      if (place >= start && place < end) return std::array{start, end};
    }
    return std::nullopt;
  }

  // The clusters that the slope up from `up` to `end` closes.
  void close(std::int64_t up, std::int64_t end) {
    std::vector<XiCluster> closed;
    for (const SteepDown& down : downs_) {
      std::int64_t first = down.start, last = end;
      if (at(last + 1) * rest_ < down.between) continue;
      const double top = at(down.start);
      if (top * rest_ >= at(last + 1))
        while (at(first + 1) > at(last + 1) && first < down.end) ++first;
      else if (at(last + 1) * rest_ >= top)
        while (at(last - 1) > top && last > up) --last;
      if (options_.corrects_predecessors) {
        const auto narrowed = corrected(first, last);
        if (!narrowed) continue;
        first = (*narrowed)[0], last = (*narrowed)[1];
      }
      if (last - first + 1 < options_.min_cluster_size || first > down.end || last < up) continue;
      closed.push_back({static_cast<std::int32_t>(first), static_cast<std::int32_t>(last)});
    }
    found_.insert(found_.end(), closed.rbegin(), closed.rend());
  }

  std::int64_t n_;
  XiOptions options_;
  double rest_;                             // 1 - xi
  std::vector<double> plot_;                // the reachability in the order
  std::vector<std::int32_t> predecessor_;   // in the order, as rows
  std::vector<std::int64_t> place_;         // of each row
  std::vector<SteepDown> downs_;
  std::vector<XiCluster> found_;
};

}   // namespace

std::vector<XiCluster> xi_clusters(const OpticsOrder& found, const XiOptions& options) {
  return Xi(found, options).clusters();
}

std::vector<std::int32_t> xi_labels(const OpticsOrder& found, const std::vector<XiCluster>& clusters) {
  std::vector<std::int32_t> in_order(found.order.size(), -1), labels(found.order.size());
  std::int32_t next = 0;
  for (const XiCluster& cluster : clusters) {
    const auto first = in_order.begin() + cluster[0], end = in_order.begin() + cluster[1] + 1;
    if (std::any_of(first, end, [](std::int32_t label) { return label != -1; })) continue;
    std::fill(first, end, next++);
  }
  for (std::size_t i = 0; i < labels.size(); ++i) labels[static_cast<std::size_t>(found.order[i])] = in_order[i];
  return labels;
}

std::vector<std::int32_t> labels_within(const OpticsOrder& found, double eps) {
  std::vector<std::int32_t> labels(found.order.size());
  std::int32_t last = -1;
  for (const std::int32_t row : found.order) {
    const auto i = static_cast<std::size_t>(row);
    const bool is_far = found.reach[i] > eps, is_core = found.core[i] <= eps;
    if (is_far && is_core) ++last;
    labels[i] = is_far && !is_core ? -1 : last;
  }
  return labels;
}

}   // namespace kedge::engine
