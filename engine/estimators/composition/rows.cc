// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/composition/column_transformer.h"
#include "engine/estimators/composition/feature_union.h"
#include "engine/estimators/composition/memory.h"

namespace kedge::engine {

void add_composition(Rows& rows) {
  add<ColumnTransformer>(rows, memory::column_transformer, {2, 1}, {.is_composed = true});
  add<FeatureUnion>(rows, memory::feature_union, {2, 1}, {.is_composed = true});
}

}  // namespace kedge::engine
