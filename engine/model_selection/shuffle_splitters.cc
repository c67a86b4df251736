// ShuffleSplit, StratifiedShuffleSplit and train_test_split: sizes and draws (sklearn/model_selection/_split.py).
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "engine/core/legacy_random.h"
#include "engine/core/stop.h"
#include "engine/model_selection/split_checks.h"
#include "engine/model_selection/splitters.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

std::string text_of(const SplitSize& size) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, size);
}

// Rows that a size stands for; a fraction is rounded by `round`.
std::int64_t rows_of(const SplitSize& size, std::int64_t n_samples, double (*round)(double), const char* name,
                     const std::string& path) {
  if (const auto* fraction = std::get_if<double>(&size)) {
    require_split(*fraction > 0 && *fraction < 1, ErrorCode::kInvalidValue, path,
                  "{} is {}, must be a fraction between 0 and 1 or a whole number of rows", name, *fraction);
    return static_cast<std::int64_t>(round(*fraction * static_cast<double>(n_samples)));
  }
  const std::int64_t rows = std::get<std::int64_t>(size);
  require_split(rows >= 1, ErrorCode::kInvalidValue, path, "{} is {}, must be at least 1 row or a fraction between 0 and 1", name, rows);
  require_split(rows < n_samples, ErrorCode::kBadData, path, "{} is {}, must be below the {} rows of the data", name, rows, n_samples);
  return rows;
}

double fraction_of(const std::optional<SplitSize>& size) {
  const auto* fraction = size ? std::get_if<double>(&*size) : nullptr;
  return fraction ? *fraction : 0.0;
}

// How many of n_draws rows each class gives: the mode of the multivariate hypergeometric distribution, ties drawn at random.
std::vector<std::int64_t> approximate_mode(const std::vector<std::int64_t>& counts, std::int64_t n_draws, LegacyRandom& random) {
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

void require_divisible(const std::vector<std::int64_t>& counts, const SplitCounts& parts) {
  const auto n_classes = static_cast<std::int64_t>(counts.size());
  require(*std::min_element(counts.begin(), counts.end()) >= 2, ErrorCode::kBadData,
          "stratify: a class has only 1 member, at least 2 are needed to have one in each part");
  require(parts.train >= n_classes, ErrorCode::kBadData, "stratify: the train part has {} rows, fewer than the {} classes",
          parts.train, n_classes);
  require(parts.test >= n_classes, ErrorCode::kBadData, "stratify: the test part has {} rows, fewer than the {} classes",
          parts.test, n_classes);
}

// Rows of each class that occurs, ascending.
using Members = std::vector<std::vector<std::int32_t>>;

Members members_of(std::span<const std::int32_t> codes, std::int32_t n_classes) {
  Members members(static_cast<std::size_t>(n_classes));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    members[static_cast<std::size_t>(codes[i])].push_back(static_cast<std::int32_t>(i));
  }
  std::erase_if(members, [](const auto& rows) { return rows.empty(); });
  return members;
}

Split draw_shuffled(std::int64_t n_samples, const SplitCounts& counts, LegacyRandom& random) {
  const std::vector<std::int64_t> order = random.permutation(n_samples);
  const auto test_end = order.begin() + counts.test;
  return {.train = {test_end, test_end + counts.train}, .test = {order.begin(), test_end}};
}

Split draw_stratified(const Members& members, const SplitCounts& counts, LegacyRandom& random) {
  std::vector<std::int64_t> sizes;
  for (const auto& rows : members) sizes.push_back(static_cast<std::int64_t>(rows.size()));
  require_divisible(sizes, counts);
  const std::vector<std::int64_t> to_train = approximate_mode(sizes, counts.train, random);
  for (std::size_t c = 0; c < sizes.size(); ++c) sizes[c] -= to_train[c];
  const std::vector<std::int64_t> to_test = approximate_mode(sizes, counts.test, random);
  Split split;
  for (std::size_t c = 0; c < members.size(); ++c) {
    const std::vector<std::int64_t> order = random.permutation(static_cast<std::int64_t>(members[c].size()));
    for (std::int64_t i = 0; i < to_train[c] + to_test[c]; ++i) {
      const std::int32_t row = members[c][static_cast<std::size_t>(order[static_cast<std::size_t>(i)])];
      (i < to_train[c] ? split.train : split.test).push_back(row);
    }
  }
  split.train = shuffled(split.train, random);
  split.test = shuffled(split.test, random);
  return split;
}

}  // namespace

