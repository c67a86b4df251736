// Parity of the ops on categories, missing cells and codes of classes.
#include <limits>

#include "tests/parity/probe.h"

namespace kedge::parity {
namespace {

constexpr double kExact = 0;   // values are moved and looked up, never computed
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class T>
std::vector<T> rounded(const std::vector<double>& values) { return std::vector<T>(values.begin(), values.end()); }

template <class T>
std::vector<std::int32_t> rows_backwards(Probe<T>& probe) {   // the last row twice
  std::vector<std::int32_t> rows;
  for (std::int64_t i = probe.shape().rows; i-- > 0;) rows.push_back(static_cast<std::int32_t>(i));
  if (!rows.empty()) rows.push_back(rows.front());
  return rows;
}

template <class T>
void check_take_columns(Probe<T>& probe) {
  const Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  const auto columns = probe.codes(probe.shape().k, static_cast<int>(x.cols), 4), rows = rows_backwards(probe);
  const Padded<T> device(probe.memory(), x);
  for (const bool by_rows : {false, true}) {
    if (by_rows && rows.empty()) continue;
    Table expected(by_rows ? static_cast<std::int64_t>(rows.size()) : x.rows, probe.shape().k);
    for (std::int64_t i = 0; i < expected.rows; ++i) {
      for (std::int64_t c = 0; c < expected.cols; ++c) expected.at(i, c) = x.at(by_rows ? rows[at(i)] : i, columns[at(c)]);
    }
    Padded<T> out(probe.memory(), expected.rows, expected.cols);
    const Array<std::int32_t> chosen = probe.upload(rows);
    probe.ops().categories->take_columns(device.view(), by_rows ? chosen.view() : VectorView<const std::int32_t>(),
                                         probe.upload(columns).view(), out.view());
    probe.expect_near(out.to_table(), expected, 1, by_rows ? "some rows" : "all rows");
  }
}

// Column j knows the multiples of 1/8 from -4 to j / 4, except for every third column, which knows 0, 1, 2 ...
template <class T>
void check_translate(Probe<T>& probe) {
  Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  if (x.rows > 2) x.at(x.rows / 2, 0) = kNan;
  std::vector<std::int64_t> offsets{0};
  std::vector<double> keys, values, missing, unknown;
  for (std::int64_t j = 0; j < x.cols; ++j) {
    for (std::int64_t e = 0; e < 33 + 2 * j; ++e) {
      keys.push_back(j % 3 == 2 ? static_cast<double>(e) : -4 + static_cast<double>(e) / 8);
      values.push_back(static_cast<double>((e * 7) % 31));
    }
    offsets.push_back(static_cast<std::int64_t>(keys.size()));
    missing.push_back(-1 - static_cast<double>(j)), unknown.push_back(j % 2 == 0 ? kNan : -77);
  }
  Table expected(x.rows, x.cols);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.cols; ++j) {
      double& answer = expected.at(i, j) = std::isnan(x.at(i, j)) ? missing[at(j)] : unknown[at(j)];
      for (std::int64_t e = offsets[at(j)]; e < offsets[at(j + 1)]; ++e)
        if (keys[at(e)] == x.at(i, j)) answer = values[at(e)];
    }
  }
  Padded<T> out(probe.memory(), x.rows, x.cols);
  const Padded<T> device(probe.memory(), x);
  probe.ops().categories->translate(device.view(), {}, probe.upload(offsets).view(),
                                    probe.upload(rounded<T>(keys)).view(), probe.upload(rounded<T>(values)).view(),
                                    probe.upload(rounded<T>(missing)).view(), probe.upload(rounded<T>(unknown)).view(),
                                    out.view());
  probe.expect_near(out.to_table(), expected, 1, "translated");
}

