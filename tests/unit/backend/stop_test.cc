// Operations of the CPU end when the job of their thread is to stop, and only then.
#include "engine/core/stop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/host/parallel_tasks.h"
#include "engine/backend/host/side_by_side.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kLongNs = 1'000'000'000;   // said to be long: for_tiles() takes all threads

std::stop_token stopped() {
  std::stop_source source;
  source.request_stop();
  return source.get_token();
}

void expect_cancelled(const std::function<void()>& work) {
  try {
    work();
    ADD_FAILURE() << "went on";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kCancelled);
  }
}

TEST(JobStop, IsThatOfTheInnermostScopeOfTheThread) {
  check_job_stop();
  const StopScope outer(stopped());
  EXPECT_THROW(check_job_stop(), schema::Error);
  {
    const StopScope inner{std::stop_token()};
    check_job_stop();
  }
  EXPECT_THROW(check_job_stop(), schema::Error);
  std::jthread([] { check_job_stop(); }).join();   // another thread works for no job
}

TEST(JobStop, EndsALoopOnAllThreadsBetweenTiles) {
  for (const std::int64_t cost_ns : {std::int64_t{1}, kLongNs}) {
    std::stop_source source;
    const StopScope scope(source.get_token());
    std::atomic<int> after = 0;
    expect_cancelled([&] {
      for_tiles(10'000, 1, cost_ns, [&](std::int64_t, std::int64_t, std::int64_t) {
        if (source.stop_requested()) ++after;
        source.request_stop();
      });
    });
    EXPECT_LE(after, omp_get_max_threads());   // those that were under way
  }
}

TEST(JobStop, IsSeenByThreadsThatAParallelLoopTakes) {
  std::stop_source source;
  const StopScope scope(source.get_token());
  const auto work = [&](std::int64_t, auto...) {
    source.request_stop();
    check_job_stop();
    ADD_FAILURE() << "the thread does not see it";
  };
  expect_cancelled([&] { for_tiles(64, 1, kLongNs, work); });
  source = {};
  {
    const StopScope fresh(source.get_token());
    expect_cancelled([&] { side_by_side(64, work); });
  }
  source = {};
  const StopScope fresh(source.get_token());
  expect_cancelled([&] { parallel_tasks(3, 64, work); });
}

TEST(JobStop, AThreadForgetsItAfterTheLoop) {
  {
    std::stop_source source;
    const StopScope scope(source.get_token());
    for_tiles(64, 1, kLongNs, [](std::int64_t, std::int64_t, std::int64_t) {});
    source.request_stop();
  }
  std::atomic<int> count = 0;
  for_tiles(64, 1, kLongNs, [&](std::int64_t, std::int64_t, std::int64_t) {
    check_job_stop();
    ++count;
  });
  EXPECT_EQ(count, 64);
}

// --- every kind of long operation, on tables of a few hundred rows ---

struct Operands {
  static constexpr std::int64_t kRows = 300, kCols = 80;
  std::vector<double> x = std::vector<double>(kRows * kCols), y = x, square = std::vector<double>(kCols * kCols),
                      sums = std::vector<double>(kRows);
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(kRows);
  std::vector<std::int64_t> counts = std::vector<std::int64_t>(kRows);
  Backend<double> ops = make_cpu_backend<double>();
  Operands() {
    for (std::size_t e = 0; e < x.size(); ++e) x[e] = static_cast<double>(e * 7919 % 1009);
    for (std::int64_t i = 0; i < kCols; ++i) square[static_cast<std::size_t>(i * kCols + i)] = 1;
  }
  MatrixView<double> X() { return {x.data(), kRows, kCols}; }
  MatrixView<double> Y() { return {y.data(), kRows, kCols}; }
  MatrixView<double> S() { return {square.data(), kCols, kCols}; }
  VectorView<double> column() { return {sums.data(), kCols}; }
};

struct Operation {
  const char* name;
  void (*run)(Operands&);
};
void PrintTo(const Operation& operation, std::ostream* out) {
  *out << operation.name;
}

constexpr Operation kOperations[] = {
    {"gather", [](Operands& o) { o.ops.tables->gather(o.X(), {}, {}, {}, o.Y()); }},
    {"column_moments", [](Operands& o) { o.ops.tables->column_moments(o.X(), {}, {}, o.column(), {}); }},
    {"gemm", [](Operands& o) { o.ops.linear->gemm(Transpose::kYes, Transpose::kNo, 1, o.X(), o.X(), 0, o.S()); }},
    {"gram", [](Operands& o) { o.ops.linear->gram(1, o.X(), o.S()); }},
    {"eigh", [](Operands& o) { o.ops.factorise->eigh(o.S(), o.column()); }},
    {"leading_eigh", [](Operands& o) { o.ops.factorise->eigh(o.S(), {o.sums.data(), 3}); }},
    {"svd", [](Operands& o) { o.ops.factorise->svd(o.X(), o.Y(), o.column(), o.S()); }},
    {"orthonormalize", [](Operands& o) { o.ops.factorise->orthonormalize(o.X()); }},
    {"solve_positive", [](Operands& o) { o.ops.factorise->solve_positive(o.S(), {o.y.data(), Operands::kCols, 1}); }},
    {"design_gram", [](Operands& o) { o.ops.design->gram({.X = o.X()}, o.S()); }},
    {"design_triangle", [](Operands& o) { o.ops.design->triangle({.X = o.X()}, o.S()); }},
    {"nearest",
     [](Operands& o) {
       o.ops.neighbours->nearest(o.X(), o.X(), 1, {o.labels.data(), Operands::kRows, 1},
                                 {o.sums.data(), Operands::kRows, 1});
     }},
    {"count_within",
     [](Operands& o) {
       o.ops.distances->index_points(o.X(), {Metric::kEuclidean, 2})
           ->count_within(o.X(), 1, {o.labels.data(), Operands::kRows});
     }},
    {"distances",
     [](Operands& o) { o.ops.distances->pairwise(o.X(), o.X().row_range(0, 80), {Metric::kManhattan, 1}, o.Y()); }},
    {"sort_columns",
     [](Operands& o) {
       o.ops.columns->sort_columns(o.X(), {}, {o.y.data(), Operands::kCols, Operands::kRows},
                                   {o.counts.data(), Operands::kCols});
     }},
    {"class_moments",
     [](Operands& o) {
       o.ops.bayes->class_moments(o.X(), {}, {o.labels.data(), Operands::kRows}, {}, {o.sums.data(), 1},
                                  {o.y.data(), 1, Operands::kCols}, {o.y.data() + Operands::kCols, 1, Operands::kCols});
     }},
    {"assign_nearest",
     [](Operands& o) {
       o.ops.clusters->assign_nearest(o.X(), o.X().row_range(0, 9), {o.labels.data(), Operands::kRows});
     }},
    {"softmax_rows", [](Operands& o) { o.ops.rows->softmax_rows(o.X()); }},
    {"normalize_rows", [](Operands& o) { o.ops.maps->normalize_rows(RowNorm::kL2, o.X()); }},
};

class StoppedOperation : public ::testing::TestWithParam<Operation> {};

TEST_P(StoppedOperation, ThrowsThatTheJobWasCancelled) {
  Operands operands;
  {
    const StopScope scope(stopped());
    expect_cancelled([&] { GetParam().run(operands); });
  }
  GetParam().run(operands);   // and runs for a job that is not
}

INSTANTIATE_TEST_SUITE_P(Cpu, StoppedOperation, ::testing::ValuesIn(kOperations),
                         [](const auto& info) { return std::string(info.param.name); });

}   // namespace
}   // namespace kedge::engine
