// How the stored values of a column become the values that a job computes with.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace kedge::engine {

// A value: at most one of `by_code` and `codes` is set. `verdict`, if set, has the last word: 1 or 0 for a value that
// meets a condition or not. Equal texts mean equal verdicts.
struct CellMap {
  std::vector<double> by_code = {};   // of a nominal column: what each category becomes; NaN: a missing cell
  std::vector<double> missing = {};   // of a numeric column: numbers that stand for a missing cell, ascending
  std::vector<double> codes = {};     // of numbers that become categories: the distinct ones, ascending; the place is the code

  std::string condition = {};
  std::function<double(double)> verdict = {};

  double of(double stored) const { return verdict ? verdict(value(stored)) : value(stored); }

  double value(double stored) const {
    constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
    if (stored != stored) return stored;
    if (!by_code.empty()) {
      const bool is_code = stored >= 0 && stored < static_cast<double>(by_code.size());
      return is_code ? by_code[static_cast<std::size_t>(stored)] : kMissing;
    }
    if (std::binary_search(missing.begin(), missing.end(), stored)) return kMissing;
    if (codes.empty()) return stored;
    const auto found = std::lower_bound(codes.begin(), codes.end(), stored);
    return found != codes.end() && *found == stored ? static_cast<double>(found - codes.begin()) : kMissing;
  }

  friend bool operator==(const CellMap& a, const CellMap& b) {   // by bits: a NaN equals itself
    const auto same = [](const std::vector<double>& x, const std::vector<double>& y) {
      return std::ranges::equal(x, y, {}, std::bit_cast<std::uint64_t, double>, std::bit_cast<std::uint64_t, double>);
    };
    return same(a.by_code, b.by_code) && same(a.missing, b.missing) && same(a.codes, b.codes) &&
           a.condition == b.condition;
  }
};

// Shared, because a column, the selection of a job and the table that is kept warm all hold it; never changed once made.
struct CellMapRef {
  std::shared_ptr<const CellMap> map = {};   // null: values are taken as they are stored

  double of(double stored) const { return map ? map->of(stored) : stored; }
  explicit operator bool() const { return map != nullptr; }
  friend bool operator==(const CellMapRef& a, const CellMapRef& b) {
    return a.map == b.map || (a.map && b.map && *a.map == *b.map);
  }
};

}  // namespace kedge::engine
