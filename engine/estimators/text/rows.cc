// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/text/hashing_vectorizer.h"
#include "engine/estimators/text/memory.h"
#include "engine/estimators/text/record_vectorizers.h"
#include "engine/estimators/text/term_vectorizer.h"
#include "engine/estimators/text/tfidf_transformer.h"

namespace kedge::engine {

void add_text(Rows& rows) {
  constexpr RowTraits kOnHost{.host_part = "the terms of texts, of which it gets the finished rows"};
  add<CountVectorizer>(rows, memory::terms, {1, 1, 8}, kOnHost);
  add<TfidfVectorizer>(rows, memory::terms, {1, 1, 8}, kOnHost);
  add<HashingVectorizer>(rows, memory::hashed_terms, {0, 2}, kOnHost);
  constexpr RowTraits kCells{.host_part = "which column each cell is, of which it gets the finished rows"};
  add<DictVectorizer>(rows, DictVectorizer<double>::memory, {1, 3, 48}, kCells);
  add<FeatureHasher>(rows, FeatureHasher<double>::memory, {0, 3}, kCells);
  add<TfidfTransformer>(rows, memory::weighted_terms, {1, 2, 48},
                        {.host_part = "the weights of terms, of which it gets the finished rows"});
}

}   // namespace kedge::engine
