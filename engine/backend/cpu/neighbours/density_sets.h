// Sets of dense points, which threads and ranks unite.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/cpu/neighbours/density.h"
#include "engine/backend/raw.h"

namespace kedge::engine {

// Sets of points; a root is the lowest of its set, so that the sets found do not depend on the order of the unions.
class UnionFind {
 public:
  explicit UnionFind(VectorView<std::int32_t> parents) : parents_(parents) {
    std::iota(raw(parents), raw(parents) + parents.size, 0);
  }

  std::int32_t find(std::int32_t i) const {
    for (std::int32_t parent = load(i); parent != i; parent = load(i)) {
      const std::int32_t above = load(parent);
      if (above != parent) at(i).compare_exchange_weak(parent, above, std::memory_order_relaxed);   // halves the path
      i = above;
    }
    return i;
  }
  void unite(std::int32_t a, std::int32_t b) const {
    for (;;) {
      a = find(a), b = find(b);
      if (a == b) return;
      if (a < b) std::swap(a, b);
      std::int32_t root = a;
      if (at(a).compare_exchange_strong(root, b, std::memory_order_relaxed)) return;
    }
  }

 private:
  std::atomic_ref<std::int32_t> at(std::int32_t i) const { return std::atomic_ref<std::int32_t>(raw(parents_)[i]); }
  std::int32_t load(std::int32_t i) const { return at(i).load(std::memory_order_relaxed); }
  VectorView<std::int32_t> parents_;
};

struct Pair {
  std::int32_t a, b;
};

// What pairs within the distance say: core points are united; others are remembered with their core neighbours, and
// claimed when these have names. join() by any thread of a parallel region.
class PairJoin {
 public:
  PairJoin(const UnionFind& sets, const DensityJob& job)
      : sets_(sets), job_(job), borders_(static_cast<std::size_t>(omp_get_max_threads())) {}

  void join(const std::vector<Pair>& pairs) {
    auto& border = borders_[static_cast<std::size_t>(omp_get_thread_num())];
    for (const Pair& pair : pairs) {
      const bool a = raw(job_.core)[pair.a], b = raw(job_.core)[pair.b];
      if (a && b) sets_.unite(pair.a, pair.b);
      else if (a || b) border.push_back(a ? Pair{pair.b, pair.a} : pair);   // the border point, the core point
    }
  }
  void claim(const std::vector<std::int32_t>& component) const {
    for (const auto& border : borders_)
      for (const Pair& pair : border) {
        std::int32_t& own = raw(job_.component)[pair.a];
        const std::int32_t other = component[static_cast<std::size_t>(pair.b)];
        if (own < 0 || other < own) own = other;
      }
  }

 private:
  const UnionFind& sets_;
  const DensityJob& job_;
  std::vector<std::vector<Pair>> borders_;   // of each thread
};

// put(i, value) of each of n rows on every rank, where value combines get(i) of all: some rows at a time, so that it
// takes no memory by the number of ranks.
template <class Get, class Put>
void combine_rows(Ranks& ranks, std::int64_t n, IntegerOp op, Get&& get, Put&& put) {
  constexpr std::int64_t kAtOnce = 1 << 20;
  std::vector<std::int64_t> values;
  for (std::int64_t first = 0; first < n; first += kAtOnce) {
    ranks.share([&]() -> std::vector<std::byte> {
      check_job_stop();
      values.resize(static_cast<std::size_t>(std::min(kAtOnce, n - first)));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = get(first + static_cast<std::int64_t>(i));
      return {};
    });
    ranks.combine(values, op);
    for (std::size_t i = 0; i < values.size(); ++i) put(first + static_cast<std::int64_t>(i), values[i]);
  }
}

// Unites sets that have a point in common on any two ranks: each gives the lowest root that it knows of a point, until
// nothing changes.
inline void unite_on_ranks(Ranks& ranks, const UnionFind& sets, std::int64_t n) {
  std::vector<std::int64_t> changes(1);
  do {
    changes[0] = 0;
    combine_rows(
        ranks, n, IntegerOp::kMin, [&](std::int64_t i) { return sets.find(static_cast<std::int32_t>(i)); },
        [&](std::int64_t i, std::int64_t lowest) {
          const auto point = static_cast<std::int32_t>(i), root = static_cast<std::int32_t>(lowest);
          if (sets.find(point) != root) sets.unite(point, root), changes[0] = 1;
        });
    ranks.share([] { return std::vector<std::byte>(); });
    ranks.combine(changes, IntegerOp::kMax);
  } while (changes[0] > 0);
}

// The three steps of DBSCAN. `ranks`: those that divide the work; null: there is one process.

// Every rank gets the core points that mark_own() marks on any; it marks this rank's alone.
template <class Mark>
void find_core(Ranks* ranks, const DensityJob& job, const Mark& mark_own) {
  if (!ranks) return mark_own();
  std::fill_n(raw(job.core), job.core.size, std::uint8_t{0});
  const auto own = [&] {
    mark_own();
    std::vector<std::int32_t> found;
    for (std::int32_t i = 0; i < job.core.size; ++i)
      if (raw(job.core)[i]) found.push_back(i);
    return found;
  };
  for (const std::int32_t i : parts_of_ranks<std::int32_t>(ranks, own)) raw(job.core)[i] = 1;
}

// Joins the core points by the pairs that join_own() finds, which are this rank's alone. Which rank has found a pair
// does not matter, since a root is the lowest of its set.
template <class Join>
void join_core(Ranks* ranks, const UnionFind& sets, const DensityJob& job, const Join& join_own) {
  if (!ranks) return join_own();
  ranks->share([&] {
    join_own();
    return std::vector<std::byte>();
  });
  unite_on_ranks(*ranks, sets, job.core.size);
}

// Names the core points by their components, and gives others the lowest that claim_own(components) finds on any rank.
template <class Claim>
void name_points(Ranks* ranks, const UnionFind& sets, const DensityJob& job, const Claim& claim_own) {
  std::vector<std::int32_t> component(static_cast<std::size_t>(job.core.size));
  for (std::int64_t i = 0; i < job.core.size; ++i)
    component[static_cast<std::size_t>(i)] = raw(job.core)[i] ? sets.find(static_cast<std::int32_t>(i)) : -1;
  std::copy(component.begin(), component.end(), raw(job.component));
  if (!ranks) return claim_own(component);
  ranks->share([&] {
    claim_own(component);
    return std::vector<std::byte>();
  });
  constexpr std::int64_t kNone = std::numeric_limits<std::int32_t>::max();
  combine_rows(
      *ranks, job.core.size, IntegerOp::kMin,
      [&](std::int64_t i) { return raw(job.component)[i] < 0 ? kNone : std::int64_t{raw(job.component)[i]}; },
      [&](std::int64_t i, std::int64_t lowest) {
        raw(job.component)[i] = lowest == kNone ? -1 : static_cast<std::int32_t>(lowest);
      });
}

}   // namespace kedge::engine