SplitCounts split_counts(std::int64_t n_samples, const SplitSizes& sizes) {
  const std::string test_path = std::string(sizes.task) + ".testSize", train_path = std::string(sizes.task) + ".trainSize";
  const std::optional<SplitSize> test = sizes.test || sizes.train ? sizes.test : SplitSize(sizes.default_test);
  SplitCounts counts;
  if (test) counts.test = rows_of(*test, n_samples, std::ceil, "testSize", test_path);
  if (sizes.train) counts.train = rows_of(*sizes.train, n_samples, std::floor, "trainSize", train_path);
  const double fractions = fraction_of(test) + fraction_of(sizes.train);
  require_split(fractions <= 1, ErrorCode::kInvalidValue, train_path, "testSize and trainSize are {} together, must be at most 1",
                fractions);
  if (!sizes.train) counts.train = n_samples - counts.test;
  if (!test) counts.test = n_samples - counts.train;
  require_split(counts.train + counts.test <= n_samples, ErrorCode::kBadData, train_path,
                "testSize and trainSize ask for {} rows, the data have {}", counts.train + counts.test, n_samples);
  require_split(counts.train > 0, ErrorCode::kBadData, test_path, "with {} rows and testSize {} nothing is left to train on",
                n_samples, test ? text_of(*test) : "unset");
  return counts;
}

SplitCounts split_counts(std::int64_t n_samples, const std::optional<SplitSize>& test_size,
                         const std::optional<SplitSize>& train_size) {
  return split_counts(n_samples, SplitSizes{.test = test_size, .train = train_size});
}

std::vector<Split> shuffle_split(std::int64_t n_samples, std::int64_t n_splits, const SplitCounts& counts, std::uint32_t seed) {
  require_splits(n_splits, 1);
  LegacyRandom random(seed);
  std::vector<Split> splits;
  for (std::int64_t k = 0; k < n_splits; ++k) {
    check_job_stop();
    splits.push_back(draw_shuffled(n_samples, counts, random));
  }
  return splits;
}

std::vector<Split> stratified_shuffle_split(std::span<const std::int32_t> codes, std::int32_t n_classes, std::int64_t n_splits,
                                            const SplitCounts& counts, std::uint32_t seed) {
  require_splits(n_splits, 1);
  const Members members = members_of(codes, n_classes);
  LegacyRandom random(seed);
  std::vector<Split> splits;
  for (std::int64_t k = 0; k < n_splits; ++k) {
    check_job_stop();
    splits.push_back(draw_stratified(members, counts, random));
  }
  return splits;
}

Split ordered_split(const SplitCounts& counts) {
  Split split;
  for (std::int64_t i = 0; i < counts.train; ++i) split.train.push_back(static_cast<std::int32_t>(i));
  for (std::int64_t i = 0; i < counts.test; ++i) split.test.push_back(static_cast<std::int32_t>(counts.train + i));
  return split;
}

Split shuffled_split(std::int64_t n_samples, const SplitCounts& counts, std::uint32_t seed) {
  return shuffle_split(n_samples, 1, counts, seed).front();
}

Split stratified_split(std::span<const std::int32_t> codes, std::int32_t n_classes, const SplitCounts& counts,
                       std::uint32_t seed) {
  return stratified_shuffle_split(codes, n_classes, 1, counts, seed).front();
}

}  // namespace kedge::engine