template <class T>
void check_one_hot(Probe<T>& probe) {
  const int width = probe.shape().k + 1;
  Table positions(probe.shape().rows, probe.shape().cols), expected(probe.shape().rows, width);
  const auto codes = probe.codes(positions.rows * positions.cols, width + 2, 3);
  for (std::int64_t i = 0; i < positions.rows; ++i) {
    for (std::int64_t j = 0; j < positions.cols; ++j) {
      const int position = codes[at(i * positions.cols + j)] - 1;   // from -1 to width: one too small, one too large
      positions.at(i, j) = position;
      if (position >= 0 && position < width) expected.at(i, position) = 1;
    }
  }
  Padded<T> out(probe.memory(), positions.rows, width);
  probe.ops().categories->one_hot(Padded<T>(probe.memory(), positions).view(), out.view());
  probe.expect_near(out.to_table(), expected, 1, "one-hot");
}

// What is missing is NaN in even columns and 2.5 in odd ones.
template <class T>
void check_missing(Probe<T>& probe) {
  Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  std::vector<double> missing, fill;
  for (std::int64_t j = 0; j < x.cols; ++j) missing.push_back(j % 2 == 0 ? kNan : 2.5), fill.push_back(static_cast<double>(j) + 0.25);
  for (std::int64_t i = 0; i < x.rows; i += 3) x.at(i, (i / 3) % x.cols) = kNan;
  const auto columns = probe.codes(probe.shape().k, static_cast<int>(x.cols), 4);
  const auto is_missing = [&](std::int64_t i, std::int64_t j) { return j % 2 == 0 ? std::isnan(x.at(i, j)) : x.at(i, j) == 2.5; };
  Table filled = x, marks(x.rows, probe.shape().k);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.cols; ++j)
      if (is_missing(i, j)) filled.at(i, j) = fill[at(j)];
    for (std::int64_t c = 0; c < marks.cols; ++c) marks.at(i, c) = is_missing(i, columns[at(c)]) ? 1 : 0;
  }
  Padded<T> device(probe.memory(), x), out(probe.memory(), x.rows, marks.cols);
  const Array<T> holes = probe.upload(rounded<T>(missing));
  probe.ops().categories->mark_missing(std::as_const(device).view(), holes.view(), probe.upload(columns).view(),
                                       out.view());
  probe.ops().categories->fill_missing(holes.view(), probe.upload(rounded<T>(fill)).view(), device.view());
  probe.expect_near(out.to_table(), marks, 1, "marks");
  probe.expect_near(device.to_table(), filled, 1, "filled");
}

// A class without a row, few classes, and more than one table in shared memory has.
template <class T>
void check_codes(Probe<T>& probe) {
  for (const int classes : {1, probe.shape().k + 1, 300, 20000}) {
    const auto codes = probe.codes(probe.shape().rows, classes, 6);
    std::vector<double> counts(at(classes), 0.0), mapped;
    std::vector<std::int32_t> to;
    for (int c = 0; c < classes; ++c) to.push_back((c * 7 + 3) % classes - 1);
    for (const std::int32_t code : codes) ++counts[at(code)], mapped.push_back(to[at(code)]);
    const Array<std::int32_t> device = probe.upload(codes);
    Array<std::int64_t> counted(probe.memory(), classes);
    Array<std::int32_t> out(probe.memory(), device.size());
    probe.ops().categories->count_codes(device.view(), counted.view());
    probe.ops().categories->map_codes(device.view(), probe.upload(to).view(), out.view());
    probe.expect_near(counted, counts, 1, "counts");
    probe.expect_near(out, mapped, 1, "mapped");
  }
}

}  // namespace

template <class T>
std::vector<Row<T>> category_rows() {
  return {
      {"take_columns", kExact, &check_take_columns<T>, tall_shapes()},
      {"translate", kExact, &check_translate<T>, tall_shapes()},
      {"one_hot", kExact, &check_one_hot<T>, tall_shapes()},
      {"missing_cells", kExact, &check_missing<T>, tall_shapes()},
      {"codes", kExact, &check_codes<T>, tall_shapes()},
  };
}

template std::vector<Row<float>> category_rows();
template std::vector<Row<double>> category_rows();

}  // namespace kedge::parity
