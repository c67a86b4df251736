// What the vectorisers hold, by the bytes of their texts. How many terms there are only the texts tell: usual ones are
// assumed.
#include "engine/estimators/text/memory.h"

#include <algorithm>
#include <cmath>

#include "engine/core/params.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine::memory {

using schema::Step;
using schema::Value;

namespace {

constexpr std::int64_t kWordBytes = 6;   // of a word and what stands behind it, in usual texts

// Texts as they are taken apart: each once, however many rows have it.
struct TextSizes {
  std::int64_t pieces = 0, lengths = 1;     // words or characters; lengths of n-grams
  std::int64_t most = 1;                    // pieces of the longest
  std::int64_t of_texts = 0, of_rows = 0;   // terms, each text's own and those of all rows
};

TextSizes sizes_of(const SampleShape& X, const Step& step) {
  std::int64_t bytes = 0, texts = 1;
  if (!X.features.empty()) {
    for (const std::string& category : X.features[0].categories) bytes += static_cast<std::int64_t>(category.size());
    texts = std::max<std::int64_t>(1, static_cast<std::int64_t>(X.features[0].categories.size()));
  }
  const double share = static_cast<double>(std::min(texts, X.rows)) / static_cast<double>(texts);
  const bool has_words = text(step, "analyzer") == "word";
  TextSizes sizes{.pieces =
                      static_cast<std::int64_t>(share * static_cast<double>(bytes)) / (has_words ? kWordBytes : 1)};
  if (const Value* const given = find_value(step.params, "ngram_range"))
    if (const auto range = numbers_of(*given); range && range->size() == 2 && (*range)[0] <= (*range)[1])
      sizes.most = static_cast<std::int64_t>((*range)[1]),
      sizes.lengths = sizes.most - static_cast<std::int64_t>((*range)[0]) + 1;
  sizes.of_texts = bytes_of(sizes.pieces, sizes.lengths, 1);
  const double rows_of_text =
      static_cast<double>(X.rows) / static_cast<double>(std::max<std::int64_t>(1, std::min(texts, X.rows)));
  sizes.of_rows = bytes_of(1, static_cast<std::int64_t>(rows_of_text * static_cast<double>(sizes.of_texts)), 1);
  return sizes;
}

MemoryNeed sparse(const SampleShape& X, std::int64_t cols, std::int64_t entries, std::int64_t work) {
  MemoryNeed need = makes(X, cols, work);
  need.out.entries = entries, need.out.in_place = true, need.out.features.clear();
  need.made = need.out.value_size();
  need.is_exact = false;
  return need;
}

}   // namespace

MemoryNeed terms(const SampleShape& X, const Step& step) {
  const TextSizes sizes = sizes_of(X, step);
  // Of words there are about as many as the root of the text is long; of longer n-grams half occur once.
  const std::int64_t usual = sizes.most == 1
                                 ? static_cast<std::int64_t>(60 * std::sqrt(static_cast<double>(sizes.pieces)))
                                 : sizes.of_texts / 2;
  std::int64_t cols = std::clamp<std::int64_t>(std::min(usual, sizes.of_texts), 1, kMost - 1);
  cols = std::min(cols, std::max<std::int64_t>(1, integer(step, "max_features", kMost - 1)));
  constexpr std::int64_t kPlace = 8, kLevel = 25, kSorted = 24, kEntry = 16, kTermBytes = 24;
  const std::int64_t levels =
      bytes_of(sizes.pieces, sizes.most, kLevel) + (sizes.most > 1 ? sizes.pieces * kSorted : 0);
  const std::int64_t fit = sizes.pieces * kPlace + levels + sizes.of_texts * kEntry + usual * (kTermBytes + 24);
  const std::int64_t row_bytes = sizes.of_rows * (X.value_bytes + 4) + (X.rows + 1) * 8;
  return sparse(X, cols, sizes.of_rows, std::max(fit, 2 * row_bytes) + bytes_of(cols, 1, kTermBytes + 8));
}

MemoryNeed hashed_terms(const SampleShape& X, const Step& step) {
  const TextSizes sizes = sizes_of(X, step);
  const std::int64_t row_bytes = sizes.of_rows * (X.value_bytes + 4) + (X.rows + 1) * 8;
  return sparse(X, integer(step, "n_features"), sizes.of_rows, sizes.of_texts * 12 + 2 * row_bytes);
}

MemoryNeed weighted_terms(const SampleShape& X, const Step&) {
  const std::int64_t entries = X.is_sparse() ? X.entries : X.rows * X.cols;
  MemoryNeed need = sparse(X, X.cols, entries, 0);
  need.work = 2 * need.made + (X.is_sparse() ? 0 : X.copy() + bytes_of(X.rows, X.cols, kDouble)) + X.cols * 2 * kDouble;
  need.is_exact = X.is_sparse();
  return need;
}

}   // namespace kedge::engine::memory
