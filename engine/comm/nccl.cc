// The communicator over NCCL: every call copies to the GPU, lets NCCL work, waits, and copies back.
#include "engine/comm/nccl.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "engine/comm/nccl_join.h"
#include "engine/comm/parts.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::size_t kLeastStage = 64;

class LoadedNccl final : public NcclComm {
 public:
  LoadedNccl(Comm& bootstrap, const NcclOptions& options)
      : bootstrap_(bootstrap),
        options_(options),
        rank_(bootstrap.rank()),
        size_(bootstrap.size()),
        joined_(join_nccl(bootstrap, options)) {}
  ~LoadedNccl() override {
    if (joined_.comm) leave();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string library() const override { return "NCCL " + joined_.nccl.version_text(); }
  void finish() override {
    run("ncclCommFinalize", [&] { return nccl().finalize(joined_.comm); });
    run_plain("ncclCommDestroy", nccl().destroy(joined_.comm));
    joined_.comm = nullptr;
  }

  void all_reduce(std::span<std::int64_t> values, IntegerOp op) override {
    reduce(values, NcclType::kInt64,
           op == IntegerOp::kSum   ? NcclOp::kSum
           : op == IntegerOp::kMin ? NcclOp::kMin
                                   : NcclOp::kMax);
  }
  void all_reduce(std::span<double> values, OrderOp op) override {
    reduce(values, NcclType::kFloat64, op == OrderOp::kMin ? NcclOp::kMin : NcclOp::kMax);
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    for (std::size_t begin = 0; begin < bytes.size(); begin += options_.stage_bytes) {
      const std::span<std::byte> piece = bytes.subspan(begin, std::min(options_.stage_bytes, bytes.size() - begin));
      if (rank_ == root) to_device(joined_.out, piece.data(), piece.size());
      run("ncclBroadcast", [&] {
        return nccl().broadcast(joined_.out, joined_.in, piece.size(), NcclType::kUint8, root, joined_.comm, stream());
      });
      if (rank_ != root) to_host(piece.data(), joined_.in, piece.size());
      finish_copies();
    }
  }

  PartedBytes all_gather(std::span<const std::byte> mine) override {
    const std::vector<std::int64_t> sizes = sizes_of_all(*this, length(mine));
    PartedBytes all = room_for(sizes);
    const bool are_equal = std::ranges::count(sizes, sizes[0]) == size_;
    for (std::int64_t begin = 0; begin < std::ranges::max(sizes); begin += stage()) {
      const std::int64_t place = are_equal ? piece(sizes[0], begin) : stage();   // what is between two ranks' places
      if (const std::int64_t own = piece(sizes[at(rank_)], begin); own > 0)
        to_device(joined_.out, mine.data() + begin, static_cast<std::size_t>(own));
      gather_pieces(sizes, begin, place, are_equal);
      for (int r = 0; r < size_; ++r)
        if (const std::int64_t size = piece(sizes[at(r)], begin); size > 0)
          to_host(all.bytes.data() + all.offsets[at(r)] + begin, joined_.in + r * place,
                  static_cast<std::size_t>(size));
      finish_copies();
    }
    return all;
  }

  // NCCL has one for equal parts. With others all sums are made everywhere, which moves twice the bytes.
  void reduce_scatter(std::span<const std::int64_t> all, std::span<std::int64_t> mine) override {
    const std::vector<std::int64_t> sizes = sizes_of_all(*this, length(mine));
    std::int64_t before = 0, total = 0;
    for (int r = 0; r < size_; total += sizes[at(r++)])
      if (r == rank_) before = total;
    if (total != length(all)) abort({ErrorCode::kInternal, "the parts of reduce_scatter are not as long as the whole"});
    if (std::ranges::count(sizes, sizes[0]) == size_) return scatter_equal_sums(all, mine);
    std::vector<std::int64_t> sums(all.begin(), all.end());
    all_reduce(sums, IntegerOp::kSum);
    std::copy_n(sums.begin() + before, mine.size(), mine.begin());
  }

  PartedBytes all_to_all(const PartedBytes& out) override {
    const std::vector<std::int64_t> out_sizes = sizes_in(out), table = size_table(*this, out);
    std::vector<std::int64_t> in_sizes;
    for (int r = 0; r < size_; ++r) in_sizes.push_back(table[at(r * size_ + rank_)]);
    PartedBytes in = room_for(in_sizes);
    for (std::int64_t begin = 0; begin < std::ranges::max(table); begin += stage())
      exchange_pieces(out, out_sizes, in, in_sizes, begin);
    return in;
  }

  [[noreturn]] void abort(const Error& why) override {
    leave();
    bootstrap_.abort(why);
    std::abort();   // not reached, which the compiler cannot know of a virtual function
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  const NcclTable& nccl() const { return joined_.nccl; }
  void* stream() const { return joined_.stream->handle(); }

  // Bytes of one rank in a buffer that has room for all: a multiple of 8.
  std::int64_t stage() const { return static_cast<std::int64_t>(options_.stage_bytes) / size_ / 8 * 8; }
  std::int64_t piece(std::int64_t size, std::int64_t begin) const {
    return std::clamp(size - begin, std::int64_t{0}, stage());
  }

  template <class T, class Op>
  void reduce(std::span<T> values, NcclType type, Op op) {
    const std::size_t step = options_.stage_bytes / sizeof(T);
    for (std::size_t begin = 0; begin < values.size(); begin += step) {
      const std::span<T> part = values.subspan(begin, std::min(step, values.size() - begin));
      to_device(joined_.out, part.data(), part.size_bytes());
      run("ncclAllReduce",
          [&] { return nccl().all_reduce(joined_.out, joined_.in, part.size(), type, op, joined_.comm, stream()); });
      to_host(part.data(), joined_.in, part.size_bytes());
      finish_copies();
    }
  }

  // One piece of each rank's part, from `out` there to its place in `in` here.
  void gather_pieces(const std::vector<std::int64_t>& sizes, std::int64_t begin, std::int64_t place, bool are_equal) {
    if (are_equal)
      return run("ncclAllGather", [&] {
        return nccl().all_gather(joined_.out, joined_.in, static_cast<std::size_t>(place), NcclType::kUint8,
                                 joined_.comm, stream());
      });
    run_group("ncclBroadcast", [&](auto add) {
      for (int r = 0; r < size_; ++r)
        if (const std::int64_t size = piece(sizes[at(r)], begin); size > 0)
          add(nccl().broadcast(joined_.out, joined_.in + r * place, static_cast<std::size_t>(size), NcclType::kUint8, r,
                               joined_.comm, stream()));
    });
  }

  void scatter_equal_sums(std::span<const std::int64_t> all, std::span<std::int64_t> mine) {
    constexpr std::int64_t kSize = sizeof(std::int64_t);
    const std::int64_t n = length(mine), step = stage() / kSize;
    for (std::int64_t begin = 0; begin < n; begin += step) {
      const auto count = static_cast<std::size_t>(std::min(step, n - begin));
      for (int r = 0; r < size_; ++r)
        to_device(joined_.out + static_cast<std::size_t>(r) * count * kSize, all.data() + r * n + begin, count * kSize);
      run("ncclReduceScatter", [&] {
        return nccl().reduce_scatter(joined_.out, joined_.in, count, NcclType::kInt64, NcclOp::kSum, joined_.comm,
                                     stream());
      });
      to_host(mine.data() + begin, joined_.in, count * kSize);
      finish_copies();
    }
  }

  void exchange_pieces(const PartedBytes& out, const std::vector<std::int64_t>& out_sizes, PartedBytes& in,
                       const std::vector<std::int64_t>& in_sizes, std::int64_t begin) {
    const auto size = [&](const std::vector<std::int64_t>& sizes, int r) {
      return static_cast<std::size_t>(piece(sizes[at(r)], begin));
    };
    for (int r = 0; r < size_; ++r)
      if (size(out_sizes, r) > 0) to_device(joined_.out + r * stage(), out.part(r).data() + begin, size(out_sizes, r));
    run_group("ncclSend and ncclRecv", [&](auto add) {
      for (int r = 0; r < size_; ++r) {
        if (size(out_sizes, r) > 0)
          add(nccl().send(joined_.out + r * stage(), size(out_sizes, r), NcclType::kUint8, r, joined_.comm, stream()));
        if (size(in_sizes, r) > 0)
          add(nccl().receive(joined_.in + r * stage(), size(in_sizes, r), NcclType::kUint8, r, joined_.comm, stream()));
      }
    });
    for (int r = 0; r < size_; ++r)
      if (size(in_sizes, r) > 0)
        to_host(in.bytes.data() + in.offsets[at(r)] + begin, joined_.in + r * stage(), size(in_sizes, r));
    finish_copies();
  }

  // One call, to its end on the GPU.
  template <class Call>
  void run(const char* what, Call call) {
    run_plain(what, call());
    const auto end = std::chrono::steady_clock::now() + options_.limit;
    const NcclResult taken = settle(nccl(), joined_.comm, options_.limit);
    if (taken != NcclResult::kSuccess) fail(what, taken);
    NcclResult state = NcclResult::kSuccess;
    const bool has_ended = wait_until(
        [&] {
          if (const NcclResult asked = nccl().async_error(joined_.comm, &state); asked != NcclResult::kSuccess)
            state = asked;
          if (state == NcclResult::kInProgress) return false;
          return state != NcclResult::kSuccess || is_idle();
        },
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()));
    if (!has_ended) fail(what, NcclResult::kInProgress);
    if (state != NcclResult::kSuccess) fail(what, state);
  }

  // The calls that `make` gives to its argument, as one. Nothing where it gives none.
  template <class Make>
  void run_group(const char* what, Make make) {
    run(what, [&] {
      NcclResult first = nccl().group_start();
      make([&](NcclResult result) {
        if (first == NcclResult::kSuccess) first = result;
      });
      const NcclResult end = nccl().group_end();   // also after an error, or the next call would be of this group
      const bool are_fine = first == NcclResult::kSuccess || first == NcclResult::kInProgress;
      return are_fine ? end : first;
    });
  }

  void run_plain(const char* what, NcclResult result) {
    if (result != NcclResult::kSuccess && result != NcclResult::kInProgress) fail(what, result);
  }

  // kInProgress: it has not ended.
  [[noreturn]] void fail(const char* what, NcclResult result) {
    abort(
        {ErrorCode::kInternal, result == NcclResult::kInProgress
                                   ? fmt::format("{} has not ended within {} ms: a rank is gone or makes another call",
                                                 what, options_.limit.count())
                                   : fmt::format("{}: {}", what, nccl_words(nccl(), joined_.comm, result))});
  }

  bool is_idle() {
    bool idle = false;
    checked([&] { idle = joined_.stream->is_idle(); });
    return idle;
  }
  void to_device(std::byte* device, const void* host, std::size_t bytes) {
    checked([&] { joined_.stream->to_device(device, host, bytes); });
  }
  void to_host(void* host, const std::byte* device, std::size_t bytes) {
    checked([&] { joined_.stream->to_host(host, device, bytes); });
  }
  void finish_copies() {
    if (!wait_until([&] { return is_idle(); }, options_.limit)) fail("a copy from the GPU", NcclResult::kInProgress);
  }
  template <class Call>
  void checked(Call call) {
    try {
      call();
    } catch (const Error& error) {
      abort(error);
    }
  }

  // Ends NCCL's part after an error. Where NCCL does not end, the GPU's memory stays, since it may be in use.
  void leave() {
    if (!abort_nccl(nccl(), joined_.comm, options_.abort_limit)) keep_for_ever(std::move(joined_.stream));
    joined_.comm = nullptr;
  }

  Comm& bootstrap_;
  const NcclOptions options_;
  const int rank_, size_;
  NcclJoined joined_;
};

}   // namespace

std::unique_ptr<NcclComm> open_nccl(Comm& bootstrap, const NcclOptions& options) {
  const std::size_t least = kLeastStage * static_cast<std::size_t>(bootstrap.size());
  if (options.stage_bytes < least)
    throw Error(ErrorCode::kInvalidValue, fmt::format("stage_bytes is {}, must be at least {}: {} for each rank",
                                                      options.stage_bytes, least, kLeastStage));
  return std::make_unique<LoadedNccl>(bootstrap, options);
}

}   // namespace kedge::engine
