// Makes sparse rows of the cells of a table, whose columns are named by a vocabulary or by a hash.
#include "engine/estimators/text/record_vectorizers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <unordered_map>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/memory_terms.h"
#include "engine/estimators/text/hashing_vectorizer.h"
#include "engine/estimators/text/host_rows.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Value;
constexpr const char* kDict = "DictVectorizer";
constexpr const char* kHasher = "FeatureHasher";
constexpr std::int64_t kMostListed = std::int64_t{1} << 18;   // features of a vocabulary_ in a result, which is JSON
constexpr std::int32_t kNowhere = -1;

const ParamSet<DictVectorizerParams>& dict_params() {
  using P = DictVectorizerParams;
  static const ParamSet<P> set =
      ParamSet<P>(kDict)
          .add("separator", &P::separator, {}, "What stands between a column's name and a category.")
          .add("sparse", &P::sparse, "Make sparse rows.")
          .add("sort", &P::sort, "Order the features by name; otherwise by the first cell that has them.")
          .ignore("dtype", "float64", {string_form()});
  return set;
}

const ParamSet<FeatureHasherParams>& hasher_params() {
  using P = FeatureHasherParams;
  static const ParamSet<P> set =
      ParamSet<P>(kHasher)
          .add("n_features", &P::n_features, between(1, 2147483647.0), "Columns that features are hashed to.")
          .add("input_type", &P::input_type, {"dict"}, "A row is a dictionary of its columns.")
          .add("alternate_sign", &P::alternate_sign,
               "Count half of the features downwards, so that collisions cancel out.")
          .ignore("dtype", "float64", {string_form()});
  return set;
}

// The cells of samples, and what each is a feature of: by(column, category) is asked once for each category, and once
// for a column of numbers, with no category.
struct Cells {
  std::vector<double> values;   // row after row; of a nominal column positions of categories; NaN: no key
  std::vector<Feature> columns;

  std::string name(std::size_t column, std::size_t category, const std::string& separator) const {
    const Feature& feature = columns[column];
    return feature.is_nominal ? feature.name + separator + feature.categories[category] : feature.name;
  }
  std::size_t kinds(std::size_t column) const {
    return columns[column].is_nominal ? columns[column].categories.size() : 1;
  }
  std::size_t category(std::size_t cell) const {
    return columns[cell % columns.size()].is_nominal ? static_cast<std::size_t>(values[cell]) : 0;
  }
  double value(std::size_t cell) const { return columns[cell % columns.size()].is_nominal ? 1.0 : values[cell]; }
};

template <class T>
Cells cells_of(const Context& ctx, const Samples<T>& X) {
  return {.values = host_values(ctx, X), .columns = features_of(*X.table)};
}

struct Entry {
  std::int32_t column;
  double value;
};

// Rows of entries, each row by column, with equal columns added up in the order of the cells. place(cell): an Entry,
// whose column is kNowhere for a cell that is left out.
template <class T, class Place>
text::HostRows<T> rows_of(const Context& ctx, const Cells& cells, std::int64_t n_columns, Place place) {
  constexpr std::size_t kBetween = 65536;   // rows from one look at the stop token to the next
  text::HostRows<T> rows{.cols = n_columns};
  const std::size_t d = cells.columns.size(), n = d == 0 ? 0 : cells.values.size() / d;
  std::vector<Entry> row;
  for (std::size_t i = 0; i < n; ++i) {
    if (i % kBetween == 0) ctx.check_stop();
    row.clear();
    for (std::size_t cell = i * d; cell < (i + 1) * d; ++cell) {
      if (std::isnan(cells.values[cell])) continue;
      if (const Entry entry = place(cell); entry.column != kNowhere) row.push_back(entry);
    }
    std::ranges::stable_sort(row, {}, &Entry::column);
    for (std::size_t e = 0; e < row.size();) {
      double sum = 0;
      const std::int32_t column = row[e].column;
      for (; e < row.size() && row[e].column == column; ++e) sum += row[e].value;
      rows.columns.push_back(column), rows.values.push_back(static_cast<T>(sum));
    }
    rows.offsets.push_back(static_cast<std::int64_t>(rows.columns.size()));
  }
  return rows;
}

