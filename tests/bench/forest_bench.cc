// Times the CPU forest on raw files made by forest.py: X.f32 (row-major float32) and y.u8. Prints one JSON
// line for each fold. Usage: kedge_forest_bench X.f32 y.u8 ROWS COLS CLASSES TREES FOLDS
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "engine/backend/cpu/cpu_device.h"

namespace {

using namespace kedge::engine;

double wall() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double cpu() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

template <class T>
std::vector<T> read(const char* path, std::size_t n) {
  std::vector<T> values(n);
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(n * sizeof(T)))) {
    std::fprintf(stderr, "%s is shorter than %zu numbers\n", path, n);
    std::exit(1);
  }
  return values;
}

double accuracy(const std::vector<double>& proba, const std::vector<std::int32_t>& rows,
                const std::vector<std::int32_t>& y, int k) {
  std::int64_t right = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double* p = proba.data() + i * static_cast<std::size_t>(k);
    right += std::max_element(p, p + k) - p == y[rows[i]];
  }
  return static_cast<double>(right) / static_cast<double>(rows.size());
}

// Changes with any bit of the forest or of what it predicts (FNV-1a).
template <class T>
std::uint64_t digest(const std::vector<T>& values, std::uint64_t hash) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (std::size_t i = 0; i < values.size() * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}
std::uint64_t digest(const Forest& f, const std::vector<double>& proba) {
  std::uint64_t hash =
      digest(f.tree_offset, digest(f.feature, digest(f.bin, digest(f.threshold, 0xcbf29ce484222325))));
  hash = digest(f.left, digest(f.right, digest(f.value, digest(f.impurity, digest(f.weight, hash)))));
  return digest(proba, hash);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8)
    return std::fprintf(stderr, "usage: %s X.f32 y.u8 ROWS COLS CLASSES TREES FOLDS\n", argv[0]), 64;
  const std::int64_t n = std::atoll(argv[3]), d = std::atoll(argv[4]);
  const int k = std::atoi(argv[5]), folds = std::atoi(argv[7]);
  const auto X = read<float>(argv[1], static_cast<std::size_t>(n * d));
  const auto bytes = read<std::uint8_t>(argv[2], static_cast<std::size_t>(n));
  const std::vector<std::int32_t> y(bytes.begin(), bytes.end());
  const auto device = make_cpu_device();
  double start = wall(), start_cpu = cpu();
  const BinnedTable table = device->trees().bin(MatrixView<const float>(X.data(), n, d));
  std::printf("{\"bin_s\": %.3f, \"cpu_s\": %.3f}\n", wall() - start, cpu() - start_cpu);
  for (int fold = 0; fold < folds; ++fold) {
    std::vector<std::int32_t> train, test;
    for (std::int32_t i = 0; i < n; ++i) (i % 5 == fold ? test : train).push_back(i);
    const ForestOptions options{
        .n_trees = std::atoll(argv[6]), .max_features = static_cast<std::int32_t>(std::sqrt(d)), .seed = 42};
    std::vector<double> proba(test.size() * static_cast<std::size_t>(k));
    start = wall(), start_cpu = cpu();
    const Forest forest = device->trees().grow(table, {train.data(), static_cast<std::int64_t>(train.size())},
                                               {.n_classes = k, .codes = {y.data(), n}}, options, {}, {});
    const double grown = wall();
    device->trees().prepare(forest)->predict(table, {test.data(), static_cast<std::int64_t>(test.size())},
                                             {proba.data(), static_cast<std::int64_t>(test.size()), k});
    const double predicted = wall(), used = cpu() - start_cpu;
    std::printf(
        "{\"fit_s\": %.3f, \"predict_s\": %.3f, \"cpu_s\": %.3f, \"accuracy\": %.5f, \"digest\": "
        "\"%016llx\"}\n",
        grown - start, predicted - grown, used, accuracy(proba, test, y, k),
        static_cast<unsigned long long>(digest(forest, proba)));
    std::fflush(stdout);
  }
}
