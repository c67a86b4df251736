// Page faults that make what is read: see demand_memory.h.
#include "engine/core/demand_memory.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <utility>

#include "engine/core/require.h"

namespace kedge::engine {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20, kLeastPiece = std::size_t{64} << 10;
constexpr std::size_t kMostPieces = 8192;   // each may become a mapping of its own, of which a process has 65,530

// The kernel's own call: UCX, which some MPIs load, puts a function of four arguments in place of libc's mremap, and
// the fifth, where to, is lost.
bool move_mapping(std::byte* from, std::size_t bytes, std::byte* to) {
  const long at = ::syscall(SYS_mremap, from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to);
  return at == static_cast<long>(reinterpret_cast<std::uintptr_t>(to));
}

}   // namespace

// What the handler knows of, which has no argument for it. A place is taken and left by the thread of a job.
struct DemandFaults {
  static inline std::array<std::atomic<DemandMemory*>, 32> arrays{};
  static inline struct sigaction former{};

  static void handle(int, siginfo_t* info, void*) {
    const int error = errno;
    for (const std::atomic<DemandMemory*>& place : arrays) {
      DemandMemory* const memory = place.load();
      if (!memory || !memory->holds(info->si_addr)) continue;
      const auto at = static_cast<std::size_t>(static_cast<std::byte*>(info->si_addr) - memory->array_);
      if (!memory->make_piece(at / memory->piece_bytes_)) break;
      errno = error;
      return;   // the read is tried again
    }
    ::sigaction(SIGSEGV, &former, nullptr);   // a fault of another kind ends the process as it would have
  }

  static void add(DemandMemory* memory) {
    static std::once_flag once;
    std::call_once(once, [] {
      struct sigaction own{};
      own.sa_sigaction = handle;
      own.sa_flags = SA_SIGINFO | SA_NODEFER;
      ::sigaction(SIGSEGV, &own, &former);
    });
    for (std::atomic<DemandMemory*>& place : arrays) {
      DemandMemory* none = nullptr;
      if (place.compare_exchange_strong(none, memory)) return;
    }
    throw schema::Error(schema::ErrorCode::kInternal, "more than 32 arrays are made on demand");
  }
  static bool any_holds(const void* address) {
    return std::ranges::any_of(arrays, [&](const std::atomic<DemandMemory*>& place) {
      const DemandMemory* const memory = place.load();
      return memory && memory->holds(address);
    });
  }
  static void remove(DemandMemory* memory) {
    for (std::atomic<DemandMemory*>& place : arrays) {
      DemandMemory* own = memory;
      place.compare_exchange_strong(own, nullptr);
    }
  }
};

DemandMemory::DemandMemory(Memory& host, Make make) : host_(host), make_(std::move(make)) {}

DemandMemory::~DemandMemory() {
  deallocate(array_);
}

void* DemandMemory::allocate(std::size_t bytes) {
  require(!array_, schema::ErrorCode::kInternal, "a DemandMemory has one array");
  bytes_ = std::max<std::size_t>(bytes, 1);
  piece_bytes_ = kLeastPiece;
  while (piece_bytes_ * kMostPieces < bytes_) piece_bytes_ *= 2;
  const std::size_t n_pieces = (bytes_ + piece_bytes_ - 1) / piece_bytes_;
  reserved_bytes_ = n_pieces * piece_bytes_ + kHugePage;
  void* const p = ::mmap(nullptr, reserved_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(p != MAP_FAILED, schema::ErrorCode::kOutOfMemory, "no addresses for {} bytes", bytes);
  reserved_ = static_cast<std::byte*>(p);
  array_ = reserved_ + (kHugePage - reinterpret_cast<std::uintptr_t>(reserved_) % kHugePage);
  is_made_ = std::vector<std::atomic<bool>>(n_pieces);
  DemandFaults::add(this);
  return array_;
}

void DemandMemory::deallocate(void* p) noexcept {
  if (!p || p != array_) return;
  DemandFaults::remove(this);
  ::munmap(reserved_, reserved_bytes_);
  reserved_ = array_ = nullptr;
  is_made_.clear(), held_ = 0;
}

bool DemandMemory::holds(const void* address) const {
  const auto* const p = static_cast<const std::byte*>(address);
  return array_ && p >= array_ && p < array_ + is_made_.size() * piece_bytes_;
}

bool DemandMemory::any_holds(const void* address) {
  return DemandFaults::any_holds(address);
}

std::size_t DemandMemory::piece_end(std::size_t piece) const {
  return std::min(bytes_, (piece + 1) * piece_bytes_);
}

// The piece is made elsewhere and moved to its place whole, so that no thread reads one that is half made.
bool DemandMemory::make_piece(std::size_t piece) {
  while (is_busy_.exchange(true)) ::sched_yield();
  bool is_there = is_made_[piece].load();
  if (!is_there) {
    void* const made = ::mmap(nullptr, piece_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made != MAP_FAILED) {
      const std::size_t first = piece * piece_bytes_;
      make_(first, piece_end(piece) - first, static_cast<std::byte*>(made));
      is_there = move_mapping(static_cast<std::byte*>(made), piece_bytes_, array_ + first);
      if (is_there) is_made_[piece] = true, held_ += piece_bytes_;
      else ::munmap(made, piece_bytes_);
    }
  }
  is_busy_ = false;
  return is_there;
}

void DemandMemory::bring(std::size_t first, std::size_t bytes, const std::function<void(std::byte* array)>& write) {
  if (bytes == 0) return;
  const std::size_t begin = first / piece_bytes_, end = (first + bytes + piece_bytes_ - 1) / piece_bytes_;
  for (const std::size_t edge : {begin, end - 1})   // partly others'
    require(is_made_[edge].load() || make_piece(edge), schema::ErrorCode::kOutOfMemory, "no memory for {} bytes",
            piece_bytes_);
  std::byte* const inner = array_ + (begin + 1) * piece_bytes_;
  if (begin + 1 < end - 1) {
    const std::size_t inner_bytes = (end - begin - 2) * piece_bytes_;
    require(::mprotect(inner, inner_bytes, PROT_READ | PROT_WRITE) == 0, schema::ErrorCode::kOutOfMemory,
            "no memory for {} bytes", inner_bytes);
    ::madvise(inner, inner_bytes, MADV_HUGEPAGE);   // advice alone
    for (std::size_t piece = begin + 1; piece < end - 1; ++piece) is_made_[piece] = true;
    held_ += inner_bytes;
  }
  write(array_);
}

}   // namespace kedge::engine