// What a vectoriser of every cell holds; cols: of its result, at most.
MemoryNeed entries_need(const SampleShape& X, std::int64_t cols, bool is_sparse) {
  const std::int64_t entries = X.rows * X.cols, row_bytes = entries * (X.value_bytes + 4) + (X.rows + 1) * 8;
  MemoryNeed need = memory::makes(X, cols, X.value_size() + memory::doubles(X) + 2 * row_bytes);
  need.out.entries = is_sparse ? entries : -1;
  need.out.features.clear(), need.out.in_place = true;
  need.made = need.out.value_size();
  need.is_exact = false;
  return need;
}

}   // namespace

template <class T>
DictVectorizer<T>::DictVectorizer(const schema::ValueMap& params) : params_(dict_params().parse(params)) {}

template <class T>
schema::EstimatorInfo DictVectorizer<T>::info() {
  return {
      .name = kDict,
      .kind = "transformer",
      .family = "feature_extraction",
      .doc =
          "Turn each row, a dictionary of its columns, into a sparse row: numbers as they are, a column for each category.",
      .params = dict_params().infos(),
      .attributes = {"feature_names_", "vocabulary_"},
      .deviations = {
          "Takes a table: each row is a dictionary of the names of its columns. A missing cell is a key that the "
          "dictionary lacks.",
          "A result lists a vocabulary_ of at most 262,144 features, and is null for a larger one; a model has all.",
          "Values have the type of the job's table, whatever dtype says. A cell holds no list and no dictionary."}};
}

// Each category of a column may be a column; a sparse result has an entry for each cell.
template <class T>
MemoryNeed DictVectorizer<T>::memory(const SampleShape& X, const schema::Step& step) {
  std::int64_t cols = X.cols;
  for (const Feature& feature : X.features)
    if (feature.is_nominal) cols += static_cast<std::int64_t>(feature.categories.size());
  return entries_need(X, std::min(cols, memory::kMost - 1), memory::flag(step, "sparse"));
}

template <class T>
void DictVectorizer<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kDict, X);
  ctx.check_stop();
  const Cells cells = cells_of(ctx, X);
  const std::size_t d = cells.columns.size();
  std::vector<std::vector<char>> is_known(d);
  for (std::size_t j = 0; j < d; ++j) is_known[j].assign(cells.kinds(j), 0);
  std::unordered_map<std::string, std::int32_t> places;   // two columns may give the same name
  names_.clear(), n_features_ = X.n_cols();
  for (std::size_t cell = 0; cell < cells.values.size(); ++cell) {
    if (std::isnan(cells.values[cell])) continue;
    const std::size_t j = cell % d, category = cells.category(cell);
    if (std::exchange(is_known[j][category], 1)) continue;
    std::string name = cells.name(j, category, params_.separator);
    if (places.emplace(name, 0).second) names_.push_back(std::move(name));
  }
  require(!names_.empty(), ErrorCode::kBadData, "{}: no cell has a value", kDict);
  require(static_cast<std::int64_t>(names_.size()) < memory::kMost, ErrorCode::kBadData, "{}: {} features are too many",
          kDict, names_.size());
  if (params_.sort) std::ranges::sort(names_);
  if (static_cast<std::int64_t>(names_.size()) > kMostListed)
    ctx.warn(
        fmt::format("{}: vocabulary_ has {} features, a result lists at most {}", kDict, names_.size(), kMostListed));
}

