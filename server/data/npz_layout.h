// What the members of an .npz file say of a table, before its values are read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/dataset_file.h"
#include "server/data/npz_array.h"

namespace kedge::server {

enum class NpzForm { kMatrix, kColumns, kSparse };

// A column that comes from a member of its own.
struct NpzPart {
  const ZipMember* member = nullptr;
  std::string name;   // of the column
  std::optional<std::vector<std::string>> categories = {};
  std::int64_t n_filled = 0;   // of what is behind the features: values that are not 0
  const std::vector<std::string>* texts() const { return categories ? &*categories : nullptr; }
};

struct NpzLayout {
  NpzForm form = NpzForm::kMatrix;
  std::int64_t n_rows = 0, n_features = 0;
  std::vector<std::string> names;                                // of the features; empty: numbered
  std::map<std::int64_t, std::vector<std::string>> categories;   // of features in a matrix
  std::vector<NpzPart> features;                                 // of kColumns
  std::vector<NpzPart> extras;                                   // y, sample_weight, groups
  bool has_target = false;                                       // the first of the extras
  bool is_float32 = false;   // all but the values of a sparse matrix are exact in it
};

// Reads the file's names, categories and shapes, and y, sample_weight and groups. Errors: as parse_npz().
NpzLayout read_npz_layout(const ZipFile& zip, const std::string& source);

// The columns, in the order in which they lie in the values; without what is counted while they are read.
engine::DatasetMeta meta_of(const NpzLayout& layout);

// The member of this name, without .npy; null if there is none.
const ZipMember* find_npz_member(const ZipFile& zip, std::string_view name);

}   // namespace kedge::server
