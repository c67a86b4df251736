// libkedge_kernel_times.so: where a program's time on an NVIDIA GPU goes, kernel by kernel, vendors' libraries
// included. CUDA loads it into any program that is started with CUDA_INJECTION64_PATH=libkedge_kernel_times.so; when
// the program ends, a table is appended to the file that KEDGE_KERNEL_TIMES names, or written to standard error.
// Records come from CUPTI's activity interface (NVIDIA, "CUPTI", CUDA Toolkit 13), which adds some microseconds to a
// launch.
#include <cupti.h>
#include <cxxabi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Sum {
  std::int64_t calls = 0;
  double ms = 0, longest_ms = 0, mb = 0;
};
struct Stretch {
  std::uint64_t begin, end;   // ns
};

struct Records {
  std::mutex mutex;
  std::map<std::string, Sum> sums;   // by kernel or kind of copy
  std::vector<Stretch> busy;
  std::FILE* out = stderr;   // opened at the start: a worker of Kedge gives up files later
};
Records& records() {
  static Records* const all = new Records;   // CUPTI may still call while the program ends
  return *all;
}

// The name without its namespaces and what it is called with; template arguments stay.
std::string short_name(const char* mangled) {
  int status = 0;
  char* const text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = status == 0 ? text : mangled;
  std::free(text);
  for (const char* const hidden : {"(anonymous namespace)::", "kedge::engine::", "void "})
    for (std::size_t at = 0; (at = name.find(hidden)) != std::string::npos;)
      name.erase(at, std::char_traits<char>::length(hidden));
  constexpr std::size_t kLongest = 90;
  name = name.substr(0, name.find('('));
  return name.size() > kLongest ? name.substr(0, kLongest) + "..." : name;
}

void add(const std::string& name, std::uint64_t begin, std::uint64_t end, std::uint64_t bytes) {
  if (begin == 0) return;   // CUPTI did not see it run
  constexpr double kMsOfNs = 1e-6, kMega = 1e6;
  Records& all = records();
  Sum& sum = all.sums[name];
  const double ms = static_cast<double>(end - begin) * kMsOfNs;
  ++sum.calls, sum.ms += ms, sum.longest_ms = std::max(sum.longest_ms, ms),
                             sum.mb += static_cast<double>(bytes) / kMega;
  all.busy.push_back({begin, end});
}

const char* copy_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "copy to the device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "copy to the host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "copy within the device";
    default:
      return "copy";
  }
}

void take(const CUpti_Activity* record) {
  if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    const auto* const kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
    add(short_name(kernel->name), kernel->start, kernel->end, 0);
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    const auto* const copy = reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
    add(copy_name(copy->copyKind), copy->start, copy->end, copy->bytes);
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
    const auto* const set = reinterpret_cast<const CUpti_ActivityMemset4*>(record);
    add("memory set", set->start, set->end, set->bytes);
  }
}

// Time in which at least one kernel or copy ran, and from the first one's begin to the last one's end.
struct Spans {
  double busy_ms = 0, all_ms = 0;
};
Spans spans_of(std::vector<Stretch>& busy) {
  constexpr double kMsOfNs = 1e-6;
  if (busy.empty()) return {};
  std::ranges::sort(busy, {}, &Stretch::begin);
  std::uint64_t covered = 0, end = busy.front().begin;
  for (const Stretch& part : busy) {
    if (part.end > end) covered += part.end - std::max(part.begin, end), end = part.end;
  }
  return {static_cast<double>(covered) * kMsOfNs, static_cast<double>(end - busy.front().begin) * kMsOfNs};
}

// Prints what was taken, and forgets it.
void print() {
  Records& all = records();
  const std::scoped_lock lock(all.mutex);
  if (all.sums.empty()) return;
  std::vector<std::pair<std::string, Sum>> rows(all.sums.begin(), all.sums.end());
  std::ranges::sort(rows, [](const auto& a, const auto& b) { return a.second.ms > b.second.ms; });
  const Spans spans = spans_of(all.busy);
  std::fprintf(all.out, "process %d: %.3f ms on the GPU within %.3f ms\n%10s %9s %10s %9s  %s\n",
               static_cast<int>(::getpid()), spans.busy_ms, spans.all_ms, "ms", "calls", "longest", "MB", "what");
  for (const auto& [name, sum] : rows)
    std::fprintf(all.out, "%10.3f %9lld %10.3f %9.1f  %s\n", sum.ms, static_cast<long long>(sum.calls), sum.longest_ms,
                 sum.mb, name.c_str());
  std::fflush(all.out);
  all.sums.clear(), all.busy.clear();
}

void finish() {
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  print();
}

std::size_t n_taken() {
  const std::scoped_lock lock(records().mutex);
  return records().busy.size();
}

void print_when_quiet() {
  constexpr auto kLook = std::chrono::milliseconds(100);
  constexpr int kQuietLooks = 5;
  std::size_t before = 0;
  for (int quiet = 0;;) {
    std::this_thread::sleep_for(kLook);
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    const std::size_t now = n_taken();
    quiet = now == before ? quiet + 1 : 0;
    before = now;
    if (now > 0 && quiet >= kQuietLooks) print(), before = 0;
  }
}

void CUPTIAPI lend_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBytes));
  *size = *buffer ? kBytes : 0, *most_records = 0;
}

void CUPTIAPI read_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  {
    const std::scoped_lock lock(records().mutex);
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) take(record);
  }
  std::free(buffer);
}

}   // namespace

// What CUDA calls in a library that it was told to load. Returns 1 where the library can work.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  bool works = cuptiActivityRegisterCallbacks(&lend_buffer, &read_buffer) == CUPTI_SUCCESS;
  for (const auto kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
    works = works && cuptiActivityEnable(kind) == CUPTI_SUCCESS;
  if (!works) return std::fputs("kernel times: CUPTI refused\n", stderr), 0;
  if (const char* const file = std::getenv("KEDGE_KERNEL_TIMES")) {
    std::FILE* const out = std::fopen(file, "a");
    if (out) records().out = out;
    else std::perror(file);
  }
  std::atexit(&finish);
  std::thread(&print_when_quiet).detach();
  return 1;
}
