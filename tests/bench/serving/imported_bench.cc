// Asks an imported model for the rows of an NPY file, again and again: imported_bench MODEL ROWS.npy ANSWERS.f64
// Writes its answers, and prints the best of some runs as JSON.
#include <fmt/core.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>

#include "engine/core/npy.h"
#include "engine/imported/imported_model.h"

namespace {

using namespace kedge::engine;
using Clock = std::chrono::steady_clock;

std::string content_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
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
  if (argc != 4) return 2;
  const auto start = Clock::now();
  const ImportedModel model = import_model(content_of(argv[1]));
  const double import_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const EnsembleWalk walk(model.trees);
  const NpyArray rows = read_npy(content_of(argv[2]));
  std::vector<double> answers;
  const auto ask = [&](std::int64_t n_rows) {
    const auto n_cells = static_cast<std::size_t>(n_rows * rows.cols);
    answers = walk.margins(std::span(rows.values).first(n_cells), n_rows);
    to_predictions(model.trees, answers);
  };
  const double one = best_seconds(2000, [&] { ask(1); });
  const double all = best_seconds(7, [&] { ask(rows.rows); });
  std::ofstream out(argv[3], std::ios::binary);
  out.write(reinterpret_cast<const char*>(answers.data()),
            static_cast<std::streamsize>(answers.size() * sizeof(double)));
  fmt::print("{{\"rows_per_s\": {:.0f}, \"one_row_us\": {:.2f}, \"import_s\": {:.3f}, \"nodes\": {}}}\n",
             static_cast<double>(rows.rows) / all, one * 1e6, import_seconds, model.trees.n_nodes());
  return 0;
}
