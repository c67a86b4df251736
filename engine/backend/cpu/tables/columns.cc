// Columns on the CPU: sorted, their quantiles, their moments without what is missing.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/backend/column_functors.h"
#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/cpu/tables/sort.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kColumnGroup = 8;   // columns read together: a cache line of doubles
constexpr std::int64_t kSortNs = 20;       // a number, sorted
constexpr std::int64_t kFewRanks = 8;      // beyond it, sorting beats selecting

// The numbers of columns [begin, end) without NaN, `room` for each, one column behind the other; how many in `present`.
template <class T>
void add_numbers(MatrixView<const T> X, VectorView<const std::int32_t> rows, Part of_rows, std::int64_t begin,
                 std::int64_t end, std::int64_t room, T* numbers, std::int64_t* present) {
  for (std::int64_t i = of_rows.begin; i < of_rows.end; ++i) {
    if (i % kRowTile == 0) check_job_stop();
    const T* const row = row_at(X, rows, i);
    for (std::int64_t j = begin; j < end; ++j)
      if (row[j] == row[j]) numbers[(j - begin) * room + present[j - begin]++] = row[j];
  }
}

// body(j, numbers, n) for each column: its numbers without NaN, which the body may reorder.
template <class T, class Body>
void for_columns(MatrixView<const T> X, VectorView<const std::int32_t> rows, Body&& body) {
  const std::int64_t n = selected(X, rows);
  for_tiles(X.cols, kColumnGroup, n * X.cols * kSortNs, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    std::vector<T> numbers(static_cast<std::size_t>((end - begin) * n));
    std::int64_t present[kColumnGroup] = {};
    add_numbers(X, rows, {0, n}, begin, end, n, numbers.data(), present);
    for (std::int64_t j = begin; j < end; ++j) {
      check_job_stop();
      body(j, numbers.data() + (j - begin) * n, present[j - begin]);
    }
  });
}

// What rank r finds in round `round`: columns of its own.
struct ColumnRounds {
  std::int64_t cols, width;   // of a round, at most
  int size;
  Part columns(int r, std::int64_t round) const {
    const Part own = part_of_rank(r, size, cols);
    return {std::min(own.end, own.begin + round * width), std::min(own.end, own.begin + (round + 1) * width)};
  }
  std::int64_t count() const { return ((cols + size - 1) / size + width - 1) / width; }
};

// The numbers of this rank's rows, in columns of one rank: how many, and then they, column after column.
template <class T>
void write_columns(MatrixView<const T> X, VectorView<const std::int32_t> rows, Part of_rows, Part columns,
                   PartedBytes& out) {
  const std::int64_t n = of_rows.size();
  std::vector<T> numbers(static_cast<std::size_t>(columns.size() * n));
  std::vector<std::int64_t> present(static_cast<std::size_t>(columns.size()), 0);
  for_tiles(columns.size(), kColumnGroup, n * columns.size(), [&](std::int64_t, std::int64_t from, std::int64_t to) {
    add_numbers(X, rows, of_rows, columns.begin + from, columns.begin + to, n, numbers.data() + from * n,
                present.data() + from);
  });
  ByteWriter part;
  for (std::int64_t j = 0; j < columns.size(); ++j) {
    part.number(present[static_cast<std::size_t>(j)]);
    part.append(numbers.data() + j * n, static_cast<std::size_t>(present[static_cast<std::size_t>(j)]) * sizeof(T));
  }
  out.add(part.bytes());
}

// body(j, numbers, n) for these columns, whose numbers ranks brought, each those of its rows.
template <class T, class Body>
void for_columns_of_ranks(const PartedBytes& parts, Part columns, const Body& body) {
  std::vector<std::vector<T>> numbers(static_cast<std::size_t>(columns.size()));
  for (int r = 0; r < parts.size(); ++r) {
    const std::byte* from = parts.part(r).data();
    for (std::vector<T>& column : numbers) {
      std::int64_t count = 0;
      std::memcpy(&count, from, sizeof count);
      const std::size_t before = column.size(), bytes = static_cast<std::size_t>(count) * sizeof(T);
      column.resize(before + static_cast<std::size_t>(count));
      if (bytes > 0) std::memcpy(column.data() + before, from + sizeof count, bytes);
      from += sizeof count + bytes;
    }
  }
  const auto n = numbers.empty() ? 0 : std::ssize(numbers.front());
  for_tiles(columns.size(), 1, n * columns.size() * kSortNs, [&](std::int64_t j, std::int64_t, std::int64_t) {
    check_job_stop();
    std::vector<T>& column = numbers[static_cast<std::size_t>(j)];
    body(columns.begin + j, column.data(), std::ssize(column));
  });
}

