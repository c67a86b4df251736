// kedge-arrow: reads one Parquet or Arrow file into the values of a data set, or writes one of them. Started by kedged,
// one process for each file: the file may be hostile and the libraries that decode it are large, so nothing is within
// reach of this process but the file and the values.
#include <arrow/util/config.h>
#include <fmt/core.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/arrow/channel.h"
#include "engine/arrow/fill_table.h"
#include "engine/arrow/table_source.h"
#include "engine/arrow/table_writer.h"
#include "engine/core/dataset_meta_codec.h"
#include "engine/version.h"
#include "engine/worker/confine.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr int kChannelFd = 3;
constexpr std::int64_t kMostSeconds = 4 * 3600;   // of processor time: a file that never ends

// What is mapped stays so until the process ends.
std::string_view map_input(int file) {
  struct stat status{};
  if (::fstat(file, &status) != 0 || status.st_size == 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (bytes == MAP_FAILED) throw Error(ErrorCode::kOutOfMemory, "the file cannot be mapped");
  return {static_cast<const char*>(bytes), size};
}

// The file that kedged made for the values, mapped while it is filled.
class Output {
 public:
  explicit Output(const ArrowMessage& go) : file_(go.file) {
    if (go.says != ArrowSays::kGo || go.body.size() < sizeof place_ || file_ < 0)
      throw Error(ErrorCode::kInternal, "kedged sent no file");
    std::memcpy(&place_, go.body.data(), sizeof place_);
    struct stat status{};
    ::fstat(file_, &status);
    size_ = static_cast<std::size_t>(status.st_size);
    bytes_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (bytes_ == MAP_FAILED) throw Error(ErrorCode::kOutOfMemory, "the table cannot be mapped");
  }
  Output(const Output&) = delete;
  ~Output() {
    if (bytes_ != MAP_FAILED) ::munmap(bytes_, size_);
    ::close(file_);
  }
  bool is_float32() const { return place_.is_float32 != 0; }
  template <class T>
  std::span<T> values() const {
    auto* const first = static_cast<std::byte*>(bytes_) + place_.offset;
    return {reinterpret_cast<T*>(first), (size_ - static_cast<std::size_t>(place_.offset)) / sizeof(T)};
  }

 private:
  int file_;
  ArrowOutput place_;
  std::size_t size_ = 0;
  void* bytes_ = MAP_FAILED;
};

bool fill(const TableSource& source, DatasetMeta& meta, const ArrowMessage& go, int threads, const ReportPart& report) {
  const Output output(go);
  return output.is_float32() ? fill_table(source, meta, output.values<float>(), threads, report)
                             : fill_table(source, meta, output.values<double>(), threads, report);
}

void send_numbers(ArrowChannel& channel, ArrowSays says, std::int64_t first, std::int64_t second) {
  const std::int64_t numbers[] = {first, second};
  channel.send(says, {reinterpret_cast<const char*>(numbers), sizeof numbers});
}

// Of all columns, those that the message wants have a place in the values; their fields.
std::vector<int> choose_columns(const ArrowMessage& go, DatasetMeta& meta) {
  const std::string_view wanted = std::string_view(go.body).substr(std::min(sizeof(ArrowOutput), go.body.size()));
  if (wanted.size() != meta.columns.size()) throw Error(ErrorCode::kInternal, "kedged does not say which columns");
  meta.n_values_columns = 0;
  std::vector<int> fields;
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    std::int64_t& place = meta.columns[c].values_column;
    if (place < 0) continue;
    place = wanted[c] ? meta.n_values_columns++ : -1;
    if (wanted[c]) fields.push_back(static_cast<int>(c));
  }
  return fields;
}

// What was filled, without the columns that are not wanted.
std::string description_of(const ArrowMessage& go, DatasetMeta meta) {
  std::size_t c = 0;
  std::erase_if(meta.columns, [&](const ColumnInfo&) { return !go.body[sizeof(ArrowOutput) + c++]; });
  return encode_meta(meta);
}

void serve(ArrowChannel& channel, int threads) {
  const std::string_view file = map_input(STDIN_FILENO);
  const auto file_bytes = static_cast<std::int64_t>(file.size());
  const auto source = open_table(file);
  const DatasetMeta columns = columns_of(*source);
  if (!channel.send(ArrowSays::kColumns, encode_meta(columns))) return;
  const ReportPart report = [&channel](std::int64_t done, std::int64_t total) {
    send_numbers(channel, ArrowSays::kProgress, done, total);
  };
  ArrowMessage go;
  while (channel.receive(go)) {
    DatasetMeta meta = columns;
    const std::vector<int> fields = choose_columns(go, meta);
    send_numbers(channel, ArrowSays::kReads, source->bytes(fields), file_bytes);
    if (fill(*source, meta, go, threads, report)) {
      channel.send(ArrowSays::kDone, description_of(go, std::move(meta)));
      return;
    }
    channel.send(ArrowSays::kNeedsFloat64, {});
  }
}

