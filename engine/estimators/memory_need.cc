// Looks up a step's memory rule and keeps its sums in range.
#include "engine/estimators/memory_need.h"

#include <algorithm>

#include "engine/core/require.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/text/documents.h"

namespace kedge::engine {

std::int64_t bytes_of(std::int64_t rows, std::int64_t cols, std::int64_t element_bytes) {
  constexpr double kMost = 0x1p55;
  const double bytes = static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(element_bytes);
  return static_cast<std::int64_t>(std::min(bytes, kMost));
}

std::int64_t SampleShape::value_size() const {
  return is_sparse() ? entries * (value_bytes + 4) + (rows + 1) * 8 : bytes_of(rows, cols, value_bytes);
}

namespace {

// Encoders say by one parameter what they do with categories that they were not fitted with.
bool refuses_unknown(const CatalogueEntry& entry, const schema::Step& step) {
  constexpr std::string_view kParam = "handle_unknown";
  const schema::Value refusal("error");
  const auto declared = std::ranges::find(entry.info.params, kParam, &schema::ParamInfo::name);
  if (declared == entry.info.params.end()) return false;
  const auto given = std::ranges::find(step.params, kParam, &std::pair<std::string, schema::Value>::first);
  return given == step.params.end() ? declared->defaultValue == refusal : given->second == refusal;
}

// Steps within this one note their own uses: where they have read the columns, it is theirs.
void note_use(const SampleShape& X, const CatalogueEntry& entry, const schema::Step& step, const MemoryNeed& need, std::size_t before) {
  NominalUse use{.step = step.estimator, .made_columns = need.out.cols};
  for (const Feature& feature : X.features)
    if (feature.is_nominal) use.columns.push_back({feature.name, static_cast<std::int64_t>(feature.categories.size())});
  if (use.columns.empty() || X.uses->size() > before) return;
  const auto made = entry.make_f64(step.params);
  if (const auto* reader = dynamic_cast<const ReadsTexts*>(made.get()); reader && !reader->text_columns().empty())
    use.made_columns = 0;   // of categories: it takes them apart
  use.is_refused = need.refuses_categories || !made->accepts_categories();
  use.refuses_unknown = refuses_unknown(entry, step);
  X.uses->push_back(std::move(use));
}

}  // namespace

// What does not take sparse samples gets a dense copy.
MemoryNeed memory_need(const SampleShape& X, const schema::Step& step) {
  const CatalogueEntry* const entry = find_estimator(step.estimator);
  require(entry != nullptr, schema::ErrorCode::kInternal, "no estimator is named {}", step.estimator);
  if (X.uses) {
    const std::size_t before = X.uses->size();
    MemoryNeed need = entry->memory(X, step);
    note_use(X, *entry, step, need, before);
    return need;
  }
  if (!X.is_sparse() || entry->make_f64(step.params)->accepts_sparse()) return entry->memory(X, step);
  SampleShape dense = X;
  dense.entries = -1, dense.in_place = false;
  MemoryNeed need = entry->memory(dense, step);
  need.work += dense.value_size(), need.minimum += dense.value_size();
  return need;
}

}   // namespace kedge::engine
