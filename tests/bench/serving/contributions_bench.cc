// Contributions of trees to their answers for the rows of an NPY file: contributions_bench MODEL ROWS.npy ANSWERS.f64
// [BACKGROUND.npy | pairs]. MODEL is a file of XGBoost or LightGBM, or a forest that contributions.py has written.
// Writes the contributions, of pairs the interactions, and prints the best of some runs as JSON.
#include <fmt/core.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>

#include "engine/core/npy.h"
#include "engine/estimators/contributions.h"
#include "engine/imported/imported_model.h"

namespace {

using namespace kedge::engine;
using Clock = std::chrono::steady_clock;

std::string content_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Takes n values off the front of the bytes.
template <class T>
std::vector<T> taken(std::string_view& bytes, std::int64_t n) {
  std::vector<T> values(static_cast<std::size_t>(n));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  bytes.remove_prefix(values.size() * sizeof(T));
  return values;
}

// Trees, nodes, columns and classes; then the arrays of Forest.
Forest forest_of(std::string_view bytes) {
  const std::vector<std::int64_t> size = taken<std::int64_t>(bytes, 4);
  Forest forest{.n_classes = static_cast<std::int32_t>(size[3]), .n_cols = size[2]};
  forest.tree_offset = taken<std::int64_t>(bytes, size[0] + 1);
  forest.feature = taken<std::int32_t>(bytes, size[1]);
  forest.left = taken<std::int32_t>(bytes, size[1]);
  forest.right = taken<std::int32_t>(bytes, size[1]);
  forest.threshold = taken<double>(bytes, size[1]);
  forest.value = taken<double>(bytes, size[1] * size[3]);
  forest.weight = taken<double>(bytes, size[1]);
  return forest;
}

template <class Work>
double best_seconds(int runs, const Work& work) {
  double best = 1e9;
  for (int run = 0; run < runs; ++run) {
    const auto start = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

}   // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return 2;
  const std::string file = content_of(argv[1]);
  const bool among_pairs = argc == 5 && std::string_view(argv[4]) == "pairs";
  const NpyArray rows = read_npy(content_of(argv[2])),
                 background = argc == 5 && !among_pairs ? read_npy(content_of(argv[4])) : NpyArray();
  std::vector<double> answers;
  double seconds = 0;
  if (is_foreign_model(file)) {
    const ImportedModel model = import_model(file);
    seconds = best_seconds(3, [&] {
      answers = ensemble_contributions(model.trees, rows.values, background.values, rows.rows, among_pairs);
    });
  } else {
    const Forest forest = forest_of(file);
    const AskedCells asked{.n_rows = rows.rows,
                           .rows = rows.values,
                           .n_background = background.rows,
                           .background = background.values,
                           .among_pairs = among_pairs};
    seconds = best_seconds(3, [&] { answers = tree_contributions(shap_trees(forest), asked); });
  }
  std::ofstream(argv[3], std::ios::binary)
      .write(reinterpret_cast<const char*>(answers.data()),
             static_cast<std::streamsize>(answers.size() * sizeof(double)));
  fmt::print("{{\"seconds\": {:.4f}}}\n", seconds);
  return 0;
}
