// Data sets that are made in place of loaded: scikit-learn's make_* functions, with the same numbers for the same seed.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "schemas/catalogue.h"
#include "schemas/dataset.h"

namespace kedge::engine {

// A function of sklearn.datasets: its parameters under scikit-learn's names.
struct GeneratorInfo {
  std::string name, doc;
  std::vector<schema::ParamInfo> params;
};
const std::vector<GeneratorInfo>& generators();

// Throws kInvalidValue, kUnknownParameter or kWrongType, where = "dataset.generate...", for what write_generated()
// would refuse.
void check_generated(const schema::GenerateRef& ref);

// Writes the table as a mapped file: float64 columns x0, x1 ... and the target y. The same bytes each time. Ends early,
// with kCancelled, when the job of this thread is to stop. Errors: as check_generated(); kInternal for a full disk.
void write_generated(const schema::GenerateRef& ref, const std::filesystem::path& output);

}   // namespace kedge::engine
