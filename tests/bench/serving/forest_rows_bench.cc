// Runs rows of values through a forest that forest_rows.py has written: forest_rows_bench FOREST ROWS.npy ANSWERS.f64
// Writes the mean outputs, and prints the best of some runs as JSON.
#include <fmt/core.h>
#include <omp.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <vector>

#include "engine/backend/cpu/cpu_device.h"
#include "engine/backend/ops/trees.h"
#include "engine/core/npy.h"

namespace {

using namespace kedge::engine;
using Clock = std::chrono::steady_clock;

template <class T>
std::vector<T> read(std::ifstream& file, std::int64_t n) {
  std::vector<T> values(static_cast<std::size_t>(n));
  file.read(reinterpret_cast<char*>(values.data()), n * static_cast<std::int64_t>(sizeof(T)));
  return values;
}

// Trees, nodes, columns and classes; then the arrays of Forest.
Forest forest_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<std::int64_t> size = read<std::int64_t>(file, 4);
  Forest forest{.n_classes = static_cast<std::int32_t>(size[3]), .n_cols = size[2]};
  forest.tree_offset = read<std::int64_t>(file, size[0] + 1);
  forest.feature = read<std::int32_t>(file, size[1]);
  forest.left = read<std::int32_t>(file, size[1]);
  forest.right = read<std::int32_t>(file, size[1]);
  forest.threshold = read<double>(file, size[1]);
  forest.value = read<double>(file, size[1] * size[3]);
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
  if (argc != 4) return 2;
  const Forest forest = forest_of(argv[1]);
  std::ifstream rows_file(argv[2], std::ios::binary);
  const NpyArray rows = read_npy(std::string{std::istreambuf_iterator<char>(rows_file), {}});
  const std::unique_ptr<Device> device = make_cpu_device();
  const auto start = Clock::now();
  const std::unique_ptr<ReadyForest> ready = device->trees().prepare(forest);
  std::vector<double> out(static_cast<std::size_t>(rows.rows * forest.n_outputs()));
  const auto ask = [&](std::int64_t n) {
    ready->predict(MatrixView<const double>(rows.values.data(), n, rows.cols, rows.cols),
                   MatrixView<double>(out.data(), n, forest.n_outputs(), forest.n_outputs()));
  };
  ask(1);
  const double first = std::chrono::duration<double>(Clock::now() - start).count();
  const double one = best_seconds(500, [&] { ask(1); });
  const double all = best_seconds(7, [&] { ask(rows.rows); });
  std::ofstream(argv[3], std::ios::binary)
      .write(reinterpret_cast<const char*>(out.data()), static_cast<std::streamsize>(out.size() * sizeof(double)));
  fmt::print("{{\"rows_per_s\": {:.0f}, \"one_row_us\": {:.2f}, \"first_ms\": {:.2f}, \"nodes\": {}}}\n",
             static_cast<double>(rows.rows) / all, one * 1e6, first * 1e3, forest.n_nodes());
  return 0;
}
