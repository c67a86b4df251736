// Folds within an estimator's own rows: for predictions of rows that were not fitted, and for choosing by them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/estimators/estimator.h"

namespace kedge::engine {

class LegacyRandom;

// The fold of each row, 0 .. n_folds - 1, as scikit-learn's KFold; with shuffle = True by the next draws of `shuffle`,
// where it is given. 2 <= n_folds <= n_rows.
std::vector<std::int32_t> k_fold_numbers(std::int64_t n_rows, std::int64_t n_folds, LegacyRandom* shuffle = nullptr);

// The same as StratifiedKFold: each class is spread over the folds. Classes with fewer rows than folds are missing in
// some of them.
std::vector<std::int32_t> stratified_fold_numbers(std::span<const std::int32_t> codes, std::int32_t n_classes,
                                                  std::int64_t n_folds, LegacyRandom* shuffle = nullptr);

// StratifiedKFold for classes, KFold for values. Errors: kBadData "OWNER: cv is 5, but ..." for more folds than rows,
// or than the rows of every class.
std::vector<std::int32_t> fold_numbers(const char* owner, const Target& y, std::int64_t n_folds,
                                       LegacyRandom* shuffle = nullptr);

// Positions of rows whose fold is, or is not, `fold`.
std::vector<std::int32_t> rows_in_fold(std::span<const std::int32_t> fold_of, std::int32_t fold, bool inside);

// Some rows of the samples, by their positions among them, and what they are to be mapped to.
template <class T>
Samples<T> rows_at(const Context& ctx, const Samples<T>& X, std::span<const std::int32_t> positions);
Target rows_at(const Target& y, std::span<const std::int32_t> positions);

}   // namespace kedge::engine
