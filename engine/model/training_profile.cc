// Counting rows into bins: see training_profile.h.
#include "engine/model/training_profile.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <utility>

namespace kedge::engine {
namespace {

constexpr std::size_t kDeciles = 10;

double rounded(double value, bool is_float32) {
  return is_float32 ? static_cast<double>(static_cast<float>(value)) : value;
}

// A column of the selection as the first step gets it.
class Cells {
 public:
  Cells(const Selection& selection, const DatasetFile& data, std::size_t column)
      : narrow_(data.values_f32()),
        wide_(data.values_f64()),
        stride_(static_cast<std::size_t>(data.meta().n_values_columns)),
        at_(static_cast<std::size_t>(selection.columns[column])),
        cells_(selection.sources.empty() ? CellMapRef() : selection.sources[column].cells),
        scale_(selection.features[column].is_nominal ? 1 : selection.scale),
        is_float32_(selection.is_float32) {}
  double operator()(std::int64_t row) const {
    const std::size_t place = static_cast<std::size_t>(row) * stride_ + at_;
    const double stored = narrow_.empty() ? wide_[place] : static_cast<double>(narrow_[place]);
    return rounded(cells_.of(stored) * scale_, is_float32_);
  }

 private:
  std::span<const float> narrow_;
  std::span<const double> wide_;
  std::size_t stride_, at_;
  CellMapRef cells_;
  double scale_;
  bool is_float32_;
};

// Puts the values of these ranks, ascending and distinct, where they would be if all were sorted. The span begins with
// rank `first`.
void place_ranks(std::span<double> values, std::size_t first, std::span<const std::size_t> ranks) {
  if (ranks.empty()) return;
  const std::size_t middle = ranks.size() / 2, at = ranks[middle] - first;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  place_ranks(values.first(at), first, ranks.first(middle));
  place_ranks(values.subspan(at + 1), first + at + 1, ranks.subspan(middle + 1));
}

// Of values that are not missing; their order is lost. A decile is the smallest value that so many are not above.
std::vector<double> edges_of(std::span<double> values) {
  std::vector<std::size_t> ranks;
  for (std::size_t k = 1; k < kDeciles && !values.empty(); ++k) {
    const std::size_t rank = (k * values.size() + kDeciles - 1) / kDeciles - 1;
    if (ranks.empty() || ranks.back() != rank) ranks.push_back(rank);
  }
  place_ranks(values, 0, ranks);
  std::vector<double> edges;
  for (const std::size_t rank : ranks)
    if (edges.empty() || edges.back() != values[rank]) edges.push_back(values[rank] + 0.0);   // -0 is 0
  return edges;
}

// The most frequent first, then by code.
std::vector<std::int32_t> frequent_codes(std::span<const double> values, std::size_t n_categories) {
  std::vector<std::int32_t> counts(n_categories), codes;
  for (const double value : values) ++counts.at(static_cast<std::size_t>(value));
  for (std::size_t code = 0; code < n_categories; ++code)
    if (counts[code] > 0) codes.push_back(static_cast<std::int32_t>(code));
  const auto most = std::min<std::ptrdiff_t>(std::ssize(codes), TrainingProfile::kMostCategories);
  std::partial_sort(codes.begin(), codes.begin() + most, codes.end(), [&](std::int32_t a, std::int32_t b) {
    const std::int32_t of_a = counts[static_cast<std::size_t>(a)], of_b = counts[static_cast<std::size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  });
  codes.resize(static_cast<std::size_t>(most));
  return codes;
}

template <class V>
std::vector<V> taken(const std::vector<V>& from, std::size_t& at, std::size_t count) {
  const auto begin = from.begin() + static_cast<std::ptrdiff_t>(at);
  at += count;
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}   // namespace

std::size_t ColumnBins::bin_of(double value) const {
  if (std::isnan(value)) return counts.size() - 1;
  if (categories.empty()) {
    std::size_t bin = 0;   // of texts it stays the only one
    for (const double edge : edges) bin += value > edge ? 1U : 0U;
    return bin;
  }
  const auto is_it = [&](std::int32_t code) { return static_cast<double>(code) == value; };
  return static_cast<std::size_t>(std::ranges::find_if(categories, is_it) - categories.begin());
}

std::optional<TrainingProfile> training_profile(const Selection& selection, const DatasetFile& data,
                                                const schema::ModelInfo& info) {
  const std::int64_t n_cols = selection.n_cols();
  if (data.meta().is_sparse() || n_cols > TrainingProfile::kMostColumns || n_cols < 1 || selection.n_rows < 1)
    return std::nullopt;
  TrainingProfile profile;
  profile.rows = std::min(selection.n_rows, std::clamp(TrainingProfile::kMostCells / n_cols,
                                                       TrainingProfile::kFewestRows, TrainingProfile::kMostRows));
  std::vector<double> values(static_cast<std::size_t>(profile.rows)), present;
  for (std::size_t j = 0; j < selection.columns.size(); ++j) {
    const Cells cells(selection, data, j);
    for (std::int64_t i = 0; i < profile.rows; ++i)
      values[static_cast<std::size_t>(i)] = cells(i * selection.n_rows / profile.rows);
    present.clear();
    std::ranges::copy_if(values, std::back_inserter(present), [](double value) { return !std::isnan(value); });
    ColumnBins& bins = profile.columns.emplace_back();
    if (info.columns[j].kind == "category")
      bins.categories = frequent_codes(present, selection.features[j].categories.size());
    else if (info.columns[j].kind == "number") bins.edges = edges_of(present);
    bins.counts.assign(bins.edges.size() + bins.categories.size() + 2, 0);
    for (const double value : values) ++bins.counts[bins.bin_of(value)];
  }
  return profile;
}

// The columns one after the other in each list: few records, however many columns there are. No estimator has members
// of these names, so that what reads a model by names finds its own.
void TrainingProfile::state(StateArchive& archive, const schema::ModelInfo& info) {
  const std::size_t n_cols = info.columns.size();
  const StateArchive::Scope scope(archive, "profile", static_cast<std::int64_t>(n_cols));
  std::vector<std::int32_t> sizes, codes, counts;   // sizes: of each column its edges, then its categories
  std::vector<double> edges;
  for (const ColumnBins& column : columns) {
    sizes.push_back(static_cast<std::int32_t>(column.edges.size()));
    sizes.push_back(static_cast<std::int32_t>(column.categories.size()));
    edges.insert(edges.end(), column.edges.begin(), column.edges.end());
    codes.insert(codes.end(), column.categories.begin(), column.categories.end());
    counts.insert(counts.end(), column.counts.begin(), column.counts.end());
  }
  archive.number("profile_rows", rows, 1, kMostRows);
  archive.expect(std::ssize(info.columns) <= kMostColumns, "profile_sizes", "is of too many columns");
  archive.indices("profile_sizes", sizes, 2 * static_cast<std::int64_t>(n_cols), 0, kMostCategories);
  std::int64_t n_edges = 0, n_codes = 0;
  for (std::size_t j = 0; j < n_cols; ++j) n_edges += sizes[2 * j], n_codes += sizes[2 * j + 1];
  archive.field("profile_edges", edges, n_edges);
  archive.expect_finite("profile_edges", edges);
  archive.indices("profile_categories", codes, n_codes, 0, kMaxSize);
  archive.indices("profile_counts", counts, n_edges + n_codes + 2 * static_cast<std::int64_t>(n_cols), 0, rows);
  if (!archive.is_loading()) return;
  columns.assign(n_cols, {});
  std::size_t edge = 0, code = 0, bin = 0;
  for (std::size_t j = 0; j < n_cols; ++j) {
    const auto of_edges = static_cast<std::size_t>(sizes[2 * j]), of_codes = static_cast<std::size_t>(sizes[2 * j + 1]);
    const schema::ModelColumn& described = info.columns[j];
    archive.expect(of_edges == 0 || described.kind == "number", "profile_sizes",
                   "has edges of a column that is no number");
    archive.expect(of_codes == 0 || described.kind == "category", "profile_sizes",
                   "has categories of a column without any");
    columns[j] = {taken(edges, edge, of_edges), taken(codes, code, of_codes),
                  taken(counts, bin, of_edges + of_codes + 2)};
    archive.expect(std::ranges::adjacent_find(columns[j].edges, std::greater_equal{}) == columns[j].edges.end(),
                   "profile_edges", "does not ascend");
    for (const std::int32_t held : columns[j].categories)
      archive.expect_in("profile_categories", held, 0, std::ssize(described.categories) - 1);
    archive.expect(std::accumulate(columns[j].counts.begin(), columns[j].counts.end(), std::int64_t{0}) == rows,
                   "profile_counts", "does not add up to the rows");
  }
}

schema::ModelProfile TrainingProfile::described(const schema::ModelInfo& info) const {
  schema::ModelProfile profile{.rows = rows};
  for (std::size_t j = 0; j < columns.size(); ++j) {
    schema::ProfileColumn& column = profile.columns.emplace_back();
    column.edges = columns[j].edges;
    for (const std::int32_t code : columns[j].categories)
      column.categories.push_back(info.columns[j].categories[static_cast<std::size_t>(code)]);
    for (const std::int32_t count : columns[j].counts)
      column.shares.push_back(static_cast<double>(count) / static_cast<double>(rows));
  }
  return profile;
}

BinCounter::BinCounter(const TrainingProfile& profile, const schema::ModelInfo& info)
    : profile_(profile), is_float32_(info.dtype == "float32") {
  std::size_t n_bins = 0;
  for (const ColumnBins& column : profile_.columns) n_bins += column.counts.size();
  sums_.resize(n_bins);
}

BinCounter::Counts BinCounter::count(const ModelRows& rows) {
  const std::size_t n_cols = profile_.columns.size();
  std::size_t first = 0;
  Counts found;
  for (std::size_t j = 0; j < n_cols; ++j) {
    const ColumnBins& column = profile_.columns[j];
    for (std::size_t i = j; i < rows.values.size(); i += n_cols)
      ++sums_[first + column.bin_of(rounded(rows.values[i], is_float32_))];
    for (std::size_t bin = first; bin < first + column.counts.size(); ++bin) {
      if (sums_[bin] == 0) continue;
      found.bins.push_back(static_cast<std::int64_t>(bin));
      found.counts.push_back(std::exchange(sums_[bin], 0));
    }
    first += column.counts.size();
  }
  return found;
}

}   // namespace kedge::engine
