// What splitters refuse, and how they turn a list of folds into splits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/require.h"
#include "engine/model_selection/splitters.h"

namespace kedge::engine {

inline constexpr const char* kCvPath = "task.crossValidate.cv";

template <class... Args>
void require_split(bool ok, schema::ErrorCode code, const std::string& where, fmt::format_string<Args...> text, Args&&... args) {
  if (!ok) throw schema::Error(code, fmt::format(text, std::forward<Args>(args)...), where);
}

// Errors: kInvalidValue for fewer than `minimum` splits.
void require_splits(std::int64_t n_splits, std::int64_t minimum);

// fold_of[i]: the fold in which row i is tested.
std::vector<Split> splits_from_folds(const std::vector<std::int32_t>& fold_of, std::int64_t n_splits);

}  // namespace kedge::engine
