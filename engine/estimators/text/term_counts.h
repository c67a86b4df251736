// The terms of documents and how often each document has them: the fit of CountVectorizer and TfidfVectorizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/estimators/text/analyzer.h"
#include "engine/estimators/text/documents.h"
#include "engine/estimators/text/host_rows.h"
#include "engine/estimators/text/vocabulary.h"

namespace kedge::engine::text {

// Which terms a vocabulary keeps: counts or, as double, shares of the rows.
struct TermLimits {
  schema::Value min_df = 1, max_df = 1.0;
  std::optional<std::int64_t> max_features;
};

struct CountedTerms {
  Vocabulary vocabulary;                   // ascending
  HostRows<std::int32_t> counts;           // a row for each text
  std::vector<std::int64_t> n_rows_with;   // by column: rows that have the term
};

// Words and n-grams are numbers from the first pass on: n-grams of n pieces are sorted by the number of their first n -
// 1 and that of the last, which is the order of their text, so that no text is compared or joined before it is in the
// vocabulary. Time is linear in the bytes of the texts and in the n-grams, but for sorting the distinct words. Errors:
// kBadData for no term, for none within the limits, for more than 2^31 - 1 terms; kCancelled.
CountedTerms counted_terms(std::string_view owner, const Analyzer& analyzer, const Documents& documents,
                           const TermLimits& limits, bool is_binary);

// The same with terms that are known already.
HostRows<std::int32_t> known_counts(const Analyzer& analyzer, const Documents& documents, const Vocabulary& vocabulary,
                                    bool is_binary);

}   // namespace kedge::engine::text
