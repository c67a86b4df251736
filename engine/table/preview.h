// What a data set holds, and how a job would read its columns.
#pragma once

#include "engine/core/dataset_file.h"
#include "schemas/preview.h"

namespace kedge::engine {

inline constexpr std::int64_t kMostPreviewRows = 100;

// At most n_rows first rows (1 to kMostPreviewRows), fewer of wide tables. Missing and distinct values are counted in the first rows alone where the table
// is large: some 20 million cells are looked at. Errors: those of typed_meta() and of unknown columns in the request;
// kCancelled where a StopScope says so.
schema::DatasetPreview preview_of(const schema::PreviewRequest& request, const DatasetFile& data, std::int64_t n_rows);

}  // namespace kedge::engine
