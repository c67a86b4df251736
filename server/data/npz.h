// NumPy's .npz files: named arrays in a ZIP, which say what each column of a table is.
#pragma once

#include <string_view>

#include "server/data/parse.h"

namespace kedge::server {

// A table from the members, each a .npy array, stored or deflated:
//   X                   numbers, two dimensions; or
//   columns.0, .1 ...   one array for each column: numbers or texts; or
//   data, indices, indptr, shape   a sparse matrix in CSR form, as scipy.sparse.save_npz writes it (format, if there,
//   is csr) y, sample_weight, groups       one value for each row; y may be texts. y is the target, the other two are
//   no features feature_names       texts, one for each column of X; without them "x0", "x1" ..., or "0", "1" ... of a
//   sparse matrix target_name         the text that y is called, instead of "y" categories.N, categories.y     texts:
//   column N, or y, holds their places, -1 or NaN for what is missing
// Values are float32 when every number is exact in it (of X and columns by their type), otherwise float64. A sparse
// matrix is stored sparse unless more than a quarter of its values is there. Errors: kDatasetCorrupt, which names the
// member; kCancelled; kInternal (disk). Source: https://numpy.org/doc/stable/reference/generated/numpy.savez.html
engine::DatasetMeta parse_npz(std::string_view bytes, const ParseRequest& request);

}   // namespace kedge::server
