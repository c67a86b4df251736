// What the CPU's hot ops reach: nearest neighbours, matrix products, column moments. Shapes are those of MNIST.
#include <benchmark/benchmark.h>

#include <span>
#include <vector>

#include "engine/backend/loader.h"

namespace kedge::engine {
namespace {

Device& cpu() {
  static const std::unique_ptr<Device> device = open_device("cpu");   // opened once for all benchmarks
  return *device;
}

template <class T>
Matrix<T> normal(std::int64_t rows, std::int64_t cols, std::uint64_t stream) {
  Matrix<T> m(cpu().memory(), rows, cols);
  cpu().ops<T>().rows->fill_normal(1, stream, m.view());
  return m;
}

void rate(benchmark::State& state, const char* name, double amount) {
  state.counters[name] = benchmark::Counter(amount, benchmark::Counter::kIsIterationInvariantRate);
}

// Queries x points of 784 columns, the 5 nearest. Limit: one matrix product.
template <class T>
void nearest(benchmark::State& state) {
  const std::int64_t m = state.range(0), n = state.range(1), d = 784;
  const auto queries = normal<T>(m, d, 1), points = normal<T>(n, d, 2);
  Matrix<std::int32_t> indices(cpu().memory(), m, 5);
  Matrix<T> squared(cpu().memory(), m, 5);
  for (auto _ : state)
    cpu().ops<T>().neighbours->nearest(queries.view(), points.view(), 5, indices.view(), squared.view());
  rate(state, "flops", 2.0 * static_cast<double>(m * n * d));
}
BENCHMARK(nearest<float>)->Args({1000, 20000})->Args({16, 60000})->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(nearest<double>)->Args({1000, 20000})->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

template <class T>
void square_product(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const auto a = normal<T>(n, n, 1), b = normal<T>(n, n, 2);
  Matrix<T> c(cpu().memory(), n, n);
  for (auto _ : state)
    cpu().ops<T>().linear->gemm(Transpose::kNo, Transpose::kYes, T{1}, a.view(), b.view(), T{0}, c.view());
  rate(state, "flops", 2.0 * static_cast<double>(n * n * n));
}
BENCHMARK(square_product<float>)->Arg(2048)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(square_product<double>)->Arg(2048)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

// Logistic regression's two products, 784 columns and 10 classes. Limit: reading X once.
template <class T>
void margins(benchmark::State& state) {
  const auto x = normal<T>(50000, 784, 1), w = normal<T>(10, 784, 2);
  Matrix<T> z(cpu().memory(), 50000, 10);
  for (auto _ : state)
    cpu().ops<T>().linear->gemm(Transpose::kNo, Transpose::kYes, T{1}, x.view(), w.view(), T{0}, z.view());
  rate(state, "bytes", 50000.0 * 784 * sizeof(T));
}
BENCHMARK(margins<float>)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

template <class T>
void gradient(benchmark::State& state) {
  const auto x = normal<T>(50000, 784, 1), z = normal<T>(50000, 10, 2);
  Matrix<T> g(cpu().memory(), 10, 784);
  for (auto _ : state)
    cpu().ops<T>().linear->gemm(Transpose::kYes, Transpose::kNo, T{1}, z.view(), x.view(), T{0}, g.view());
  rate(state, "bytes", 50000.0 * 784 * sizeof(T));
}
BENCHMARK(gradient<float>)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

template <class T>
void gram(benchmark::State& state) {
  const std::int64_t rows = state.range(0);
  const auto x = normal<T>(rows, 784, 1);
  Matrix<T> c(cpu().memory(), 784, 784);
  for (auto _ : state) cpu().ops<T>().linear->gram(T{1}, x.view(), c.view());
  rate(state, "flops", static_cast<double>(rows) * 784 * 784);   // of one triangle
}
BENCHMARK(gram<float>)->Arg(8192)->Arg(50000)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

template <class T>
void small_gram(benchmark::State& state) {
  const std::int64_t n = state.range(0), d = state.range(1);
  const auto x = normal<T>(n, d, 1);
  Matrix<T> c(cpu().memory(), d, d);
  for (auto _ : state) cpu().ops<T>().linear->gram(T{1}, x.view(), c.view());
}
BENCHMARK(small_gram<float>)->Args({1797, 64})->Args({1000, 50})->Unit(benchmark::kMicrosecond);
BENCHMARK(small_gram<double>)->Args({569, 30})->Args({1797, 64})->Args({1000, 50})->Args({1000, 200})->Unit(benchmark::kMicrosecond);

template <class T>
void eigh(benchmark::State& state) {
  const std::int64_t d = state.range(0);
  const auto x = normal<T>(4 * d, d, 1);
  Matrix<T> c(cpu().memory(), d, d);
  std::vector<T> w(static_cast<std::size_t>(d));
  cpu().ops<T>().linear->gram(T{1}, x.view(), c.view());
  const std::vector<T> gram(c.view().data, c.view().data + d * d);
  for (auto _ : state) {
    std::copy(gram.begin(), gram.end(), c.view().data);
    cpu().ops<T>().factorise->eigh(c.view(), VectorView<T>{w.data(), d});
  }
}
BENCHMARK(eigh<double>)->Arg(4)->Arg(10)->Arg(30)->Arg(64)->Arg(65)->Unit(benchmark::kMicrosecond);
BENCHMARK(eigh<float>)->Arg(30)->Arg(64)->Unit(benchmark::kMicrosecond);

template <class T>
void column_moments(benchmark::State& state) {
  const std::int64_t n = state.range(0), d = state.range(1);
  const auto x = normal<T>(n, d, 1);
  Array<double> mean(cpu().memory(), d), variance(cpu().memory(), d);
  for (auto _ : state) cpu().ops<T>().tables->column_moments(x.view(), {}, {}, mean.view(), variance.view());
  rate(state, "bytes", 2.0 * static_cast<double>(n * d) * sizeof(T));
}
BENCHMARK(column_moments<float>)->Args({50000, 784})->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(column_moments<double>)->Args({569, 30})->Args({442, 10})->Args({500000, 50})->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMicrosecond);

template <class T>
void standardise(benchmark::State& state) {
  const std::int64_t n = state.range(0), d = state.range(1);
  const auto x = normal<T>(n, d, 1);
  const std::vector<double> ones(static_cast<std::size_t>(d), 1.0);
  const Array<double> shift(cpu().memory(), std::span<const double>(ones)), scale(cpu().memory(), std::span<const double>(ones));
  Matrix<T> out(cpu().memory(), n, d);
  for (auto _ : state) cpu().ops<T>().tables->gather(x.view(), {}, shift.view(), scale.view(), out.view());
}
BENCHMARK(standardise<double>)->Args({569, 30})->Args({442, 10})->Args({100000, 50})->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(standardise<float>)->Args({569, 30})->Args({50000, 784})->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMicrosecond);

