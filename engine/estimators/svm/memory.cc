// What support vector machines hold at their worst moment.
#include "engine/estimators/svm/memory.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/core/device.h"
#include "engine/core/params.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine::memory {

using schema::Step;

// Rows in the order of their classes and in the type of the products, kernel rows and the values of a working set
// (made, copied, rounded) and the block of kernel rows on the way to the kept ones, then support vectors and a block of
// kernel values in double.
MemoryNeed support_vectors(const SampleShape& X, const Step& step) {
  constexpr std::int64_t kLeastRows = 1024, kValues = std::int64_t{1} << 22, kFloat = 4, kSet = 512;
  const std::int64_t rows = bytes_of(X.rows, X.cols, X.value_bytes), one = X.rows * kFloat;
  const std::int64_t asked = std::min(integer(step, "cache_size", 200), kMost) << 20;
  const std::int64_t cache = std::min(bytes_of(X.rows, X.rows, kFloat), std::max(asked, kLeastRows * one));
  const std::int64_t some = std::min(X.rows, kSet), set = bytes_of(some, some, 2 * kDouble + kFloat);
  const std::int64_t block = X.rows > kSet ? std::min(bytes_of(X.rows, X.rows, kDouble), kGpuBlockBytes) : 0;
  const std::int64_t pairs = std::max<std::int64_t>(1, X.n_outputs * (X.n_outputs - 1) / 2);
  const std::int64_t vectors = X.rows * 16 * kDouble + bytes_of(X.rows, X.n_outputs, 4 * kDouble);
  const std::int64_t use = 3 * rows + 2 * std::min(bytes_of(X.rows, X.rows, kDouble), kValues * kDouble) + answers(X);
  return {.work = std::max(3 * rows + cache + set + block + vectors + pairs * kDouble, use + vectors),
          .use = use + vectors,
          .kept = step.estimator == "OneClassSVM" ? 0 : cache + 2 * rows};
}

std::string kernel_matrix_key(const Step& step) {
  constexpr std::array<std::string_view, 4> kOwners{"SVC", "NuSVC", "SVR", "NuSVR"};
  if (std::ranges::find(kOwners, step.estimator) == kOwners.end()) return "";
  std::string key = step.estimator;
  for (const char* const name : {"kernel", "gamma", "degree", "coef0", "tol", "cache_size"}) {
    const schema::Value* const value = find_value(step.params, name);
    key += ' ' + (value ? schema::to_string(*value) : std::string("-"));
  }
  return key;
}

}   // namespace kedge::engine::memory