// for_columns() with the columns dealt over the ranks of the rows, of which each may have its own alone: it brings the
// numbers of these to the rank that finds what a column needs, some columns at a time. Every rank then gets what was
// found, `of_column` of each array for a column.
template <class T, class Body, class... R>
void deal_columns(MatrixView<const T> X, VectorView<const std::int32_t> rows, std::int64_t of_column, const Body& body,
                  R*... found) {
  constexpr std::int64_t kRoundBytes = std::int64_t{32} << 20;   // that a rank holds at a time
  const std::int64_t n = selected(X, rows);
  Ranks* const ranks = ranks_of_rows(n);
  if (!ranks) return for_columns(X, rows, body);
  const ColumnRounds rounds{X.cols, std::max<std::int64_t>(1, kRoundBytes / (n * static_cast<std::int64_t>(sizeof(T)))),
                            ranks->size()};
  PartedBytes parts;
  const auto find = [&](std::int64_t round) {
    if (round > 0) for_columns_of_ranks<T>(parts, rounds.columns(ranks->rank(), round - 1), body);
  };
  for (std::int64_t round = 0; round < rounds.count(); ++round) {
    parts = ranks->exchange([&] {
      find(round);
      PartedBytes out;
      for (int r = 0; r < ranks->size(); ++r) write_columns(X, rows, own_rows(ranks, n), rounds.columns(r, round), out);
      return out;
    });
  }
  const auto of_rank = [&](int r) {
    const Part part = part_of_rank(r, ranks->size(), X.cols);
    return Part{part.begin * of_column, part.end * of_column};
  };
  fill_on_ranks(*ranks, [&] { find(rounds.count()); }, of_rank, found...);
}

// The ranks that quantiles q of n numbers need, ascending, each once.
std::vector<std::int64_t> ranks_of(VectorView<const double> q, std::int64_t n) {
  std::vector<std::int64_t> ranks;
  for (std::int64_t i = 0; i < q.size; ++i) {
    const QuantilePlace place = quantile_place(raw(q)[i], n);
    ranks.push_back(place.below), ranks.push_back(place.above);
  }
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

// sum += w (x - origin) and count += w, over the columns of one row that are not NaN.
template <class T>
KEDGE_CLONES void add_present(const T* row, const double* origin, double w, std::int64_t cols, double* __restrict sum,
                              double* __restrict count) {
  for (std::int64_t j = 0; j < cols; ++j) {
    const bool here = row[j] == row[j];
    sum[j] += here ? w * (static_cast<double>(row[j]) - origin[j]) : 0.0;
    count[j] += here ? w : 0.0;
  }
}

template <class T>
KEDGE_CLONES void add_present_squares(const T* row, const double* mean, double w, std::int64_t cols, double* __restrict sum,
                                      double* __restrict squares) {
  for (std::int64_t j = 0; j < cols; ++j) {
    const double deviation = row[j] == row[j] ? static_cast<double>(row[j]) - mean[j] : 0.0, weighted = w * deviation;
    sum[j] += weighted;
    squares[j] += weighted * deviation;
  }
}

// The first number of each column that is not NaN, or NaN. Ranks look through their own rows.
template <class T>
std::vector<double> first_present(MatrixView<const T> X, VectorView<const std::int32_t> rows) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const std::int64_t n = selected(X, rows);
  const auto d = static_cast<std::size_t>(X.cols);
  Ranks* const ranks = ranks_of_rows(n);
  const auto find_own = [&] {
    std::vector<double> first(d, kNone);
    std::size_t missing = d;
    const Part own = own_rows(ranks, n);
    for (std::int64_t i = own.begin; i < own.end && missing > 0; ++i) {
      const T* const row = row_at(X, rows, i);
      for (std::size_t j = 0; j < d; ++j)
        if (std::isnan(first[j]) && !std::isnan(row[j])) first[j] = static_cast<double>(row[j]), --missing;
    }
    return first;
  };
  std::vector<double> first(d, kNone);
  const std::vector<double> of_ranks = parts_of_ranks<double>(ranks, find_own);
  for (std::size_t e = 0; e < of_ranks.size(); ++e)
    if (std::isnan(first[e % d])) first[e % d] = of_ranks[e];
  return first;
}

