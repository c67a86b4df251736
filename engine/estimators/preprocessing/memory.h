// What transformers of single columns hold at their worst moment.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

MemoryNeed affine(const SampleShape& X, const schema::Step& step);   // statistics of columns; moves no data
MemoryNeed sorted_affine(const SampleShape& X, const schema::Step& step);   // the same from sorted columns
MemoryNeed scales_rows(const SampleShape& X, const schema::Step& step);   // the same shape, each row by itself
MemoryNeed maps_numbers(const SampleShape& X, const schema::Step& step);   // the same shape, each cell by itself
MemoryNeed maps_cells(const SampleShape& X, const schema::Step& step);   // the same of texts and gaps: a column may go
MemoryNeed imputed(const SampleShape& X, const schema::Step& step);   // SimpleImputer
MemoryNeed power(const SampleShape& X, const schema::Step& step);   // PowerTransformer
MemoryNeed quantiles(const SampleShape& X, const schema::Step& step);   // QuantileTransformer
MemoryNeed polynomial(const SampleShape& X, const schema::Step& step);
MemoryNeed splines(const SampleShape& X, const schema::Step& step);
MemoryNeed bins(const SampleShape& X, const schema::Step& step);
MemoryNeed categories(const SampleShape& X, const schema::Step& step);   // one column for each category

}  // namespace kedge::engine::memory
