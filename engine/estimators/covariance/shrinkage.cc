// Shares of shrinkage from the moments of the rows.
#include "engine/estimators/covariance/shrinkage.h"

#include <algorithm>

namespace kedge::engine {
namespace {

constexpr std::int64_t kBlockRows = 4096;

double trace_of(const std::vector<double>& S, std::int64_t d) {
  double trace = 0;
  for (std::int64_t j = 0; j < d; ++j) trace += S[static_cast<std::size_t>(j * (d + 1))];
  return trace;
}

double squares_of(const std::vector<double>& S) {
  double squares = 0;
  for (const double s : S) squares += s * s;
  return squares;
}

}   // namespace

double ledoit_wolf_share(const std::vector<double>& S, std::int64_t d, double n, double fourth_powers) {
  if (d == 1) return 0;
  const double columns = static_cast<double>(d), trace = trace_of(S, d), squares = squares_of(S);
  const double mu = trace / columns;
  double beta = (fourth_powers / n - squares) / (columns * n),
         delta = (squares - 2 * mu * trace + columns * mu * mu) / columns;
  beta = std::min(beta, delta);
  return beta == 0 ? 0 : beta / delta;
}

double oas_share(const std::vector<double>& S, std::int64_t d, double n) {
  if (d == 1) return 0;
  const double columns = static_cast<double>(d), mu = trace_of(S, d) / columns;
  const double mean_square = squares_of(S) / (columns * columns);
  const double below = (n + 1) * (mean_square - mu * mu / columns);
  return below == 0 ? 1 : std::min((mean_square + mu * mu) / below, 1.0);
}

void shrink(std::vector<double>& S, std::int64_t d, double share) {
  const double trace = trace_of(S, d);
  for (double& s : S) s *= 1 - share;
  for (std::int64_t j = 0; j < d; ++j)
    S[static_cast<std::size_t>(j * (d + 1))] += share * trace / static_cast<double>(d);
}

template <class T>
double fourth_powers(const Context& ctx, const Design<T>& design) {
  const std::int64_t n = design.n_rows();
  Matrix<double> block(ctx.memory(), std::min(n, kBlockRows), design.n_cols());
  Array<double> norms(ctx.memory(), block.rows()), total(ctx.memory(), 1);
  double sum = 0;
  for (std::int64_t first = 0; first < n; first += kBlockRows) {
    ctx.check_stop();
    const std::int64_t count = std::min(kBlockRows, n - first);
    ctx.ops<T>().design->gather(design, first, block.view().row_range(0, count));
    ctx.ops<double>().rows->row_squared_norms(std::as_const(block).view().row_range(0, count),
                                              norms.view().slice(0, count));
    ctx.ops<double>().rows->weighted_sums({norms.data(), count, 1}, std::as_const(norms).view().slice(0, count),
                                          total.view());
    sum += total.to_host()[0];
  }
  return sum;
}

template double fourth_powers(const Context&, const Design<float>&);
template double fourth_powers(const Context&, const Design<double>&);

}   // namespace kedge::engine
