// The memory rules of the catalogue: one for each way in which estimators use memory.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

// Transformers.
MemoryNeed affine(const SampleShape& X, const schema::Step& step);          // statistics of columns; moves no data
MemoryNeed sorted_affine(const SampleShape& X, const schema::Step& step);   // the same from sorted columns
MemoryNeed scales_rows(const SampleShape& X, const schema::Step& step);     // the same shape, each row by itself
MemoryNeed maps_cells(const SampleShape& X, const schema::Step& step);      // the same shape, each cell by itself
MemoryNeed imputed(const SampleShape& X, const schema::Step& step);         // SimpleImputer
MemoryNeed power(const SampleShape& X, const schema::Step& step);           // PowerTransformer
MemoryNeed quantiles(const SampleShape& X, const schema::Step& step);       // QuantileTransformer
MemoryNeed takes_columns(const SampleShape& X, const schema::Step& step);   // some columns of X
MemoryNeed polynomial(const SampleShape& X, const schema::Step& step);
MemoryNeed splines(const SampleShape& X, const schema::Step& step);
MemoryNeed bins(const SampleShape& X, const schema::Step& step);
MemoryNeed categories(const SampleShape& X, const schema::Step& step);   // one column for each category
MemoryNeed landmarks(const SampleShape& X, const schema::Step& step);    // Nystroem
MemoryNeed components(const SampleShape& X, const schema::Step& step);   // PCA and its like
MemoryNeed column_transformer(const SampleShape& X, const schema::Step& step);
MemoryNeed feature_union(const SampleShape& X, const schema::Step& step);

// What ends a pipeline.
MemoryNeed constant(const SampleShape& X, const schema::Step& step);   // answers without looking at X
MemoryNeed least_squares(const SampleShape& X, const schema::Step& step);
MemoryNeed ridge(const SampleShape& X, const schema::Step& step);
MemoryNeed coordinate_descent(const SampleShape& X, const schema::Step& step);   // Lasso and ElasticNet, with their searches
MemoryNeed logistic(const SampleShape& X, const schema::Step& step);
MemoryNeed bayes(const SampleShape& X, const schema::Step& step);
MemoryNeed category_bayes(const SampleShape& X, const schema::Step& step);
MemoryNeed discriminant(const SampleShape& X, const schema::Step& step);
MemoryNeed neighbours(const SampleShape& X, const schema::Step& step);
MemoryNeed clusters(const SampleShape& X, const schema::Step& step);
MemoryNeed density(const SampleShape& X, const schema::Step& step);   // DBSCAN
MemoryNeed trees(const SampleShape& X, const schema::Step& step);

}   // namespace kedge::engine::memory
