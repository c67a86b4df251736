// Any bytes as a model of XGBoost, LightGBM, CatBoost or ONNX: refused, or trees that come back from a stored model and
// answer.
#include <cstdlib>

#include "engine/imported/imported_model.h"
#include "schemas/error.h"

namespace {

using namespace kedge::engine;

constexpr std::size_t kLongest = 1 << 20;

}   // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kLongest) return 0;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  if (!is_foreign_model(file)) return 0;
  try {
    const ImportedModel model = import_model(file);
    if (model.program) {
      const CellWalk walk(*model.program);
      const std::int64_t n_cols = model.program->n_cols;
      for (const std::int64_t n_rows : {1, 17}) {
        std::vector<double> rows(static_cast<std::size_t>(n_rows * n_cols), 0.5);
        rows.front() = std::strtod("nan", nullptr), rows.back() = 1;
        for (const CellOutput& output : model.program->outputs) walk.output(output, rows, n_rows);
      }
      return 0;
    }
    if (model.trees.n_cols == 0) return 0;
    const EnsembleWalk walk(model.trees);
    for (const std::int64_t n_rows : {1, 17}) {
      std::vector<double> rows(static_cast<std::size_t>(n_rows * model.trees.n_cols), 0.5);
      rows.front() = std::strtod("nan", nullptr), rows.back() = -3;
      std::vector<double> answers = walk.margins(rows, n_rows);
      to_predictions(model.trees, answers);
    }
  } catch (const kedge::schema::Error&) {   // refused, as it should be
  }
  return 0;
}
