// Sums over rows that ranks with a GPU each divide: the bits of one GPU, from own rows alone. The GPUs are emulated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/cuda/dealt_sums.h"
#include "engine/backend/emulated/gpu_models.h"
#include "engine/backend/emulated/launch_check.h"
#include "engine/backend/emulated/observer.h"
#include "engine/backend/functors.h"
#include "engine/backend/raw.h"
#include "engine/comm/dealt_blocks.h"
#include "engine/estimators/dealt_sums.h"
#include "tests/unit/comm/rank_threads.h"

namespace kedge::engine {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kRows = kLeastDealtRows + 1'100, kCols = 3;

std::vector<double> waves(std::int64_t n) {   // of all magnitudes down to 2^-60
  std::vector<double> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = std::sin(0.7 * static_cast<double>(i)) * std::ldexp(1.0, -static_cast<int>(i % 61));
  return v;
}
// The same of values that all matter.
std::vector<double> ripples(std::int64_t n) {
  std::vector<double> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = 1.5 + std::sin(0.7 * static_cast<double>(i * i % 10'007));
  return v;
}

// NaN in all rows but `read` and the first.
template <class T>
std::vector<T> known(const std::vector<double>& cells, std::int64_t cols, Part read) {
  std::vector<T> some(cells.size(), static_cast<T>(kNaN));
  for (std::int64_t e = 0; e < std::ssize(cells); ++e)
    if (e < cols || (e >= read.begin * cols && e < read.end * cols))
      some[static_cast<std::size_t>(e)] = static_cast<T>(cells[static_cast<std::size_t>(e)]);
  return some;
}

// Blocks of a kernel that all emulated GPUs run while it lives.
class Blocks final : public emulated::Observer {
 public:
  explicit Blocks(std::string_view kernel) : kernel_(kernel) { emulated::observer = this; }
  ~Blocks() override { emulated::observer = nullptr; }
  std::int64_t count() const { return count_; }

  void launch_begins(const emulated::Launch& launch, const void*, const void*) override {
    if (std::string_view(launch.name).find(kernel_) != std::string_view::npos) count_ += launch.grid.x;
  }
  void block_begins() override {}
  void block_meets() override {}
  void launch_ends() override {}
  void atomic(const void*, std::size_t) override {}
  void library(const char*, std::size_t, double, double) override {}
  void copied(emulated::Copy, std::size_t) override {}
  void waited() override {}
  void allocated(std::size_t) override {}

 private:
  std::string_view kernel_;
  std::atomic<std::int64_t> count_ = 0;
};

std::string text_of(const std::vector<double>& values) {
  std::string text;
  for (const double v : values) text += std::to_string(std::bit_cast<std::uint64_t>(v)) + " ";
  return text;
}

// What an operation leaves on a GPU, given the rows that it may read.
using Found = std::function<std::vector<double>(Device&, Part)>;

std::string alone(const Found& found, std::int64_t n) {
  const std::unique_ptr<Device> device = make_cuda_device({});
  return text_of(found(*device, {0, n}));
}

std::vector<std::string> divided(int size, const Found& found, std::int64_t n,
                                 const emulated::GpuModel* last = nullptr) {
  return on_ranks(size, [&](Comm& comm) {
    Ranks ranks(comm);
    const RanksScope scope(&ranks);
    const bool is_last = comm.rank() + 1 == comm.size();
    const std::unique_ptr<Device> device =
        make_cuda_device({.seed = 1 + static_cast<std::uint64_t>(comm.rank()), .model = is_last ? last : nullptr});
    const DealtSumsScope sums(*device, true);
    return text_of(found(*device, own_rows(ranks_of_rows_on(*device, n), n)));
  });
}

class GpuRowSums : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, GpuRowSums, testing::Values(1, 2, 3, 4, 40), testing::PrintToStringParamName());

void append(const std::vector<double>& more, std::vector<double>& all) {
  all.insert(all.end(), more.begin(), more.end());
}

TEST_P(GpuRowSums, OfMomentsAreThoseOfOneGpu) {
  const std::vector<double> cells = waves(kRows * kCols), shares = ripples(kRows);
  const Found found = [&](Device& device, Part read) {
    const Matrix<double> X(device.memory(), kRows, kCols, known<double>(cells, kCols, read));
    const Array<double> weights(device.memory(), std::span<const double>(shares));
    Array<double> mean(device.memory(), kCols), variance(device.memory(), kCols);
    std::vector<double> all;
    for (const bool are_weighed : {false, true}) {
      device.f64().tables->column_moments(X.view(), {}, are_weighed ? weights.view() : VectorView<const double>(),
                                          mean.view(), variance.view());
      append(mean.to_host(), all), append(variance.to_host(), all);
    }
    return all;
  };
  const std::string one = alone(found, kRows);
  EXPECT_EQ(one.find("9221120237041090560"), std::string::npos) << "no NaN";
  EXPECT_THAT(divided(GetParam(), found, kRows), Each(one));
}

TEST_P(GpuRowSums, OfColumnsAndClassesAreThoseOfOneGpu) {
  const std::vector<double> cells = waves(kRows * kCols);
  const Found found = [&](Device& device, Part read) {
    const Matrix<double> X(device.memory(), kRows, kCols, known<double>(cells, kCols, read));
    const Matrix<float> whole(device.memory(), kRows, kCols, known<float>(cells, kCols, {0, kRows}));
    std::vector<std::int32_t> codes(static_cast<std::size_t>(kRows));
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int32_t>(i % 5 % 3);
    const Array<std::int32_t> y(device.memory(), std::span<const std::int32_t>(codes));
    Array<double> sums(device.memory(), kCols), count(device.memory(), 3);
    Matrix<double> mean(device.memory(), 3, kCols), variance(device.memory(), 3, kCols);
    Matrix<double> no_first = Matrix<double>(device.memory(), kRows, kCols, [&] {
      std::vector<double> zero = known<double>(cells, kCols, read);
      if (read.begin > 0) std::fill_n(zero.begin(), kCols, kNaN);
      return zero;
    }());
    device.f64().rows->column_sums(no_first.view(), sums.view());
    device.f32().bayes->class_moments(whole.view(), {}, y.view(), {}, count.view(), mean.view(), variance.view());
    std::vector<double> all = sums.to_host();
    append(count.to_host(), all), append(mean.to_host(), all), append(variance.to_host(), all);
    return all;
  };
  EXPECT_THAT(divided(GetParam(), found, kRows), Each(alone(found, kRows)));
}

// Blocks of rows of a design are not those of own rows: that they are divided is counted.
TEST_P(GpuRowSums, OfDesignsAreThoseOfOneGpu) {
  const std::vector<double> cells = ripples(kRows * kCols), target = waves(kRows), roots = ripples(kRows);
  std::vector<std::int32_t> chosen(static_cast<std::size_t>(kRows));
  for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = static_cast<std::int32_t>((i * 7) % chosen.size());
  const Found found = [&](Device& device, Part) {
    const Matrix<float> X(device.memory(), kRows, kCols, known<float>(cells, kCols, {0, kRows}));
    const Matrix<double> Y(device.memory(), kRows, 1, target);
    const Array<double> weights(device.memory(), std::span<const double>(roots)),
        coef(device.memory(), std::vector<double>{0.5, -0.25, 2});
    const Array<std::int32_t> rows(device.memory(), std::span<const std::int32_t>(chosen));
    Matrix<double> G(device.memory(), kCols + 1, kCols + 1);
    Array<double> slopes(device.memory(), kCols);
    std::vector<double> all;
    for (const bool are_chosen : {false, true}) {
      const Design<float> design{.X = X.view(),
                                 .rows = are_chosen ? rows.view() : VectorView<const std::int32_t>(),
                                 .weights = weights.view(),
                                 .Y = Y.view()};
      device.f32().design->gram(design, G.view());
      device.f32().design->slopes(design, coef.view(), slopes.view());
      append(G.to_host(), all), append(slopes.to_host(), all);
    }
    return all;
  };
  std::int64_t of_one = 0;
  std::string one;
  {
    const Blocks blocks("tall_");
    one = alone(found, kRows);
    of_one = blocks.count();
  }
  const Blocks blocks("tall_");
  EXPECT_THAT(divided(GetParam(), found, kRows), Each(one));
  EXPECT_EQ(blocks.count(), of_one);
}

TEST_P(GpuRowSums, OfTheLogisticLossAreThoseOfOneGpu) {
  const std::vector<double> cells = ripples(kRows * kCols), shares = ripples(kRows);
  std::vector<std::int32_t> codes(static_cast<std::size_t>(kRows));
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = cells[i * kCols] > 1.6 ? 1 : 0;
  const Found found = [&](Device& device, Part read) {
    const Matrix<float> X(device.memory(), kRows, kCols, known<float>(cells, kCols, read)),
        B(device.memory(), 1, kCols, std::vector<float>{0.3F, -0.2F, 0.1F});
    const Array<float> b(device.memory(), std::vector<float>{0, -0.4F});
    const Array<std::int32_t> y(device.memory(), std::span<const std::int32_t>(codes));
    const Array<double> weights(device.memory(), std::span<const double>(shares));
    Matrix<float> Z(device.memory(), kRows, 2), G(device.memory(), 1, kCols);
    Array<double> intercepts(device.memory(), 2);
    std::vector<double> all;
    for (const bool are_weighed : {false, true}) {
      Z.zero();
      all.push_back(device.f32().logistic->gradient(X.view(), B.view(), b.view(), y.view(),
                                                    are_weighed ? weights.view() : VectorView<const double>(), Z.view(),
                                                    G.view()));
      device.f32().rows->column_sums(std::as_const(Z).view(), intercepts.view());   // of the rank's derivatives
      for (const float g : G.to_host()) all.push_back(static_cast<double>(g));
      append(intercepts.to_host(), all);
    }
    return all;
  };
  EXPECT_THAT(divided(GetParam(), found, kRows), Each(alone(found, kRows)));
}

// How many labels change, and the sums of clusters, of two steps of k-means.
std::vector<double> steps_of_means(Device& device, std::int64_t n, std::int64_t k, std::int64_t d,
                                   const std::vector<double>& cells, Part read) {
  const Matrix<float> X(device.memory(), n, d, known<float>({cells.begin(), cells.begin() + n * d}, d, read));
  Array<std::int32_t> labels(device.memory(), n);
  const auto rows = device.f32().clusters->follow_centers(X.view(), {}, labels.view());
  std::vector<double> said;
  for (std::int64_t step = 0; step < 2; ++step) {
    const auto first = cells.begin() + step * d;
    const Matrix<float> centers(device.memory(), k, d, std::vector<float>(first, first + k * d));
    Matrix<double> sums(device.memory(), k, d + 1);
    said.push_back(static_cast<double>(rows->assign(centers.view())));
    rows->sum(sums.view());
    append(sums.to_host(), said);
  }
  return said;
}

TEST_P(GpuRowSums, OfMeansAreThoseOfOneGpu) {
  const std::vector<double> cells = ripples((kRows + 2) * kCols);
  const Found found = [&](Device& device, Part own) { return steps_of_means(device, kRows, 5, kCols, cells, own); };
  EXPECT_THAT(divided(GetParam(), found, kRows), Each(alone(found, kRows)));
}

// Of 0 and -0, which are equal, the range has the first.
TEST_P(GpuRowSums, RangesAreThoseOfOneGpu) {
  std::vector<double> cells = waves(kRows * kCols);
  for (std::size_t i = 1; i < cells.size(); i += kCols)
    cells[i] = i / kCols < 2'000 ? kNaN : i / kCols % 2 ? 0.0 : -0.0;
  const Found found = [&](Device& device, Part read) {
    std::vector<double> mine(cells.size(), 1e300);
    std::fill_n(mine.begin(), mine.size() / 2, -1e300);
    std::copy(cells.begin() + read.begin * kCols, cells.begin() + read.end * kCols, mine.begin() + read.begin * kCols);
    const Matrix<double> X(device.memory(), kRows, kCols, mine);
    Array<double> low(device.memory(), kCols), high(device.memory(), kCols);
    device.f64().tables->column_range(X.view(), {}, low.view(), high.view());
    std::vector<double> all = low.to_host();
    append(high.to_host(), all);
    return all;
  };
  const std::string one = alone(found, kRows);
  EXPECT_THAT(one, HasSubstr(text_of({-0.0}))) << "the first";
  EXPECT_THAT(divided(GetParam(), found, kRows), Each(one));
}

// Two steps of k-means++: rows of few columns and of more are read in different ways.
TEST_P(GpuRowSums, OfStartsAreThoseOfOneGpu) {
  for (const std::int64_t cols : {kCols, std::int64_t{18}}) {
    const std::vector<double> cells = ripples(kRows * cols), shares = ripples(kRows);
    const Found found = [&](Device& device, Part) {
      const Matrix<float> X(device.memory(), kRows, cols, known<float>(cells, cols, {0, kRows}));
      const Array<double> weights(device.memory(), std::span<const double>(shares)),
          thresholds(device.memory(), std::vector<double>{0, 40, 9'000, 1e300});
      const Array<std::int32_t> first(device.memory(), std::vector<std::int32_t>{17'000}),
          next(device.memory(), std::vector<std::int32_t>{3, 9'000});
      Matrix<float> least(device.memory(), 2, kRows), nearer(device.memory(), 2, kRows);
      Array<double> totals(device.memory(), 2);
      Array<std::int32_t> places(device.memory(), thresholds.size());
      totals.zero();
      ClusterOps<float>& ops = *device.f32().clusters;
      std::vector<double> all;
      ops.nearest_within(X.view(), first.view(), {}, weights.view(), least.view().row_range(0, 1),
                         totals.view().slice(0, 1));
      append(totals.to_host(), all);
      const VectorView<const float> kept(least.data(), kRows);
      ops.cumulative_search(kept, weights.view(), thresholds.view(), places.view());
      for (const std::int32_t place : places.to_host()) all.push_back(place);
      ops.nearest_within(X.view(), next.view(), kept, {}, nearer.view(), totals.view());
      append(totals.to_host(), all);
      return all;
    };
    EXPECT_THAT(divided(GetParam(), found, kRows), Each(alone(found, kRows))) << cols << " columns";
  }
}

// Meets as operations do, without a device.
class Meeting final : public RowMeeting {
 public:
  explicit Meeting(Ranks& ranks) : ranks_(ranks) {}
  RankSeat seat() const override { return {ranks_.rank(), ranks_.size()}; }
  void add(std::span<std::int64_t>, std::span<std::int64_t>, const std::function<void()>&,
           const std::function<void()>&) override {}
  std::vector<std::byte> gather(const std::function<std::vector<std::byte>()>& own) override {
    return ranks_.share(own).bytes;
  }

 private:
  Ranks& ranks_;
};

// Where centres are so many that tables of sums have more rows than blocks of own rows: parts of any rows.
TEST(GpuRowSumsOfMeans, GiveLabelsToAll) {
  constexpr std::int64_t kLabels = 101;
  std::vector<std::int32_t> right(kLabels);
  for (std::size_t i = 0; i < right.size(); ++i) right[i] = static_cast<std::int32_t>(i * 3);
  EXPECT_THAT(on_ranks(3,
                       [&](Comm& comm) {
                         Ranks ranks(comm);
                         Meeting meeting(ranks);
                         CudaRuntime gpu{{}};
                         DealtSums sums(gpu);
                         sums.meet_by(&meeting);
                         const Part own = rows_of_tiles(own_tiles(meeting.seat(), tiles_of(kLabels, 7)), 7, kLabels);
                         std::vector<std::int32_t> mine(kLabels, -1);
                         std::copy(right.begin() + own.begin, right.begin() + own.end, mine.begin() + own.begin);
                         Array<std::int32_t> labels(gpu, std::span<const std::int32_t>(mine));
                         sums.give(meeting.seat(), own, raw(labels));
                         const auto number = sums.add_number(meeting.seat(), [&] { return own.size(); });
                         return labels.to_host() == right && number == kLabels ? std::string("right") : "wrong";
                       }),
              Each("right"));
}

TEST(GpuRowSumsOfFewRows, AreMadeByEveryRank) {
  const std::int64_t n = kLeastDealtRows - 1;
  const std::vector<double> cells = waves(n);
  const Found found = [&](Device& device, Part) {
    const Matrix<double> Z(device.memory(), n, 1, cells);
    Array<double> sums(device.memory(), 1);
    device.f64().rows->column_sums(Z.view(), sums.view());
    return sums.to_host();
  };
  EXPECT_THAT(divided(3, found, n), Each(alone(found, n)));
}

// Of a rank's share, for example a fold, nothing is dealt; nor behind the scope.
TEST(GpuRowSumsWithinAShare, AreWhole) {
  const std::vector<double> cells = waves(kRows);
  const auto sum = [&](Device& device) {
    const Matrix<double> Z(device.memory(), kRows, 1, cells);
    Array<double> sums(device.memory(), 1);
    device.f64().rows->column_sums(Z.view(), sums.view());
    return sums.to_host();
  };
  const std::string one = alone([&](Device& device, Part) { return sum(device); }, kRows);
  EXPECT_THAT(on_ranks(2,
                       [&](Comm& comm) {
                         Ranks ranks(comm);
                         const RanksScope scope(&ranks);
                         const std::unique_ptr<Device> device = make_cuda_device({});
                         std::string said;
                         {
                           const DealtSumsScope sums(*device, true);
                           if (!ranks_of_rows_on(*device, kRows)) return std::string("not dealt");
                           ranks.share([&]() -> std::vector<std::byte> {
                             if (comm.rank() == 1) said = text_of(sum(*device));   // the other does not
                             return {};
                           });
                         }
                         if (ranks_of_rows_on(*device, kRows)) return std::string("dealt");
                         return comm.rank() == 1 ? said : text_of(sum(*device));
                       }),
              Each(one));
}

// The last rank's GPU has room for the table and not for the tables of its tiles.
TEST(GpuRowSumsErrors, AreThoseOfTheRankOnEveryRank) {
  const emulated::GpuModel usual = emulated::usual_model();
  emulated::GpuModel small = usual;
  const std::int64_t cols = 64;
  small.memory_bytes = static_cast<std::size_t>(kRows * cols) * sizeof(float) + (std::size_t{24} << 10);
  const std::vector<double> cells = ripples(kRows * cols);
  const Found found = [&](Device& device, Part) {
    const Matrix<float> X(device.memory(), kRows, cols, known<float>(cells, cols, {0, kRows}));
    Array<double> mean(device.memory(), cols), variance(device.memory(), cols);
    device.f32().tables->column_moments(X.view(), {}, {}, mean.view(), variance.view());
    return mean.to_host();
  };
  EXPECT_THAT(divided(3, found, kRows, &small), Each(HasSubstr("memory")));
}

}   // namespace
}   // namespace kedge::engine
