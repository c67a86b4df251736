// Which columns are chosen by the scores of all.
#pragma once

#include <cstdint>
#include <vector>

namespace kedge::engine {

// What a rate bounds: each column's chance to be kept wrongly, the expected share of such columns among those that are
// kept (Benjamini and Hochberg, 1995), or the chance that there is any (Bonferroni).
enum class ErrorRate { kFalsePositives, kFalseDiscoveries, kFamilyWise };

// One a column: whether it is kept. A score of NaN is the least.
// The k highest scores, of equal ones the later columns; k above the number of columns keeps all.
std::vector<bool> best_columns(std::vector<double> scores, std::int64_t k);
// The scores above the quantile that percentile (0 to 100) says, and as many of those equal to it, the first ones, as
// the share has room for.
std::vector<bool> best_share(std::vector<double> scores, double percentile);
// The p values that keep the rate below alpha; of NaN none.
std::vector<bool> below_rate(const std::vector<double>& p_values, ErrorRate rate, double alpha);

}   // namespace kedge::engine
