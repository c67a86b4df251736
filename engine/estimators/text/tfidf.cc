// The formulas of TfidfTransformer.
#include "engine/estimators/text/tfidf.h"

#include <cmath>

#include "engine/estimators/text/blocks.h"

namespace kedge::engine::text {
namespace {

// work(row's first entry, and its end) for each row, on all threads.
template <class T, class Work>
void each_row(const HostRows<T>& rows, const Work& work) {
  constexpr std::size_t kLeastRows = 512;   // of a thread
  for_parts(
      static_cast<std::size_t>(rows.rows()),
      [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
          work(static_cast<std::size_t>(rows.offsets[i]), static_cast<std::size_t>(rows.offsets[i + 1]));
      },
      kLeastRows);
}

}   // namespace

template <class T>
std::vector<double> inverse_frequencies(const TfidfParams& params, std::int64_t n_rows,
                                        const std::vector<std::int64_t>& n_rows_with) {
  std::vector<double> idf;
  if (!params.use_idf) return idf;
  idf.reserve(n_rows_with.size());
  const auto all = static_cast<T>(n_rows + params.smooth_idf);
  for (const std::int64_t n : n_rows_with)
    idf.push_back(static_cast<double>(std::log(all / (static_cast<T>(n) + static_cast<T>(params.smooth_idf))) + T{1}));
  return idf;
}

template <class T>
void weigh(const TfidfParams& params, const std::vector<double>& idf, HostRows<T>& rows) {
  each_row(rows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t e = begin; e < end; ++e) {
      T value = rows.values[e];
      if (params.sublinear_tf) value = std::log(value) + T{1};
      if (!idf.empty()) value *= static_cast<T>(idf[static_cast<std::size_t>(rows.columns[e])]);
      rows.values[e] = value;
    }
  });
  scale_rows(params.norm, rows);
}

template <class T>
void scale_rows(const schema::Value& norm, HostRows<T>& rows) {
  if (norm.is_null()) return;
  const bool is_l1 = norm == schema::Value("l1");
  each_row(rows, [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t e = begin; e < end; ++e) {
      const T value = rows.values[e];
      sum += static_cast<double>(is_l1 ? std::abs(value) : value * value);
    }
    if (sum == 0) return;
    const double length = is_l1 ? sum : std::sqrt(sum);
    for (std::size_t e = begin; e < end; ++e)
      rows.values[e] = static_cast<T>(static_cast<double>(rows.values[e]) / length);
  });
}

#define KEDGE_INSTANTIATE(T)                                                             \
  template std::vector<double> inverse_frequencies<T>(const TfidfParams&, std::int64_t,  \
                                                      const std::vector<std::int64_t>&); \
  template void weigh(const TfidfParams&, const std::vector<double>&, HostRows<T>&);     \
  template void scale_rows(const schema::Value&, HostRows<T>&);
KEDGE_INSTANTIATE(float)
KEDGE_INSTANTIATE(double)
#undef KEDGE_INSTANTIATE

}   // namespace kedge::engine::text
