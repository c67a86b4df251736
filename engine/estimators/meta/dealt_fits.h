// The fits that an estimator makes of others, dealt over the ranks of the job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/comm/bytes.h"
#include "engine/core/context.h"
#include "schemas/value.h"

namespace kedge::engine {

// What is known of a fit before it is made. It is the same on every rank, since it decides who makes the fit.
struct PlannedFit {
  double cost = 1;         // beside that of the others, at least 0
  bool divides = false;    // ranks share it themselves: see DealtFit
  bool is_large = false;   // what it leaves takes about as long to send as to make: the rows of a neighbour search
};

// Fits that do not depend on each other, in the order of one process.
struct InnerFits {
  std::vector<PlannedFit> planned = {};
  std::function<void(const Context&, std::size_t i)> fit = {};
  // What fit(i) has left, and the same on every rank, also on the one that wrote it.
  std::function<void(std::size_t i, ByteWriter&)> write = {};
  std::function<void(std::size_t i, ByteReader&)> read = {};
  std::function<void(std::size_t i)> done = {};   // may be empty; in order, when it and those before it are here
  const char* things = "estimators";              // what the progress counts; null: nothing
};

// Makes all of them. On several ranks each makes some, by their cost, and all get all; those that cost more than a
// rank's share and divide are made by all ranks together, and large ones by every rank. What the fits say comes in
// their order. Errors: that of the first fit that fails, on every rank.
void deal_fits(const Context& ctx, const InnerFits& fits);

// The same for fits that leave nothing but numbers: those of each fit. Without progress.
std::vector<std::vector<double>> numbers_of_fits(
    const Context& ctx, const std::vector<PlannedFit>& planned,
    const std::function<std::vector<double>(const Context&, std::size_t i)>& fit);

// The rank that makes each fit; kEveryRank: all do. The most expensive ones first, each to the rank with the least.
inline constexpr int kEveryRank = -1;
std::vector<int> ranks_of_fits(const std::vector<PlannedFit>& planned, int n_ranks);

// What a fit of a step, or of a list of steps, costs beside others, as far as its kind, rows, columns and numbers of
// trees, folds and copies say so.
double cost_of_fit(const schema::Value& steps, std::int64_t n_rows, std::int64_t n_cols);

}   // namespace kedge::engine
