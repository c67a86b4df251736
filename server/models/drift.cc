// Comparing bins: see drift.h.
#include "server/models/drift.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace kedge::server {
namespace {

constexpr double kLeastShare = 1e-4;   // what is in no row has no logarithm

constexpr const char* kNoProfile =
    "the model keeps no profile of the rows that it was fitted on: it was imported, or fitted by a version that made "
    "none, on sparse data or on more than 1000 columns";

std::vector<double> shares_of(std::span<const std::int64_t> counts, std::int64_t rows) {
  std::vector<double> shares;
  for (const std::int64_t count : counts)
    shares.push_back(rows > 0 ? static_cast<double>(count) / static_cast<double>(rows) : 0);
  return shares;
}

// Calls visit(column, its profile, the shares seen) for each.
template <class Visit>
void for_columns(const schema::DriftCounts& counts, Visit visit) {
  std::span<const std::int64_t> rest = counts.counts;
  for (std::size_t j = 0; j < counts.profile->columns.size(); ++j) {
    const schema::ProfileColumn& column = counts.profile->columns[j];
    visit(j, column, shares_of(rest.first(column.shares.size()), counts.rows));
    rest = rest.subspan(column.shares.size());
  }
}

}   // namespace

double stability_index(std::span<const double> trained, std::span<const double> seen) {
  double sum = 0;
  for (std::size_t i = 0; i < trained.size(); ++i) {
    const double then = std::max(trained[i], kLeastShare), now = std::max(seen[i], kLeastShare);
    sum += (now - then) * std::log(now / then);
  }
  return sum;
}

std::size_t bins_of(const schema::ModelProfile& profile) {
  std::size_t bins = 0;
  for (const schema::ProfileColumn& column : profile.columns) bins += column.shares.size();
  return bins;
}

std::optional<double> largest_index(const schema::DriftCounts& counts) {
  if (!counts.profile || counts.rows < kFewestDriftRows) return std::nullopt;
  std::optional<double> largest;
  for_columns(counts, [&](std::size_t, const schema::ProfileColumn& column, const std::vector<double>& seen) {
    largest = std::max(largest.value_or(0), stability_index(column.shares, seen));
  });
  return largest;
}

schema::ModelDrift drift_of(const schema::ModelInfo& model, const schema::DriftCounts& counts) {
  schema::ModelDrift drift{.model = model.id, .since = counts.since, .rows = counts.rows};
  if (!counts.profile || counts.profile->columns.size() != model.columns.size()) {
    drift.note = kNoProfile;
    return drift;
  }
  drift.trainedRows = counts.profile->rows;
  drift.psi = largest_index(counts);
  for_columns(counts, [&](std::size_t j, const schema::ProfileColumn& column, std::vector<double> seen) {
    schema::DriftColumn& shown = drift.columns.emplace_back();
    shown.name = model.columns[j].name, shown.kind = model.columns[j].kind;
    shown.edges = column.edges, shown.categories = column.categories;
    if (counts.rows >= kFewestDriftRows) shown.psi = stability_index(column.shares, seen);
    shown.trained = column.shares, shown.seen = std::move(seen);
    shown.trainedMissing = shown.trained.back(), shown.seenMissing = shown.seen.back();
    shown.trained.pop_back(), shown.seen.pop_back();
  });
  return drift;
}

}   // namespace kedge::server
