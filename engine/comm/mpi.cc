// The communicator over libkedge_mpi.so.
#include "engine/comm/mpi.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "engine/comm/mpi_plugin.h"
#include "engine/comm/parts.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

class LoadedMpi final : public MpiComm {
 public:
  explicit LoadedMpi(const MpiTable& mpi) : mpi_(mpi), rank_(mpi.rank()), size_(mpi.size()) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string library() const override {
    MpiMessage message{};
    mpi_.library(&message);
    return message.text;
  }
  void finish() override { mpi_.close(); }
  void exchange(int other, std::span<const std::byte> out, std::span<std::byte> in) override {
    std::vector<std::int64_t> out_sizes(static_cast<std::size_t>(size_)), in_sizes = out_sizes;
    out_sizes[static_cast<std::size_t>(other)] = length(out);
    in_sizes[static_cast<std::size_t>(other)] = length(in);
    checked(
        [&](MpiMessage* m) { return mpi_.all_to_all(out.data(), out_sizes.data(), in.data(), in_sizes.data(), m); });
  }

  void all_reduce(std::span<std::int64_t> values, IntegerOp op) override {
    const MpiReduction reduction = op == IntegerOp::kSum ? kMpiSum : op == IntegerOp::kMin ? kMpiMin : kMpiMax;
    checked([&](MpiMessage* m) { return mpi_.reduce_integers(values.data(), length(values), reduction, m); });
  }
  void all_reduce(std::span<double> values, OrderOp op) override {
    checked([&](MpiMessage* m) {
      return mpi_.reduce_doubles(values.data(), length(values), op == OrderOp::kMin ? kMpiMin : kMpiMax, m);
    });
  }
  void broadcast(std::span<std::byte> bytes, int root) override {
    checked([&](MpiMessage* m) { return mpi_.broadcast(bytes.data(), length(bytes), root, m); });
  }
  PartedBytes all_gather(std::span<const std::byte> mine) override {
    PartedBytes all = room_for(sizes_of_all(*this, length(mine)));
    const std::vector<std::int64_t> sizes = sizes_in(all);
    checked([&](MpiMessage* m) { return mpi_.all_gather(mine.data(), all.bytes.data(), sizes.data(), m); });
    return all;
  }
  // By all_to_all and additions: sums of parts of any size, for any MPI.
  void reduce_scatter(std::span<const std::int64_t> all, std::span<std::int64_t> mine) override {
    PartedBytes out;
    out.bytes.resize(all.size_bytes());
    if (!all.empty()) std::memcpy(out.bytes.data(), all.data(), all.size_bytes());
    for (const std::int64_t size : sizes_of_all(*this, length(mine)))
      out.offsets.push_back(out.offsets.back() + size * static_cast<std::int64_t>(sizeof(std::int64_t)));
    if (out.offsets.back() != static_cast<std::int64_t>(all.size_bytes()))
      abort({ErrorCode::kInternal, "the parts of reduce_scatter are not as long as the whole"});
    const PartedBytes in = all_to_all(out);
    std::ranges::fill(mine, 0);
    std::vector<std::int64_t> term(mine.size());
    for (int r = 0; r < size_ && !mine.empty(); ++r) {
      std::memcpy(term.data(), in.part(r).data(), mine.size_bytes());
      std::ranges::transform(mine, term, mine.begin(), std::plus());
    }
  }
  PartedBytes all_to_all(const PartedBytes& out) override {
    const std::vector<std::int64_t> out_sizes = sizes_in(out), table = size_table(*this, out);
    std::vector<std::int64_t> in_sizes;
    for (int r = 0; r < size_; ++r) in_sizes.push_back(table[static_cast<std::size_t>(r * size_ + rank_)]);
    PartedBytes in = room_for(in_sizes);
    checked([&](MpiMessage* m) {
      return mpi_.all_to_all(out.bytes.data(), out_sizes.data(), in.bytes.data(), in_sizes.data(), m);
    });
    return in;
  }

  void abort(const Error& why) override {
    fmt::print(stderr, "kedge-worker: rank {} of {}: {}\n", rank_, size_, why.message);
    std::fflush(stderr);
    mpi_.abort(EXIT_FAILURE);
    std::_Exit(EXIT_FAILURE);
  }

 private:
  template <class Call>
  void checked(Call call) {
    MpiMessage message{};
    if (call(&message)) abort({ErrorCode::kInternal, message.text});
  }

  const MpiTable& mpi_;   // of a library that stays loaded
  const int rank_, size_;
};

}   // namespace

std::unique_ptr<MpiComm> open_mpi(const std::filesystem::path& plugin) {
  // Global: an MPI loads modules of its own, which look for its symbols.
  void* const library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) throw Error(ErrorCode::kDeviceUnavailable, fmt::format("the MPI plug-in does not load: {}", dlerror()));
  auto* const entry = reinterpret_cast<MpiEntry*>(dlsym(library, kMpiEntry));
  if (!entry)
    throw Error(ErrorCode::kDeviceUnavailable,
                fmt::format("{} has no {}: it is not an MPI plug-in", plugin.string(), kMpiEntry));
  const MpiTable& table = *entry();
  if (table.abi != kMpiAbi)
    throw Error(ErrorCode::kDeviceUnavailable,
                fmt::format("{} is of another build: interface {}, must be {}", plugin.string(), table.abi, kMpiAbi));
  MpiMessage message{};
  if (table.open(&message)) throw Error(ErrorCode::kDeviceUnavailable, message.text);
  return std::make_unique<LoadedMpi>(table);
}

std::filesystem::path usual_mpi_plugin() {
  std::error_code ignored;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::array folders{folder, folder.parent_path() / "lib"};
  const bool is_mpich = std::getenv("PMI_SIZE") && !std::getenv("OMPI_COMM_WORLD_SIZE") && !std::getenv("PMIX_RANK");
  if (is_mpich) {
    for (const auto& place : folders)
      if (std::filesystem::exists(place / "libkedge_mpich.so", ignored)) return place / "libkedge_mpich.so";
  }
  for (const auto& place : folders)
    if (std::filesystem::exists(place / "libkedge_mpi.so", ignored)) return place / "libkedge_mpi.so";
  return folders[0] / "libkedge_mpi.so";   // opening it says that it is missing
}

}   // namespace kedge::engine
