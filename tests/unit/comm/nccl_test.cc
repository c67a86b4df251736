// The communicator over NCCL, on a stand-in for NCCL and for the driver: ranks are threads, and memory of the GPU is
// the host's.
#include "engine/comm/nccl.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <random>

#include "engine/comm/self.h"
#include "tests/unit/comm/comm_battery.h"
#include "tests/unit/comm/rank_threads.h"

namespace kedge::engine {
namespace {

using std::chrono::milliseconds;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

template <class Function>
Function* exported(const char* name) {
  void* const library = ::dlopen(KEDGE_STAND_IN_GPU, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

void set_fault(const char* what, int rank = -1, int call = 0) {
  exported<void(const char*, int, int)>("stand_in_set")(what, rank, call);
}

// What is on the devices. Some tests leave memory there on purpose.
std::size_t allocations() {
  return exported<std::size_t()>("stand_in_allocations")();
}

NcclOptions options_of(const Comm& bootstrap) {
  return {.device = bootstrap.rank(),
          .library = KEDGE_STAND_IN_GPU,
          .driver = KEDGE_STAND_IN_GPU,
          .stage_bytes = std::size_t{1} << 16,
          .start_limit = milliseconds(20'000),
          .limit = milliseconds(60'000)};
}

// The same as a comparison of texts, so that both bodies can be asked.
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
template <class T>
std::string text_of(const std::vector<T>& values) {
  return text_of(std::as_bytes(std::span(values)));
}

std::vector<std::int64_t> integers(std::mt19937_64& random, std::size_t n) {
  std::vector<std::int64_t> values(n);
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(random()) >> 4;
  return values;
}

std::vector<double> doubles(std::mt19937_64& random, std::size_t n) {
  std::vector<double> values(n);
  for (double& value : values) value = std::normal_distribution()(random);
  return values;
}

std::vector<std::byte> bytes(std::mt19937_64& random, std::size_t n) {
  const std::vector<std::int64_t> values = integers(random, n / 8 + 1);
  const auto all = std::as_bytes(std::span(values));
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)};
}

// What each of the seven calls gives this rank but abort(), with the same input for each communicator. `n`: about how
// many numbers.
std::vector<std::string> answers(Comm& comm, std::size_t n) {
  std::mt19937_64 random(static_cast<std::uint64_t>(comm.rank()) + 17 * n);
  const auto r = static_cast<std::size_t>(comm.rank()), size = static_cast<std::size_t>(comm.size());
  std::vector<std::string> texts;
  for (const IntegerOp op : {IntegerOp::kSum, IntegerOp::kMin, IntegerOp::kMax}) {
    std::vector<std::int64_t> values = integers(random, n);
    comm.all_reduce(values, op);
    texts.push_back(text_of(values));
  }
  for (const OrderOp op : {OrderOp::kMin, OrderOp::kMax}) {
    std::vector<double> values = doubles(random, n);
    comm.all_reduce(values, op);
    texts.push_back(text_of(values));
  }
  for (int root = 0; root < comm.size(); ++root) {
    std::vector<std::byte> values = bytes(random, n + 3);
    comm.broadcast(values, root);
    texts.push_back(text_of(values));
  }
  for (const std::size_t mine : {n, n * r, r == 0 ? n : 0})
    texts.push_back(text_of(comm.all_gather(bytes(random, mine)).bytes));
  for (const bool are_equal : {true, false}) {
    std::vector<std::int64_t> mine(are_equal ? n : n * r);
    comm.reduce_scatter(integers(random, are_equal ? n * size : n * size * (size - 1) / 2), mine);
    texts.push_back(text_of(mine));
  }
  PartedBytes out;
  for (std::size_t to = 0; to < size; ++to) out.add(bytes(random, (r + 2 * to) % 3 * n));
  texts.push_back(text_of(comm.all_to_all(out).bytes));
  return texts;
}

class NcclComms : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_fault("none"); }
  const std::size_t before_ = allocations();
};
INSTANTIATE_TEST_SUITE_P(Sizes, NcclComms, testing::Values(1, 2, 3, 4, 7, 8), testing::PrintToStringParamName());

TEST_P(NcclComms, DoWhatOneProcessComputes) {
  EXPECT_THAT(on_ranks(GetParam(),
                       [](Comm& bootstrap) {
                         const auto comm = open_nccl(bootstrap, options_of(bootstrap));
                         std::string faults;
                         for (const std::string& fault : comm_faults(*comm)) faults += fault + "\n";
                         comm->finish();
                         return faults;
                       }),
              Each(""));
  EXPECT_EQ(allocations(), before_);
}

TEST_P(NcclComms, AddExactSumsToTheBitsOfOneProcess) {
  const auto alone = make_self_comm();
  EXPECT_THAT(on_ranks(GetParam(),
                       [](Comm& bootstrap) {
                         const auto comm = open_nccl(bootstrap, options_of(bootstrap));
                         std::string sum = sum_over_ranks(*comm);
                         comm->finish();
                         return sum;
                       }),
              Each(sum_over_ranks(*alone)));
}

// With buffers that are larger than what is sent, and with ones that it goes through in pieces.
TEST_P(NcclComms, GiveTheBytesOfTheThreadsBody) {
  const auto differences = on_ranks(GetParam(), [](Comm& bootstrap) {
    NcclOptions options = options_of(bootstrap);
    std::string found;
    for (const std::size_t stage : {std::size_t{1} << 16, std::size_t{1040}}) {
      options.stage_bytes = stage;
      const auto comm = open_nccl(bootstrap, options);
      for (const std::size_t n : {0, 1, 7, 300}) {
        const std::vector<std::string> expected = answers(bootstrap, n), given = answers(*comm, n);
        for (std::size_t i = 0; i < expected.size(); ++i)
          if (given[i] != expected[i]) found += fmt::format("answer {} of {} with buffers of {}\n", i, n, stage);
      }
      comm->finish();
    }
    return found;
  });
  EXPECT_THAT(differences, Each(""));
}

class NcclFaults : public testing::Test {
 protected:
  void SetUp() override { set_fault("none"); }
  void TearDown() override { set_fault("none"); }
  const std::size_t before_ = allocations();

  // What three ranks say that open it.
  static std::vector<std::string> opened(const std::function<void(NcclOptions&)>& change = [](NcclOptions&) {}) {
    return on_ranks(3, [&](Comm& bootstrap) {
      NcclOptions options = options_of(bootstrap);
      options.start_limit = milliseconds(200), options.abort_limit = milliseconds(200);
      change(options);
      open_nccl(bootstrap, options)->finish();
      return std::string("passed");
    });
  }
  // And what they say that then sum twice.
  static std::vector<std::string> summed(milliseconds limit = milliseconds(300)) {
    return on_ranks(3, [&](Comm& bootstrap) {
      NcclOptions options = options_of(bootstrap);
      options.limit = limit, options.abort_limit = milliseconds(200);
      const auto comm = open_nccl(bootstrap, options);
      std::vector<std::int64_t> values(10, bootstrap.rank());
      for (int i = 0; i < 2; ++i) comm->all_reduce(values, IntegerOp::kSum);
      comm->finish();
      return std::string("passed");
    });
  }
};

TEST_F(NcclFaults, AreNoneWithoutThem) {
  EXPECT_THAT(opened(), Each("passed"));
  EXPECT_THAT(summed(milliseconds(60'000)), Each("passed"));
}

TEST_F(NcclFaults, OfTheLibrariesAreSaidOnEveryRank) {
  EXPECT_THAT(opened([](NcclOptions& o) { o.library = "/nowhere/libnccl.so.2"; }),
              Each(StartsWith("NCCL cannot be used: rank 0: there is no NCCL: /nowhere/libnccl.so.2")));
  EXPECT_THAT(opened([](NcclOptions& o) { o.driver = "/nowhere/libcuda.so.1"; }),
              Each(HasSubstr("rank 0: there is no NVIDIA driver: /nowhere")));
  EXPECT_THAT(opened([](NcclOptions& o) { o.library = o.device == 1 ? "libdl.so.2" : o.library; }),
              Each(HasSubstr("rank 1: NCCL has no ncclGetVersion: it is too old, or another library")));
  set_fault("old version");
  EXPECT_THAT(opened(), Each(HasSubstr("rank 0: NCCL is of version 2.13.4, must be 2.14.0 or newer")));
  set_fault("no version");
  EXPECT_THAT(opened(), Each(HasSubstr("NCCL does not tell its version")));
  set_fault("other version", 1);
  EXPECT_THAT(opened(), Each(HasSubstr("rank 1 has NCCL 2.18.5, must be 2.28.9 as rank 0")));
  set_fault("no id");
  EXPECT_THAT(opened(), Each("passed"));   // only where it is of rank 0
  set_fault("no id", 0);
  EXPECT_THAT(opened(), Each(HasSubstr("rank 0: ncclGetUniqueId: unhandled system error; as the test wants")));
  EXPECT_EQ(allocations(), before_);
}

TEST_F(NcclFaults, OfTheDevicesAreSaidOnEveryRank) {
  set_fault("no device");
  EXPECT_THAT(opened(), Each(HasSubstr("rank 0: there is no GPU 0: the machine has 0")));
  set_fault("none");
  EXPECT_THAT(opened([](NcclOptions& o) { o.device *= 8; }),
              Each(HasSubstr("rank 1: there is no GPU 8: the machine has 8")));
  set_fault("same GPU");
  EXPECT_THAT(opened(), Each(HasSubstr("ranks 0 and 1 have the same GPU, GPU-00000000000000000000000000000000")));
  set_fault("memory", 2);
  EXPECT_THAT(opened(), Each(HasSubstr("rank 2: the GPU has no 65536 bytes free for messages")));
  set_fault("none");
  EXPECT_THAT(opened([](NcclOptions& o) { o.stage_bytes = 100; }),
              Each("stage_bytes is 100, must be at least 192: 64 for each rank"));
  EXPECT_EQ(allocations(), before_);
}

TEST_F(NcclFaults, OfTheBeginAreSaidOnEveryRank) {
  set_fault("init fails", 1);
  EXPECT_THAT(opened(), Each(HasSubstr("rank 1: unhandled system error")));   // not the patience of the others
  set_fault("init hangs", 1);
  EXPECT_THAT(opened(), Each(HasSubstr("rank 0: the ranks are not joined after 200 ms")));
  EXPECT_EQ(allocations(), before_);
}

TEST_F(NcclFaults, OfACallEndAllRanks) {
  set_fault("call fails", 1);
  std::vector<std::string> said = summed();
  EXPECT_EQ(said[1], "ncclAllReduce: internal error; as the test wants");
  EXPECT_THAT(said, Each(StartsWith("ncclAllReduce")));
  set_fault("call breaks", 2, 1);   // the second, and later
  said = summed();
  EXPECT_EQ(said[2], "ncclAllReduce: unhandled system error; as the test wants");
  EXPECT_THAT(said, Each(StartsWith("ncclAllReduce")));
  set_fault("copy", 0);
  said = summed();
  EXPECT_EQ(said[0], "cuMemcpyHtoDAsync: unspecified launch failure");
  EXPECT_THAT(said[1], HasSubstr("has not ended within 300 ms"));
  EXPECT_EQ(allocations(), before_);
}

TEST_F(NcclFaults, OfARankThatIsStuckEndAfterTheLimit) {
  set_fault("call hangs", 1, 1);
  EXPECT_THAT(summed(), Each("ncclAllReduce has not ended within 300 ms: a rank is gone or makes another call"));
  EXPECT_EQ(allocations(), before_);
}

TEST_F(NcclFaults, OfAnAbortThatIsStuckEndAsWell) {
  set_fault("abort hangs", 1, 0);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(summed(), Each(HasSubstr("has not ended within 300 ms")));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_EQ(allocations(), before_ + 6);   // the memory stays, since NCCL may use it
}

TEST_F(NcclFaults, OfRanksThatMakeDifferentCallsEndThem) {
  const auto said = on_ranks(3, [&](Comm& bootstrap) {
    NcclOptions options = options_of(bootstrap);
    options.limit = milliseconds(300);
    const auto comm = open_nccl(bootstrap, options);
    std::vector<std::int64_t> values(bootstrap.rank() == 2 ? 5 : 4);
    comm->all_reduce(values, IntegerOp::kSum);
    return std::string("passed");
  });
  EXPECT_THAT(said, Each(StartsWith("ncclAllReduce")));
}

TEST_F(NcclFaults, AreWhatARankAbortsWith) {
  const auto said = on_ranks(3, [&](Comm& bootstrap) {
    NcclOptions options = options_of(bootstrap);
    options.limit = milliseconds(300);
    const auto comm = open_nccl(bootstrap, options);
    if (bootstrap.rank() == 1) comm->abort({schema::ErrorCode::kInternal, "gone"});
    comm->all_gather({});
    return std::string("passed");
  });
  EXPECT_EQ(said[1], "gone");
  EXPECT_THAT(said[0], HasSubstr("has not ended"));
}

}   // namespace
}   // namespace kedge::engine
