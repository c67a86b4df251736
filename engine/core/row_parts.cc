// Draws rows in two parts (sklearn/model_selection/_split.py).
#include "engine/core/row_parts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

// How many of n_draws rows each class gives: the mode of the multivariate hypergeometric distribution, ties drawn at
// random.
std::vector<std::int64_t> approximate_mode(const std::vector<std::int64_t>& counts, std::int64_t n_draws,
                                           LegacyRandom& random) {
  double total = 0;
  for (std::int64_t count : counts) total += static_cast<double>(count);
  std::vector<double> remainder(counts.size());
  std::vector<std::int64_t> drawn(counts.size());
  std::int64_t missing = n_draws;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const double exact = static_cast<double>(counts[c]) / total * static_cast<double>(n_draws);
    drawn[c] = static_cast<std::int64_t>(std::floor(exact));
    remainder[c] = exact - std::floor(exact);
    missing -= drawn[c];
  }
  const std::set<double, std::greater<>> values(remainder.begin(), remainder.end());
  for (auto value = values.begin(); value != values.end() && missing > 0; ++value) {
    std::vector<std::size_t> tied;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      if (remainder[c] == *value) tied.push_back(c);
    }
    const std::vector<std::int64_t> order = random.permutation(static_cast<std::int64_t>(tied.size()));
    const std::int64_t add = std::min<std::int64_t>(static_cast<std::int64_t>(tied.size()), missing);
    for (std::int64_t i = 0; i < add; ++i) ++drawn[tied[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]];
    missing -= add;
  }
  return drawn;
}

std::vector<std::int32_t> shuffled(const std::vector<std::int32_t>& rows, LegacyRandom& random) {
  std::vector<std::int32_t> result = rows;
  random.shuffle(std::span(result));
  return result;
}

void require_divisible(const std::vector<std::int64_t>& counts, std::int64_t train, std::int64_t test) {
  const auto n_classes = static_cast<std::int64_t>(counts.size());
  require(*std::min_element(counts.begin(), counts.end()) >= 2, ErrorCode::kBadData,
          "stratify: a class has only 1 member, at least 2 are needed to have one in each part");
  require(train >= n_classes, ErrorCode::kBadData, "stratify: the train part has {} rows, fewer than the {} classes",
          train, n_classes);
  require(test >= n_classes, ErrorCode::kBadData, "stratify: the test part has {} rows, fewer than the {} classes",
          test, n_classes);
}

}   // namespace

ClassMembers class_members(std::span<const std::int32_t> codes, std::int32_t n_classes) {
  ClassMembers members(static_cast<std::size_t>(n_classes));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    members[static_cast<std::size_t>(codes[i])].push_back(static_cast<std::int32_t>(i));
  }
  std::erase_if(members, [](const auto& rows) { return rows.empty(); });
  return members;
}

RowParts draw_parts(std::int64_t n_samples, std::int64_t train, std::int64_t test, LegacyRandom& random) {
  const std::vector<std::int64_t> order = random.permutation(n_samples);
  const auto test_end = order.begin() + test;
  return {.train = {test_end, test_end + train}, .test = {order.begin(), test_end}};
}

RowParts draw_stratified_parts(const ClassMembers& members, std::int64_t train, std::int64_t test,
                               LegacyRandom& random) {
  std::vector<std::int64_t> sizes;
  for (const auto& rows : members) sizes.push_back(static_cast<std::int64_t>(rows.size()));
  require_divisible(sizes, train, test);
  const std::vector<std::int64_t> to_train = approximate_mode(sizes, train, random);
  for (std::size_t c = 0; c < sizes.size(); ++c) sizes[c] -= to_train[c];
  const std::vector<std::int64_t> to_test = approximate_mode(sizes, test, random);
  RowParts parts;
  for (std::size_t c = 0; c < members.size(); ++c) {
    const std::vector<std::int64_t> order = random.permutation(static_cast<std::int64_t>(members[c].size()));
    for (std::int64_t i = 0; i < to_train[c] + to_test[c]; ++i) {
      const std::int32_t row = members[c][static_cast<std::size_t>(order[static_cast<std::size_t>(i)])];
      (i < to_train[c] ? parts.train : parts.test).push_back(row);
    }
  }
  parts.train = shuffled(parts.train, random);
  parts.test = shuffled(parts.test, random);
  return parts;
}

}   // namespace kedge::engine
