// Finds and translates categories, and resolves the constraints of columns.
#include "engine/estimators/boosting/hist_columns.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "engine/backend/host/boost_table.h"
#include "engine/core/host_view.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Value;

template <class T>
std::int64_t column_named(const char* owner, const char* param, const Value& given, const std::string& name,
                          const Samples<T>& X) {
  const std::vector<Feature> features = features_of(*X.table);
  const auto found = std::ranges::find(features, name, &Feature::name);
  if (found == features.end()) refuse_param(owner, param, given, "but there is no column \"" + name + "\"");
  return found - features.begin();
}

template <class T>
bool is_nominal(const Samples<T>& X, std::int64_t column) {
  return !X.table->features.empty() && X.table->features[static_cast<std::size_t>(column)].is_nominal;
}

// Positions of the categories that occur, in the table's order.
template <class T>
std::vector<std::string> names_of(MatrixView<const T> rows, const Samples<T>& X, std::int64_t column) {
  std::vector<std::string> names;
  for (const double code : distinct_values(rows, column))
    names.push_back(X.table->features[static_cast<std::size_t>(column)].categories[static_cast<std::size_t>(code)]);
  std::ranges::sort(names);
  return names;
}

}   // namespace

template <class T>
std::vector<std::uint8_t> category_mask(const char* owner, const Value& given, const Samples<T>& X) {
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(X.n_cols()));
  const auto* list = std::get_if<schema::ValueList>(&given.data);
  if (std::holds_alternative<std::string>(given.data))
    for (std::size_t j = 0; j < mask.size(); ++j) mask[j] = is_nominal(X, static_cast<std::int64_t>(j));
  std::vector<Value> items = list ? *list : schema::ValueList{};
  if (const auto* flat = std::get_if<std::vector<double>>(&given.data))
    for (const double number : *flat) items.emplace_back(static_cast<std::int64_t>(number));
  const bool are_flags = !items.empty() && std::holds_alternative<bool>(items[0].data);
  if (are_flags && items.size() != mask.size())
    refuse_param(owner, "categorical_features", given,
                 "must have a flag for each of the " + std::to_string(mask.size()) + " columns");
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto* flag = std::get_if<bool>(&items[i].data);
    if ((flag != nullptr) != are_flags)
      refuse_param(owner, "categorical_features", given, "must be flags, positions or names alone");
    if (flag) mask[i] = *flag;
    else if (const auto* name = std::get_if<std::string>(&items[i].data))
      mask[static_cast<std::size_t>(column_named(owner, "categorical_features", given, *name, X))] = 1;
    else if (const auto position = std::get<std::int64_t>(items[i].data); position < X.n_cols())
      mask[static_cast<std::size_t>(position)] = 1;
    else
      refuse_param(owner, "categorical_features", given,
                   "must be below the " + std::to_string(mask.size()) + " columns");
  }
  for (std::size_t j = 0; j < mask.size(); ++j)
    require(mask[j] || !is_nominal(X, static_cast<std::int64_t>(j)), ErrorCode::kBadData,
            "{}: column {} is nominal, and categorical_features does not name it: name it, or leave \"from_dtype\"",
            owner, X.table->column_label(static_cast<std::int64_t>(j)));
  return mask;
}

template <class T>
MatrixView<const T> HistRows<T>::host() {
  if (is_on_host_) return host_;
  is_on_host_ = true, host_ = values_;
  if (ctx_.device.traits().uses_host_memory || values_.size() == 0) return host_;
  copy_.resize(static_cast<std::size_t>((values_.rows - 1) * values_.stride + values_.cols));
  ctx_.memory().to_host(copy_.data(), values_.data, copy_.size() * sizeof(T));
  return host_ = MatrixView<const T>(copy_.data(), values_.rows, values_.cols, values_.stride);
}

// Codes of the table become places among the fitted names.
template <class T>
void HistRows<T>::translate(const Samples<T>& X, const HistCategories& categories) {
  std::vector<T> made;
  for (std::int64_t j = 0; j < X.n_cols(); ++j) {
    if (!is_nominal(X, j)) continue;
    const std::vector<std::string>& names = categories.names[static_cast<std::size_t>(j)];
    const std::vector<std::string>& own = X.table->features[static_cast<std::size_t>(j)].categories;
    std::vector<T> place(own.size(), std::numeric_limits<T>::quiet_NaN());
    for (std::size_t c = 0; c < own.size(); ++c)
      if (const auto at = std::ranges::lower_bound(names, own[c]); at != names.end() && *at == own[c])
        place[c] = static_cast<T>(at - names.begin());
    const HostMatrix<const T> rows = host_view(host());
    if (made.empty())
      for (std::int64_t i = 0; i < values_.rows; ++i) made.insert(made.end(), rows.row(i).begin(), rows.row(i).end());
    for (std::int64_t i = 0; i < values_.rows; ++i) {
      T& cell = made[static_cast<std::size_t>(i * values_.cols + j)];
      if (cell == cell) cell = place[static_cast<std::size_t>(cell)];
    }
  }
  if (made.empty()) return;
  copy_ = std::move(made);
  host_ = MatrixView<const T>(copy_.data(), X.n_rows(), X.n_cols(), X.n_cols());
}

