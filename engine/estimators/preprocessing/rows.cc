// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/preprocessing/column_scalers.h"
#include "engine/estimators/preprocessing/element_maps.h"
#include "engine/estimators/preprocessing/function_transformer.h"
#include "engine/estimators/preprocessing/iterative_imputer.h"
#include "engine/estimators/preprocessing/k_bins_discretizer.h"
#include "engine/estimators/preprocessing/knn_imputer.h"
#include "engine/estimators/preprocessing/memory.h"
#include "engine/estimators/preprocessing/min_max_scaler.h"
#include "engine/estimators/preprocessing/missing_indicator.h"
#include "engine/estimators/preprocessing/one_hot_encoder.h"
#include "engine/estimators/preprocessing/ordinal_encoder.h"
#include "engine/estimators/preprocessing/polynomial_features.h"
#include "engine/estimators/preprocessing/power_transformer.h"
#include "engine/estimators/preprocessing/quantile_transformer.h"
#include "engine/estimators/preprocessing/simple_imputer.h"
#include "engine/estimators/preprocessing/spline_transformer.h"
#include "engine/estimators/preprocessing/standard_scaler.h"
#include "engine/estimators/preprocessing/target_encoder.h"

namespace kedge::engine {

void add_preprocessing(Rows& rows) {
  add<StandardScaler>(rows, memory::affine, {3, 1}, {.dealt = DealtFit::kOwnRows, .leaves = RowsLeft::kInPlace});
  add<MinMaxScaler>(rows, memory::affine, {2, 1}, {.dealt = DealtFit::kOwnRows, .leaves = RowsLeft::kInPlace});
  add<OneHotEncoder>(rows, memory::categories, {4, 2}, {.dealt = DealtFit::kRowSums});
  add<OrdinalEncoder>(rows, memory::maps_cells, {4, 2}, {.dealt = DealtFit::kRowSums});
  add<TargetEncoder>(rows, TargetEncoder<float>::memory, {6, 2, 48},
                     {.host_part = "the sums of the target by category and fold"});
  add<SimpleImputer>(rows, memory::imputed, {2, 1}, {.dealt = DealtFit::kOwnRows, .leaves = RowsLeft::kOwn});
  add<KNNImputer>(rows, KNNImputer<float>::memory, {2, 4, 48},
                  {.host_part = "the choice of neighbours, and the means of their values"});
  add<IterativeImputer>(rows, IterativeImputer<float>::memory, {600, 4, 48},
                        {.host_part = "which rows have a column, and the evidence of its regressions"});
  add<MissingIndicator>(rows, memory::maps_cells, {1, 1});
  add<MaxAbsScaler>(rows, memory::affine, {2, 1}, {.dealt = DealtFit::kOwnRows, .leaves = RowsLeft::kInPlace});
  add<RobustScaler>(rows, memory::sorted_affine, {1, 1}, {.dealt = DealtFit::kOwnRows, .leaves = RowsLeft::kInPlace});
  add<Normalizer>(rows, memory::scales_rows, {0, 1});
  add<Binarizer>(rows, memory::maps_numbers, {0, 1});
  add<PolynomialFeatures>(rows, memory::polynomial, {0, 1});
  add<SplineTransformer>(rows, memory::splines, {2, 1}, {.host_part = "knots at quantiles, where rows have weights"});
  add<KBinsDiscretizer>(rows, memory::bins, {1, 1},
                        {.host_part = "the edges of strategy kmeans, and all edges where rows have weights"});
  add<QuantileTransformer>(rows, memory::quantiles, {1, 1, 48}, {.dealt = DealtFit::kRowSums});
  add<FunctionTransformer>(rows, FunctionTransformer<float>::memory, {0, 1});
  add<PowerTransformer>(rows, memory::power, {52, 1});
}

}  // namespace kedge::engine