// Moments of 10 classes over all rows of a table. Limit: reading X once.
template <class T>
void class_moments(benchmark::State& state) {
  const auto x = normal<T>(50000, 784, 1);
  std::vector<std::int32_t> codes(50000);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int32_t>(i * 7 % 10);
  const Array<std::int32_t> y(cpu().memory(), std::span<const std::int32_t>(codes));
  Array<double> count(cpu().memory(), 10);
  Matrix<double> mean(cpu().memory(), 10, 784), variance(cpu().memory(), 10, 784);
  for (auto _ : state)
    cpu().ops<T>().bayes->class_moments(x.view(), {}, y.view(), {}, count.view(), mean.view(), variance.view());
  rate(state, "bytes", 50000.0 * 784 * sizeof(T));
}
BENCHMARK(class_moments<float>)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

// The log likelihoods of 14,000 rows under 10 classes. Limit: arithmetic in double.
template <class T>
void gaussian_log_likelihood(benchmark::State& state) {
  const auto x = normal<T>(14000, 784, 1);
  const auto mean = normal<double>(10, 784, 2);
  const Matrix<double> variance(cpu().memory(), 10, 784, std::vector<double>(7840, 2.0));
  const Array<double> prior(cpu().memory(), std::span<const double>(std::vector<double>(10, -1.0)));
  Matrix<T> z(cpu().memory(), 14000, 10);
  for (auto _ : state)
    cpu().ops<T>().bayes->gaussian_log_likelihood(x.view(), mean.view(), variance.view(), prior.view(), z.view());
  rate(state, "terms", 14000.0 * 7840);
}
BENCHMARK(gaussian_log_likelihood<float>)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kedge::engine

BENCHMARK_MAIN();
