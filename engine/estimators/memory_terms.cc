// What samples take in the usual forms.
#include "engine/estimators/memory_terms.h"

#include <algorithm>

#include "engine/core/params.h"
#include "engine/estimators/catalogue.h"

namespace kedge::engine::memory {
namespace {

using schema::Step;
using schema::Value;

// As given, otherwise the declared default; null for a parameter that the estimator does not have.
const Value* param(const Step& step, std::string_view name) {
  if (const Value* const given = find_value(step.params, name)) return given;
  const CatalogueEntry* const entry = find_estimator(step.estimator);
  if (!entry) return nullptr;
  const auto declared = std::ranges::find(entry->info.params, name, &schema::ParamInfo::name);
  return declared == entry->info.params.end() ? nullptr : &declared->defaultValue;
}

SampleShape made_of(const SampleShape& X, std::int64_t cols) {
  return {.rows = X.rows,
          .cols = std::min(cols, kMost),
          .value_bytes = X.value_bytes,
          .n_outputs = X.n_outputs,
          .in_place = true,
          .on_host = X.on_host};
}

}  // namespace

std::int64_t integer(const Step& step, std::string_view name, std::int64_t otherwise) {
  const Value* const value = param(step, name);
  const auto* const whole = value ? std::get_if<std::int64_t>(&value->data) : nullptr;
  return whole ? std::min(*whole, kMost) : otherwise;
}

std::int64_t count(const Step& step, std::string_view name, std::int64_t otherwise) {
  const Value* const value = param(step, name);
  const auto list = value ? numbers_of(*value) : std::nullopt;
  return list ? static_cast<std::int64_t>(list->size()) : integer(step, name, otherwise);
}

bool flag(const Step& step, std::string_view name) {
  const Value* const value = param(step, name);
  const bool* const given = value ? std::get_if<bool>(&value->data) : nullptr;
  return given && *given;
}

std::string text(const Step& step, std::string_view name) {
  const Value* const value = param(step, name);
  const auto* const given = value ? std::get_if<std::string>(&value->data) : nullptr;
  return given ? *given : std::string();
}

std::int64_t block(const SampleShape& X) {
  const std::int64_t rows =
      std::max(kBlockRows, X.on_host ? 0 : kGpuBlockBytes / (kDouble * std::max<std::int64_t>(X.cols, 1)));
  const std::int64_t size = bytes_of(std::min(X.rows, rows), X.cols, kDouble);
  return X.is_sparse() ? std::min(size, kSparseBlock) : size;
}

std::int64_t doubles(const SampleShape& X) {
  return X.is_sparse() ? 2 * X.value_size() : bytes_of(X.rows, X.cols, kDouble);
}

std::int64_t answers(const SampleShape& X) {
  return bytes_of(X.rows, X.n_outputs + 2, 2 * kDouble);
}

std::int64_t square(std::int64_t side) {
  return bytes_of(side, side, kDouble);
}

std::int64_t gram(const SampleShape& X, std::int64_t side) {
  return X.is_sparse() ? std::min(square(side), kSparseBlock) : square(side);
}

MemoryNeed makes(const SampleShape& X, std::int64_t cols, std::int64_t work) {
  const SampleShape out = made_of(X, cols);
  return {.work = work, .made = out.value_size(), .out = out};
}

MemoryNeed makes_alike(const SampleShape& X, std::int64_t cols, std::int64_t work) {
  MemoryNeed need = makes(X, cols, work);
  need.out.entries = X.entries;
  need.made = need.out.value_size();
  return need;
}

}  // namespace kedge::engine::memory
