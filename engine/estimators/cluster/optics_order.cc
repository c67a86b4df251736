// OPTICS' walk: a scan of the rows that are left, in blocks, or a heap of those that are reached.
#include "engine/estimators/cluster/optics_order.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "engine/estimators/cluster/point_lanes.h"

namespace kedge::engine {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kDigits = 1e15;
constexpr double kSlack = 1 + 1e-9;     // for what rounding does to a distance
constexpr std::int64_t kShown = 1024;   // rows between two looks at the stop token

// All rows that are left are looked at in each step.
class Scan {
 public:
  explicit Scan(const OpticsRows& points)
      : all_(points),
        points_(points.rows, points.n, points.dims),
        reach_(static_cast<std::size_t>(points.n), kInfinity),
        bound_(static_cast<std::size_t>(points.n), points.limit),
        from_(static_cast<std::size_t>(points.n), -1),
        row_(from_),
        found_(static_cast<std::size_t>((points.n + PointLanes::kBlock - 1) / PointLanes::kBlock)) {
    for (std::size_t i = 0; i < row_.size(); ++i) row_[i] = static_cast<std::int64_t>(i);
  }

  struct Taken {
    std::int64_t row, from;
    double reach;
  };
  // Takes the row at a place out; the next call of next() offers it to those that are left.
  Taken take(std::size_t place) {
    const Taken taken{row_[place], from_[place], reach_[place]};
    newest_ = points_.point(static_cast<std::int64_t>(place));
    points_.remove(static_cast<std::int64_t>(place));
    for (auto* const values : {&reach_, &bound_}) (*values)[place] = values->back(), values->pop_back();
    for (auto* const values : {&from_, &row_}) (*values)[place] = values->back(), values->pop_back();
    return taken;
  }
  // The place of the nearest row after `own`, with this core distance, has reached out.
  std::size_t next(std::int64_t own, double core) {
    const std::int64_t blocks = points_.for_blocks([&](std::int64_t begin, std::int64_t count) {
      if (core < kInfinity) reach_block(own, core, begin, count);
      found_[static_cast<std::size_t>(begin / PointLanes::kBlock)] = nearest_of(begin, count);
    });
    return static_cast<std::size_t>(std::get<2>(*std::min_element(found_.begin(), found_.begin() + blocks)));
  }

 private:
  using Found = std::tuple<double, std::int64_t, std::int64_t>;   // reach, row, place

  // Few rows come nearer in a step: the reduced distances say which may, and only theirs are restored and rounded.
  void reach_block(std::int64_t own, double core, std::int64_t begin, std::int64_t count) {
    std::array<double, PointLanes::kBlock> reduced;
    points_.reduced(all_.distance, newest_.data(), begin, count, reduced.data());
    const double* const bound = bound_.data() + begin;
    for (std::int64_t i = 0; i < count; ++i) {
      if (!(reduced[static_cast<std::size_t>(i)] <= bound[i])) continue;
      const auto place = static_cast<std::size_t>(begin + i);
      const double distance = all_.distance_of(reduced[static_cast<std::size_t>(i)]);
      const double made = optics_rounded(std::max(distance, core));
      if (!(made < reach_[place])) continue;
      reach_[place] = made, from_[place] = own;
      bound_[place] = std::min(all_.limit, kSlack * (all_.halves ? 2 * made : all_.distance.reduced(made)));
    }
  }
  Found nearest_of(std::int64_t begin, std::int64_t count) const {
    const double* const reach = reach_.data() + begin;
    const double least = least_of(reach, count);
    Found found{kInfinity, std::numeric_limits<std::int64_t>::max(), -1};
    for (std::int64_t i = 0; i < count; ++i)
      if (reach[i] == least)
        found = std::min(found, Found{least, row_[static_cast<std::size_t>(begin + i)], begin + i});
    return found;
  }

  const OpticsRows& all_;
  PointLanes points_;
  std::vector<double> reach_, bound_;   // bound: the largest reduced distance at which a row may come nearer
  std::vector<std::int64_t> from_, row_;
  std::vector<Found> found_;   // of each block
  std::vector<double> newest_;
};

double pair_distance(const OpticsRows& points, std::int64_t a, std::int64_t b) {
  const double* const rows = points.rows.data();
  const double reduced = with_metric(points.distance.metric, [&]<Metric M>() {
    return short_distance<M>(rows + a * points.dims, rows + b * points.dims, points.dims, points.distance.power);
  });
  return points.distance_of(reduced);
}

void show(const Context& ctx, std::size_t done, std::int64_t n) {
  if (done % kShown != 0) return;
  ctx.check_stop();
  ctx.progress("ordering rows", static_cast<std::int64_t>(done), n, "rows");
}

void scan_rows(const Context& ctx, const OpticsRows& points, OpticsOrder& found) {
  Scan scan(points);
  for (std::size_t place = 0;;) {
    show(ctx, found.order.size(), points.n);
    const Scan::Taken taken = scan.take(place);
    const auto row = static_cast<std::size_t>(taken.row);
    found.order.push_back(static_cast<std::int32_t>(row));
    found.reach[row] = taken.reach, found.predecessor[row] = static_cast<std::int32_t>(taken.from);
    if (static_cast<std::int64_t>(found.order.size()) == points.n) return;
    place = scan.next(taken.row, found.core[row]);
  }
}

// A row is in the heap once for each time that it came nearer; what is left of it when it is taken is passed over.
void walk_lists(const Context& ctx, const OpticsRows& points, const OpticsLists& lists, OpticsOrder& found) {
  using Entry = std::pair<double, std::int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> reached;
  std::vector<bool> is_taken(static_cast<std::size_t>(points.n));
  std::int64_t unseen = 0;   // rows before it are taken
  while (static_cast<std::int64_t>(found.order.size()) < points.n) {
    show(ctx, found.order.size(), points.n);
    while (!reached.empty() && is_taken[static_cast<std::size_t>(reached.top().second)]) reached.pop();
    while (is_taken[static_cast<std::size_t>(unseen)]) ++unseen;   // stops at a row: one is left
    const std::int32_t row = reached.empty() ? static_cast<std::int32_t>(unseen) : reached.top().second;
    if (!reached.empty()) reached.pop();
    const auto own = static_cast<std::size_t>(row);
    is_taken[own] = true, found.order.push_back(row);
    if (!(found.core[own] < kInfinity)) continue;
    for (std::int64_t e = lists.offsets[own]; e < lists.offsets[own + 1]; ++e) {
      const std::int32_t other = lists.rows[static_cast<std::size_t>(e)];
      const auto i = static_cast<std::size_t>(other);
      if (is_taken[i]) continue;
      const double made = optics_rounded(std::max(pair_distance(points, row, other), found.core[own]));
      if (!(made < found.reach[i])) continue;
      found.reach[i] = made, found.predecessor[i] = row;
      reached.emplace(made, other);
    }
  }
}

}   // namespace

double optics_rounded(double distance) {
  return std::nearbyint(distance * kDigits) / kDigits;
}

OpticsOrder optics_order(const Context& ctx, const OpticsRows& points, std::vector<double> core,
                         const OpticsLists& lists) {
  const auto n = static_cast<std::size_t>(points.n);
  OpticsOrder found{.predecessor = std::vector<std::int32_t>(n, -1),
                    .core = std::move(core),
                    .reach = std::vector<double>(n, kInfinity)};
  found.order.reserve(n);
  if (lists.offsets.empty()) scan_rows(ctx, points, found);
  else walk_lists(ctx, points, lists, found);
  return found;
}

}   // namespace kedge::engine