template <class T>
Samples<T> DictVectorizer<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kDict, X, static_cast<std::size_t>(n_features_));
  ctx.check_stop();
  const Cells cells = cells_of(ctx, X);
  const std::size_t d = cells.columns.size();
  std::unordered_map<std::string, std::int32_t> places;
  for (std::size_t i = 0; i < names_.size(); ++i) places.emplace(names_[i], static_cast<std::int32_t>(i));
  std::vector<std::vector<std::int32_t>> of_column(d);
  for (std::size_t j = 0; j < d; ++j)
    for (std::size_t category = 0; category < cells.kinds(j); ++category) {
      const auto found = places.find(cells.name(j, category, params_.separator));
      of_column[j].push_back(found == places.end() ? kNowhere : found->second);
    }
  const auto n_columns = static_cast<std::int64_t>(names_.size());
  const text::HostRows<T> rows = rows_of<T>(ctx, cells, n_columns, [&](std::size_t cell) {
    return Entry{of_column[cell % d][cells.category(cell)], cells.value(cell)};
  });
  Samples<T> made = samples_of(rows.to_device(ctx));
  return params_.sparse ? made : samples_of(std::move(densified(ctx, kDict, made).table->X));
}

template <class T>
schema::ValueMap DictVectorizer<T>::attributes() const {
  if (static_cast<std::int64_t>(names_.size()) > kMostListed)
    return {{"feature_names_", Value()}, {"vocabulary_", Value()}};
  schema::ValueMap places;
  for (std::size_t i = 0; i < names_.size(); ++i) places.emplace_back(names_[i], static_cast<std::int64_t>(i));
  return {{"feature_names_", schema::ValueList(names_.begin(), names_.end())}, {"vocabulary_", std::move(places)}};
}

template <class T>
void DictVectorizer<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.field("names", names_);
  archive.expect(!names_.empty(), "names", "is empty");
}

template <class T>
FeatureHasher<T>::FeatureHasher(const schema::ValueMap& params) : params_(hasher_params().parse(params)) {}

template <class T>
schema::EstimatorInfo FeatureHasher<T>::info() {
  return {
      .name = kHasher,
      .kind = "transformer",
      .family = "feature_extraction",
      .doc =
          "Turn each row, a dictionary of its columns, into a sparse row, whose columns hashes of the features name.",
      .params = hasher_params().infos(),
      .attributes = {},
      .deviations = {
          "Takes a table: each row is a dictionary of the names of its columns (input_type \"dict\"). A missing cell is a "
          "key that the dictionary lacks.",
          "Values have the type of the job's table, whatever dtype says."}};
}

template <class T>
MemoryNeed FeatureHasher<T>::memory(const SampleShape& X, const schema::Step& step) {
  return entries_need(X, memory::integer(step, "n_features"), true);
}

template <class T>
void FeatureHasher<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kHasher, X);
  ctx.check_stop();
  n_features_in_ = X.n_cols();
}

template <class T>
Samples<T> FeatureHasher<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kHasher, X, static_cast<std::size_t>(n_features_in_));
  ctx.check_stop();
  const Cells cells = cells_of(ctx, X);
  const std::size_t d = cells.columns.size();
  std::vector<std::vector<Entry>> of_column(d);   // value: the sign
  for (std::size_t j = 0; j < d; ++j)
    for (std::size_t category = 0; category < cells.kinds(j); ++category) {
      const std::int32_t hash = text::murmur_hash(cells.name(j, category, "="), 0);
      of_column[j].push_back(
          {text::hashed_column(hash, params_.n_features), params_.alternate_sign && hash < 0 ? -1.0 : 1.0});
    }
  const text::HostRows<T> rows = rows_of<T>(ctx, cells, params_.n_features, [&](std::size_t cell) {
    Entry entry = of_column[cell % d][cells.category(cell)];
    entry.value *= cells.value(cell);
    if (entry.value == 0) entry.column = kNowhere;   // as there
    return entry;
  });
  return samples_of(rows.to_device(ctx));
}

template <class T>
void FeatureHasher<T>::state(StateArchive& archive) {
  archive.features(n_features_in_);
}

template class DictVectorizer<float>;
template class DictVectorizer<double>;
template class FeatureHasher<float>;
template class FeatureHasher<double>;

}   // namespace kedge::engine