template <class T>
HistRows<T>::HistRows(const Context& ctx, const char* owner, const Samples<T>& X, std::vector<std::uint8_t> mask,
                      std::int64_t max_bins, HistCategories& found)
    : ctx_(ctx), values_(X.values(ctx, scratch_)) {
  found = {.is_category = std::move(mask), .names = {}, .numbers = {}};
  found.names.resize(found.is_category.size()), found.numbers.resize(found.is_category.size());
  for (std::int64_t j = 0; j < X.n_cols(); ++j) {
    const auto at = static_cast<std::size_t>(j);
    if (!found.is_category[at]) continue;
    ctx.check_stop();
    if (is_nominal(X, j)) {
      found.names[at] = names_of(host(), X, j);
      found.numbers[at].resize(found.names[at].size());
      std::iota(found.numbers[at].begin(), found.numbers[at].end(), 0.0);
    } else {
      found.numbers[at] = distinct_values(host(), j);
    }
    require(static_cast<std::int64_t>(found.numbers[at].size()) <= max_bins, ErrorCode::kBadData,
            "{}: column {} has {} categories, at most max_bins = {} are possible", owner, X.table->column_label(j),
            found.numbers[at].size(), max_bins);
  }
  translate(X, found);
}

template <class T>
void require_nominal(const char* owner, const Samples<T>& X, const HistCategories& fitted) {
  for (std::int64_t j = 0; j < X.n_cols(); ++j)
    require(is_nominal(X, j) == fitted.is_nominal(j), ErrorCode::kBadData, "{}: column {} is {}, was {} in the fit",
            owner, X.table->column_label(j), is_nominal(X, j) ? "nominal" : "numeric",
            fitted.is_nominal(j) ? "nominal" : "numeric");
}

template <class T>
HistRows<T>::HistRows(const Context& ctx, const char* owner, const Samples<T>& X, const HistCategories& fitted)
    : ctx_(ctx) {
  require_nominal(owner, X, fitted);
  values_ = X.values(ctx, scratch_);
  translate(X, fitted);
}

template <class T>
std::vector<std::int8_t> monotonic_signs(const char* owner, const Value& given, const Samples<T>& X,
                                         const HistCategories& categories) {
  std::vector<std::int8_t> signs(static_cast<std::size_t>(X.n_cols()));
  if (const auto* by_name = std::get_if<schema::ValueMap>(&given.data)) {
    for (const auto& [name, sign] : *by_name)
      signs[static_cast<std::size_t>(column_named(owner, "monotonic_cst", given, name, X))] =
          static_cast<std::int8_t>(std::get<std::int64_t>(sign.data));
  } else if (const auto numbers = numbers_of(given)) {
    if (numbers->size() != signs.size())
      refuse_param(owner, "monotonic_cst", given,
                   "must have a number for each of the " + std::to_string(signs.size()) + " columns");
    std::ranges::transform(*numbers, signs.begin(), [](double sign) { return static_cast<std::int8_t>(sign); });
  }
  if (std::ranges::count(signs, 0) == std::ssize(signs)) return {};
  for (std::size_t j = 0; j < signs.size(); ++j)
    if (signs[j] != 0 && categories.is_category[j])
      refuse_param(
          owner, "monotonic_cst", given,
          "but column " + X.table->column_label(static_cast<std::int64_t>(j)) + " has categories, which have no order");
  return signs;
}

std::vector<std::vector<std::int32_t>> interaction_sets(const char* owner, const Value& given, std::int64_t n_cols) {
  std::vector<std::vector<std::int32_t>> sets;
  const auto n = static_cast<std::int32_t>(n_cols);
  if (const auto* rule = std::get_if<std::string>(&given.data)) {
    constexpr std::int32_t kMostPairs = 1000;
    if (*rule == "pairwise" && n > kMostPairs)
      refuse_param(owner, "interaction_cst", given, "is possible up to 1000 columns");
    for (std::int32_t i = 0; i < n; ++i) {
      if (*rule != "pairwise" || n == 1) sets.push_back({i});
      else
        for (std::int32_t j = i + 1; j < n; ++j) sets.push_back({i, j});
    }
    return sets;
  }
  const auto* lists = std::get_if<schema::ValueList>(&given.data);
  if (!lists) return sets;
  std::vector<std::int32_t> rest(static_cast<std::size_t>(n));
  std::iota(rest.begin(), rest.end(), 0);
  for (const Value& list : *lists) {
    sets.emplace_back();
    for (const double column : numbers_of(list).value_or(std::vector<double>{})) {
      if (column >= n)
        refuse_param(owner, "interaction_cst", given, "must be below the " + std::to_string(n) + " columns");
      sets.back().push_back(static_cast<std::int32_t>(column));
      std::erase(rest, sets.back().back());
    }
  }
  if (!rest.empty()) sets.push_back(rest);
  return sets;
}

template std::vector<std::uint8_t> category_mask(const char*, const Value&, const Samples<float>&);
template std::vector<std::uint8_t> category_mask(const char*, const Value&, const Samples<double>&);
template std::vector<std::int8_t> monotonic_signs(const char*, const Value&, const Samples<float>&,
                                                  const HistCategories&);
template std::vector<std::int8_t> monotonic_signs(const char*, const Value&, const Samples<double>&,
                                                  const HistCategories&);
template void require_nominal(const char*, const Samples<float>&, const HistCategories&);
template void require_nominal(const char*, const Samples<double>&, const HistCategories&);
template class HistRows<float>;
template class HistRows<double>;

}   // namespace kedge::engine