// In two passes, so that nothing is lost to a large mean.
template <class T>
double mean_of(const T* numbers, std::int64_t n) {
  double sum = 0, rest = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(numbers[i]);
  const double mean = sum / static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i) rest += static_cast<double>(numbers[i]) - mean;
  return mean + rest / static_cast<double>(n);
}

template <class T>
double median_of(T* numbers, std::int64_t n) {
  T* const middle = numbers + n / 2;
  std::nth_element(numbers, middle, numbers + n);
  const double upper = static_cast<double>(*middle);
  return n % 2 == 1 ? upper : (static_cast<double>(*std::max_element(numbers, middle)) + upper) / 2;
}

template <class T>
double mode_of(T* numbers, std::int64_t n) {
  RadixSorter<T>().sort(numbers, n);
  T best = numbers[0];
  std::int64_t most = 0, first = 0;   // of the run that is being read
  for (std::int64_t i = 1; i <= n; ++i) {
    if (i < n && numbers[i] == numbers[first]) continue;
    if (i - first > most) most = i - first, best = numbers[first];
    first = i;
  }
  return static_cast<double>(best);
}

// The quantiles of one column.
template <class T>
void quantiles_of(T* numbers, std::int64_t n, VectorView<const double> q, double* out) {
  if (n == 0) {
    std::fill_n(out, q.size, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  if (q.size > kFewRanks) {
    RadixSorter<T>().sort(numbers, n);
  } else {
    const std::vector<std::int64_t> ranks = ranks_of(q, n);
    place_ranks(numbers, 0, n, ranks.data(), static_cast<std::int64_t>(ranks.size()));
  }
  for (std::int64_t i = 0; i < q.size; ++i) {
    const QuantilePlace place = quantile_place(raw(q)[i], n);
    out[i] =
        between(static_cast<double>(numbers[place.below]), static_cast<double>(numbers[place.above]), place.between);
  }
}

// Every rank gets the counts of all columns, of which count_own() makes its own.
template <class T, class Count>
void share_counts(Ranks& ranks, Part own, const Count& count_own, std::vector<NumberCounts<T>>& counts) {
  const PartedBytes shares = ranks.share([&] {
    count_own();
    ByteWriter out;
    for (std::int64_t c = own.begin; c < own.end; ++c) {
      const NumberCounts<T>& one = counts[static_cast<std::size_t>(c)];
      out.numbers(one.numbers), out.numbers(one.counts), out.number(one.missing);
    }
    return out.take();
  });
  auto to = counts.begin();
  for (int r = 0; r < shares.size(); ++r)
    for (ByteReader in(shares.part(r)); !in.at_end(); ++to) {
      to->numbers = in.numbers<T>(), to->counts = in.numbers<std::int64_t>();
      to->missing = in.number<std::int64_t>();
    }
}

constexpr std::int64_t kDirect = 1 << 16;   // whole numbers below are counted in a table, all others hashed

template <class T>
NumberCounts<T> tally(MatrixView<const T> X, VectorView<const std::int32_t> rows, std::int32_t column) {
  NumberCounts<T> result;
  std::vector<std::int64_t> direct;
  std::unordered_map<T, std::int64_t> others;
  for (std::int64_t i = 0; i < selected(X, rows); ++i) {
    if (i % kDirect == 0) check_job_stop();
    const T x = row_at(X, rows, i)[column];
    if (x != x) {
      ++result.missing;
    } else if (x >= T{0} && x < static_cast<T>(kDirect) && x == std::floor(x)) {
      const auto code = static_cast<std::size_t>(x);
      if (code >= direct.size()) direct.resize(std::max(code + 1, 2 * direct.size()), 0);
      ++direct[code];
    } else {
      ++others[x];
    }
  }
  std::vector<std::pair<T, std::int64_t>> counts(others.begin(), others.end());
  for (std::size_t code = 0; code < direct.size(); ++code)
    if (direct[code] > 0) counts.emplace_back(static_cast<T>(code), direct[code]);
  std::sort(counts.begin(), counts.end());
  for (const auto& [number, count] : counts) result.numbers.push_back(number), result.counts.push_back(count);
  return result;
}

template <class T>
class CpuColumns final : public ColumnOps<T> {
 public:
  void sort_columns(MatrixView<const T> X, VectorView<const std::int32_t> rows, MatrixView<T> sorted,
                    VectorView<std::int64_t> present) override {
    for_columns(X, rows, [&](std::int64_t j, T* numbers, std::int64_t n) {
      RadixSorter<T>().sort(numbers, n);
      T* const out = raw(sorted) + j * sorted.stride;
      std::copy_n(numbers, n, out);
      std::fill(out + n, out + sorted.cols, std::numeric_limits<T>::infinity());
      raw(present)[j] = n;
    });
  }

  void column_quantiles(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> q,
                        MatrixView<double> out) override {
    std::vector<double> found(static_cast<std::size_t>(X.cols * q.size));   // by column
    const auto find = [&](std::int64_t j, T* numbers, std::int64_t n) {
      quantiles_of(numbers, n, q, found.data() + j * q.size);
    };
    deal_columns(X, rows, q.size, find, found.data());
    for (std::int64_t j = 0; j < X.cols; ++j)
      for (std::int64_t i = 0; i < q.size; ++i)
        raw(out)[i * out.stride + j] = found[static_cast<std::size_t>(j * q.size + i)];
  }

  void present_moments(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> weights,
                       VectorView<double> count, VectorView<double> mean, VectorView<double> variance) override {
    const std::int64_t n = selected(X, rows), d = X.cols;
    const auto weight = [&](std::int64_t i) { return weights.empty() ? 1.0 : raw(weights)[i]; };
    const std::vector<double> origin = first_present(X, rows);
    const auto sums = dealt_table_sums(n, 2 * d, d, [&](std::int64_t i, double* table) {
      add_present(row_at(X, rows, i), origin.data(), weight(i), d, table, table + d);
    });
    for (std::int64_t j = 0; j < d; ++j) {
      raw(count)[j] = sums[static_cast<std::size_t>(d + j)];
      raw(mean)[j] = origin[static_cast<std::size_t>(j)] + sums[static_cast<std::size_t>(j)] / raw(count)[j];
    }
    const auto both = dealt_table_sums(n, 2 * d, d, [&](std::int64_t i, double* table) {
      add_present_squares(row_at(X, rows, i), raw(mean), weight(i), d, table, table + d);
    });
    for (std::int64_t j = 0; j < d; ++j) {
      const double rest = both[static_cast<std::size_t>(j)], squares = both[static_cast<std::size_t>(d + j)],
                   total = raw(count)[j];
      const double value = (squares - rest * rest / total) / total;
      raw(variance)[j] = value < 0 ? 0.0 : value;
    }
  }

  void column_centres(ColumnCentre centre_kind, MatrixView<const T> X, VectorView<const std::int32_t> rows,
                      VectorView<const T> missing, VectorView<double> centre,
                      VectorView<std::int64_t> present) override {
    const auto find = [&](std::int64_t j, T* numbers, std::int64_t n) {
      n = std::remove(numbers, numbers + n, raw(missing)[j]) - numbers;
      double value = std::numeric_limits<double>::quiet_NaN();
      if (n > 0 && centre_kind == ColumnCentre::kMean) value = mean_of(numbers, n);
      if (n > 0 && centre_kind == ColumnCentre::kMedian) value = median_of(numbers, n) + 0.0;   // -0 becomes 0
      if (n > 0 && centre_kind == ColumnCentre::kMode) value = mode_of(numbers, n) + 0.0;
      raw(centre)[j] = value, raw(present)[j] = n;
    };
    deal_columns(X, rows, 1, find, raw(centre), raw(present));
  }

  std::vector<NumberCounts<T>> count_numbers(MatrixView<const T> X, VectorView<const std::int32_t> rows,
                                             std::span<const std::int32_t> columns) override {
    constexpr std::int64_t kCountNs = 5;   // a cell
    std::vector<NumberCounts<T>> result(columns.size());
    const std::int64_t n = selected(X, rows);
    Ranks* const ranks = ranks_of_rows(n);
    const Part own = own_part(ranks, std::ssize(columns));
    const auto count_own = [&] {
      for_tiles(own.size(), 1, own.size() * n * kCountNs, [&](std::int64_t c, std::int64_t, std::int64_t) {
        const auto column = static_cast<std::size_t>(own.begin + c);
        result[column] = tally(X, rows, columns[column]);
      });
    };
    if (ranks) share_counts(*ranks, own, count_own, result);
    else count_own();
    return result;
  }
};

}   // namespace

template <class T>
std::unique_ptr<ColumnOps<T>> make_cpu_columns() {
  return std::make_unique<CpuColumns<T>>();
}
template std::unique_ptr<ColumnOps<float>> make_cpu_columns<float>();
template std::unique_ptr<ColumnOps<double>> make_cpu_columns<double>();

}  // namespace kedge::engine
