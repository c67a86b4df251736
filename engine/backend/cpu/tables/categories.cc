// Categories and missing cells on the CPU: take columns, look cells up in dictionaries, one-hot codes, fill in what is
// missing; classes counted and renumbered.
#include <algorithm>
#include <mutex>
#include <vector>

#include "engine/backend/category_functors.h"
#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kLookupNs = 8;             // about what one search among keys takes
constexpr std::int64_t kCountTile = 1 << 16;      // codes that are counted in a table of their own, at least
constexpr std::int64_t kCountTileOfClasses = 4;   // and so many for each entry of that table

template <class T>
class CpuCategories final : public CategoryOps<T> {
 public:
  void take_columns(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const std::int32_t> columns,
                    MatrixView<T> out) override {
    for_rows(out.rows, out.cols, [&](std::int64_t i) {
      const T* const in = row_at(X, rows, i);
      for (std::int64_t c = 0; c < out.cols; ++c) raw(out)[i * out.stride + c] = in[raw(columns)[c]];
    });
  }

  void translate(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const std::int64_t> offsets,
                 VectorView<const T> keys, VectorView<const T> values, VectorView<const T> missing,
                 VectorView<const T> unknown, MatrixView<T> out) override {
    for_rows(out.rows, out.cols * kLookupNs, [&](std::int64_t i) {
      const T* const in = row_at(X, rows, i);
      for (std::int64_t j = 0; j < out.cols; ++j) {
        const std::int64_t first = raw(offsets)[j];
        raw(out)[i * out.stride + j] = translated(in[j], raw(keys) + first, raw(values) + first,
                                                  raw(offsets)[j + 1] - first, raw(missing)[j], raw(unknown)[j]);
      }
    });
  }

  void one_hot(MatrixView<const T> positions, MatrixView<T> out) override {
    for_rows(out.rows, out.cols / 4 + positions.cols, [&](std::int64_t i) {
      T* const row = raw(out) + i * out.stride;
      std::fill_n(row, out.cols, T{0});
      for (std::int64_t j = 0; j < positions.cols; ++j) {
        const T position = raw(positions)[i * positions.stride + j];
        if (is_column(position, out.cols)) row[static_cast<std::int64_t>(position)] = T{1};
      }
    });
  }

  void fill_missing(VectorView<const T> missing, VectorView<const T> fill, MatrixView<T> X) override {
    for_rows(X.rows, X.cols, [&](std::int64_t i) {
      T* const row = raw(X) + i * X.stride;
      for (std::int64_t j = 0; j < X.cols; ++j)
        row[j] = is_missing_cell(row[j], raw(missing)[j]) ? raw(fill)[j] : row[j];
    });
  }

  void mark_missing(MatrixView<const T> X, VectorView<const T> missing, VectorView<const std::int32_t> columns,
                    MatrixView<T> out) override {
    for_rows(out.rows, out.cols, [&](std::int64_t i) {
      const T* const in = raw(X) + i * X.stride;
      for (std::int64_t c = 0; c < out.cols; ++c) {
        const std::int32_t j = raw(columns)[c];
        raw(out)[i * out.stride + c] = is_missing_cell(in[j], raw(missing)[j]) ? T{1} : T{0};
      }
    });
  }

  void count_codes(VectorView<const std::int32_t> codes, VectorView<std::int64_t> counts) override {
    std::fill_n(raw(counts), counts.size, std::int64_t{0});
    std::mutex adding;
    const std::int64_t tile = std::max(kCountTile, kCountTileOfClasses * counts.size);
    for_tiles(codes.size, tile, codes.size, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      std::vector<std::int64_t> own(static_cast<std::size_t>(counts.size));
      for (std::int64_t i = begin; i < end; ++i) ++own[static_cast<std::size_t>(raw(codes)[i])];
      const std::lock_guard lock(adding);
      for (std::int64_t c = 0; c < counts.size; ++c) raw(counts)[c] += own[static_cast<std::size_t>(c)];
    });
  }

  void map_codes(VectorView<const std::int32_t> codes, VectorView<const std::int32_t> to,
                 VectorView<std::int32_t> out) override {
    for_rows(codes.size, 1, [&](std::int64_t i) { raw(out)[i] = raw(to)[raw(codes)[i]]; });
  }
};

}   // namespace

template <class T>
std::unique_ptr<CategoryOps<T>> make_cpu_categories() {
  return std::make_unique<CpuCategories<T>>();
}
template std::unique_ptr<CategoryOps<float>> make_cpu_categories<float>();
template std::unique_ptr<CategoryOps<double>> make_cpu_categories<double>();

}   // namespace kedge::engine
