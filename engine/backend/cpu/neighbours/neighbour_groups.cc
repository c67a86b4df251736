// Neighbours of all rows among those of other groups, as the folds of a cross-validation need them.
#include "engine/backend/cpu/neighbours/neighbour_groups.h"

#include <algorithm>
#include <numeric>

#include "engine/backend/cpu/neighbours/left_over.h"
#include "engine/backend/cpu/wide/byte_scan.h"
#include "engine/backend/raw.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kSpare = 128, kEntry = 8;   // of a shortlist, in addition to twice its k; bytes

// The shortlists of all rows take the room that points gathered for each group would, or little.
template <class T>
bool is_affordable(MatrixView<const T> X, int k) {
  constexpr std::int64_t kLittle = std::int64_t{16} << 20, kMost = std::int64_t{256} << 20;
  const std::int64_t gathered = X.rows * X.cols * static_cast<std::int64_t>(sizeof(T));
  return X.rows * (2 * std::int64_t{k} + kSpare) * kEntry <= std::clamp(gathered, kLittle, kMost);
}

std::vector<std::int32_t> by_group(std::span<const std::int32_t> groups) {
  std::vector<std::int32_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int32_t i) { return groups[static_cast<std::size_t>(i)]; });
  return order;
}

std::int64_t largest_group(std::span<const std::int32_t> groups, const std::vector<std::int32_t>& order) {
  const auto group = [&](std::size_t place) { return groups[static_cast<std::size_t>(order[place])]; };
  std::size_t largest = 0;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && group(end) == group(begin)) ++end;
    largest = std::max(largest, end - begin);
  }
  return static_cast<std::int64_t>(largest);
}

template <class T>
std::vector<T> rows_of(MatrixView<const T> X, const std::vector<std::int32_t>& rows) {
  std::vector<T> some;
  for (const std::int32_t row : rows)
    some.insert(some.end(), raw(X) + row * X.stride, raw(X) + row * X.stride + X.cols);
  return some;
}

}   // namespace

template <class T>
bool nearest_of_others(NeighbourOps<T>& ops, MatrixView<const T> X, std::span<const std::int32_t> groups, int k,
                       const std::function<void()>& pause, MatrixView<std::int32_t> indices, MatrixView<T> squared) {
  require(static_cast<std::int64_t>(groups.size()) == X.rows, schema::ErrorCode::kInternal,
          "nearest_of_others: {} groups of {} rows", groups.size(), X.rows);
  if (!is_affordable(X, k)) return false;
  const std::vector<std::int32_t> order = by_group(groups);
  const std::int64_t most = X.rows - largest_group(groups, order);
  require(k >= 1 && k <= most, schema::ErrorCode::kInvalidValue, "nearest_of_others: k is {}, must be 1 to {}", k, most);
  const auto bytes = ByteScan<T>::make(X, order);
  if (!bytes || !bytes->is_useful(X, k)) return false;
  std::vector<std::int64_t> left = bytes->nearest_of_others(groups, k, pause, indices, squared);
  while (!left.empty()) {   // those of one group after the other, as if they were searched alone
    const std::int32_t group = groups[static_cast<std::size_t>(left.front())];
    const auto is_other = [&](std::int64_t i) { return groups[static_cast<std::size_t>(i)] != group; };
    std::vector<std::int32_t> others;
    std::ranges::copy_if(order, std::back_inserter(others), is_other);
    std::ranges::sort(others);
    const auto rest = std::ranges::stable_partition(left, [&](std::int64_t i) { return !is_other(i); });
    const std::vector<T> points = rows_of(X, others);
    pause();
    answer_left_over(X, {left.begin(), rest.begin()}, indices, squared,
                     [&](MatrixView<const T> some, MatrixView<std::int32_t> found, MatrixView<T> s) {
                       ops.nearest(
                           some,
                           MatrixView<const T>(points.data(), static_cast<std::int64_t>(others.size()), X.cols, X.cols),
                           k, found, s);
                       for (std::int64_t i = 0; i < found.rows; ++i)
                         for (std::int64_t j = 0; j < k; ++j) {
                           std::int32_t& index = raw(found)[i * found.stride + j];
                           if (index >= 0) index = others[static_cast<std::size_t>(index)];
                         }
                     });
    left.erase(left.begin(), rest.begin());
  }
  return true;
}

template bool nearest_of_others(NeighbourOps<float>&, MatrixView<const float>, std::span<const std::int32_t>, int,
                                const std::function<void()>&, MatrixView<std::int32_t>, MatrixView<float>);
template bool nearest_of_others(NeighbourOps<double>&, MatrixView<const double>, std::span<const std::int32_t>, int,
                                const std::function<void()>&, MatrixView<std::int32_t>, MatrixView<double>);

}   // namespace kedge::engine
