// Arrays that are made when they are read: every value is there, and what is not read takes no memory.
#include "engine/core/demand_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "engine/backend/loader.h"
#include "engine/core/demand_rows.h"
#include "engine/core/host_view.h"

// As UCX's, which stands in for libc's in each process that loads it: the address to move to is lost. These tests would
// hang.
extern "C" void* mremap(void* from, std::size_t bytes, std::size_t new_bytes, int flags, ...) noexcept {
  return reinterpret_cast<void*>(::syscall(SYS_mremap, from, bytes, new_bytes, flags & ~MREMAP_FIXED));
}

namespace kedge::engine {
namespace {

constexpr std::int64_t kRows = 40'000, kCols = 7;   // 28-byte rows lie across the pieces

float cell(std::int64_t row, std::int64_t col) {
  return static_cast<float>(row * 11 + col);
}

class DemandRowsOfCells : public testing::Test {
 protected:
  const float* rows() const { return host_view(X_.view()).row(0).data(); }
  void bring(std::int64_t first, std::int64_t count) {
    rows_.bring(first, count, [&](float* matrix) {
      for (std::int64_t i = first; i < first + count; ++i)
        for (std::int64_t j = 0; j < kCols; ++j) matrix[i * kCols + j] = cell(i, j);
    });
  }
  void expect_all() const {
    for (std::int64_t i = 0; i < kRows; ++i)
      for (std::int64_t j = 0; j < kCols; ++j) ASSERT_EQ(rows()[i * kCols + j], cell(i, j)) << i << ", " << j;
  }

  std::unique_ptr<Device> device_ = open_device("cpu");
  DemandRows<float> rows_{device_->memory(), kCols, [](std::int64_t row, float* out) {
                            for (std::int64_t j = 0; j < kCols; ++j) out[j] = cell(row, j);
                          }};
  Matrix<float> X_{rows_.memory(), kRows, kCols};
};

TEST_F(DemandRowsOfCells, AreMadeWhereTheyAreRead) {
  EXPECT_EQ(rows_.held(), 0);
  EXPECT_EQ(rows()[30'000 * kCols + 3], cell(30'000, 3));
  EXPECT_EQ(rows_.held(), 64 << 10);
  expect_all();
  EXPECT_GE(rows_.held(), kRows * kCols * 4);
}

TEST_F(DemandRowsOfCells, ThatWereBroughtLieBesideThoseThatAreRead) {
  bring(10'001, 9'998);
  const std::int64_t own = 9'998 * kCols * 4;
  EXPECT_GE(rows_.held(), own);
  EXPECT_LE(rows_.held(), own + (128 << 10));
  expect_all();
}

TEST_F(DemandRowsOfCells, AreBroughtInSmallPartsAndTwice) {
  for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {39'999, 1}, {5, 3'000}, {100, 40}})
    bring(first, count);
  expect_all();
}

TEST_F(DemandRowsOfCells, AreReadByManyThreads) {
  std::vector<std::jthread> threads;
  for (std::int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::int64_t i = 0; i < kRows; ++i) {
        const std::int64_t row = (i * 7 + t * 10'000) % kRows;
        ASSERT_EQ(rows()[row * kCols + 6], cell(row, 6));
      }
    });
}

// A fault that is no read of such an array.
TEST_F(DemandRowsOfCells, DoNotHideOtherFaults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EQ(rows()[0], cell(0, 0));
  volatile std::uintptr_t nowhere = 16;
  EXPECT_DEATH(*reinterpret_cast<volatile int*>(nowhere) = 1, "");
}

}   // namespace
}   // namespace kedge::engine