// The other way: from the values of a data set to a file.
void serve_writing(ArrowChannel& channel) {
  ArrowMessage go;
  ArrowInput input;
  if (!channel.receive(go)) return;
  if (go.says != ArrowSays::kGo || go.body.size() < sizeof input || go.file < 0)
    throw Error(ErrorCode::kInternal, "kedged sent no file");
  std::memcpy(&input, go.body.data(), sizeof input);
  const std::string_view rest = std::string_view(go.body).substr(sizeof input);
  const auto n_columns = static_cast<std::size_t>(input.n_columns);
  if (n_columns > rest.size()) throw Error(ErrorCode::kInternal, "kedged does not say which columns");
  const DatasetMeta meta = decode_meta(rest.substr(n_columns), "the table");
  const std::string_view table = map_input(STDIN_FILENO);
  const std::string_view values = table.substr(std::min(static_cast<std::size_t>(input.offset), table.size()));
  write_table({.meta = meta,
               .is_whole = rest.substr(0, n_columns),
               .values_f32 = {reinterpret_cast<const float*>(values.data()), values.size() / sizeof(float)},
               .values_f64 = {reinterpret_cast<const double*>(values.data()), values.size() / sizeof(double)}},
              input.form, go.file);
  channel.send(ArrowSays::kDone, {});
}

void limit(__rlimit_resource resource, std::int64_t most) {
  const rlimit bound{.rlim_cur = static_cast<rlim_t>(most), .rlim_max = static_cast<rlim_t>(most)};
  ::setrlimit(resource, &bound);
}

// The libraries are loaded; from here on nothing is opened. An old kernel lacks Landlock, the other bounds still hold.
void confine(std::int64_t memory) {
  leave_network();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  limit_resources();
  if (memory > 0) limit(RLIMIT_DATA, memory);   // the two files that are mapped do not count
  limit(RLIMIT_CPU, kMostSeconds);
  confine_files("/dev/null");
  deny_system_calls();
}

// Buffers of a few MiB come and go with each batch: the next one takes the pages of the last, which the kernel then
// need not clear again.
void keep_freed_memory() {
  constexpr int kLargestKept = 32 << 20, kMostKept = 1 << 30;
  ::mallopt(M_MMAP_THRESHOLD, kLargestKept);
  ::mallopt(M_TRIM_THRESHOLD, kMostKept);
}

int run(std::int64_t memory, int threads, bool is_writer) {
  ArrowChannel channel(kChannelFd);
  const auto refuse = [&](ErrorCode code, const std::string& why) {
    return channel.send(ArrowSays::kRefused, static_cast<char>(code) + why) ? EXIT_SUCCESS : EXIT_FAILURE;
  };
  const std::string no_room = fmt::format("its parts need more than {} bytes of memory", memory);
  try {
    keep_freed_memory();
    confine(memory);
    if (is_writer) serve_writing(channel);
    else serve(channel, threads);
    return EXIT_SUCCESS;
  } catch (const Error& error) {
    return refuse(error.code, error.code == ErrorCode::kOutOfMemory ? no_room : error.message);
  } catch (const std::bad_alloc&) {
    return refuse(ErrorCode::kOutOfMemory, no_room);
  } catch (const std::exception& error) {   // of Parquet's library
    return refuse(ErrorCode::kDatasetCorrupt, error.what());
  }
}

}   // namespace
}   // namespace kedge::engine

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--version") {
    fmt::print("{} (Arrow {})\n", kedge::kVersion, ARROW_VERSION_STRING);
    return EXIT_SUCCESS;
  }
  const bool is_writer = argc == 4 && std::string_view(argv[3]) == "write";
  if (argc != 3 && !is_writer) {
    fmt::print(stderr,
               "kedge-arrow: kedged starts it, with the bytes of memory that it may have, its number of threads, and "
               "'write' if it is to write a file\n");
    return EXIT_FAILURE;
  }
  return kedge::engine::run(std::atoll(argv[1]), std::atoi(argv[2]), is_writer);
}
