// The side of kedged: it makes the file, checks what the reader says of the columns, and writes the description. The
// reader fills values.
#include "server/data/arrow.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <stop_token>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/arrow/channel.h"
#include "engine/core/dataset_meta_codec.h"
#include "engine/core/disk_error.h"
#include "engine/core/require.h"
#include "server/data/cell.h"
#include "server/data/inflate.h"

namespace kedge::server {
namespace {

namespace fs = std::filesystem;
using engine::ArrowMessage;
using engine::ArrowSays;
using engine::require;
using schema::Error;
using schema::ErrorCode;

constexpr int kChannelFd = 3;
constexpr std::int64_t kMemory = std::int64_t{2} << 30;       // of the reader, beside the two files
constexpr std::int64_t kFreeBytes = std::int64_t{64} << 20;   // that any file may become
constexpr int kPatience = 100;                                // times 10 ms
constexpr int kLoaderFailed = 127;                            // the exit code of ld.so
constexpr std::string_view kProgram = "kedge-arrow";

class File {
 public:
  File(const fs::path& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC)) {
    if (fd_ < 0)
      throw Error(engine::disk_error(errno),
                  fmt::format("{}: cannot be opened: {}", engine::shown(path), std::strerror(errno)));
  }
  File(const File&) = delete;
  ~File() { ::close(fd_); }
  int get() const { return fd_; }

 private:
  int fd_;
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> reader_environment() {
  std::vector<std::string> kept{"ARROW_DEFAULT_MEMORY_POOL=system"};
  constexpr std::array<std::string_view, 4> kFamilies{"LD_LIBRARY_PATH=", "ASAN_", "UBSAN_", "TSAN_"};
  for (char** variable = environ; *variable; ++variable)
    if (std::ranges::any_of(kFamilies,
                            [&](std::string_view name) { return std::string_view(*variable).starts_with(name); }))
      kept.emplace_back(*variable);
  return kept;
}

struct SpawnSetup {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  SpawnSetup(int input, int channel) {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, channel, kChannelFd);
    posix_spawn_file_actions_addclosefrom_np(&actions, kChannelFd + 1);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

// One kedge-arrow. It ends with this.
class Reader {
 public:
  Reader(const fs::path& program, const fs::path& file, int threads) {
    std::array<int, 2> sockets;
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0, ErrorCode::kUnavailable,
            "cannot make a socket pair: {}", std::strerror(errno));
    socket_ = sockets[0];
    const File input(file, O_RDONLY);
    std::vector<std::string> arguments{program.string(), std::to_string(kMemory), std::to_string(threads)},
        variables = reader_environment();
    std::vector<char*> argv = pointers(arguments), envp = pointers(variables);
    SpawnSetup setup(input.get(), sockets[1]);
    const int error = ::posix_spawn(&pid_, argv[0], &setup.actions, &setup.attributes, argv.data(), envp.data());
    ::close(sockets[1]);
    if (error == 0) return;
    ::close(socket_);
    throw Error(ErrorCode::kUnavailable, fmt::format("cannot start {}: {}", kProgram, std::strerror(error)));
  }
  Reader(const Reader&) = delete;
  ~Reader() {
    end();
    ::close(socket_);
  }

  int socket() const { return socket_; }

  // Why it ended, in words. What has closed its channel has a moment to end by itself, so that its own signal is known.
  std::string end() {
    if (pid_ <= 0) return {};
    int status = 0;
    pid_t ended = 0;
    for (int i = 0; i < kPatience && has_closed_ && ended == 0; ++i) {
      ended = ::waitpid(pid_, &status, WNOHANG);
      if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (ended <= 0) {
      ::kill(pid_, SIGKILL);
      while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
      }
    }
    pid_ = -1;
    lacks_libraries_ = WIFEXITED(status) && WEXITSTATUS(status) == kLoaderFailed;
    if (WIFSIGNALED(status)) return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return fmt::format("exit code {}", WEXITSTATUS(status));
  }
  void note_closed() { has_closed_ = true; }
  bool lacks_libraries() const { return lacks_libraries_; }   // once it has ended

 private:
  int socket_ = -1;
  pid_t pid_ = -1;
  bool has_closed_ = false, lacks_libraries_ = false;
};

fs::path reader_program(const std::string& source) {
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown).parent_path() / kProgram;
  require(
      ::access(program.c_str(), X_OK) == 0, ErrorCode::kInvalidValue,
      "{} is a Parquet or Arrow file, which this server does not read: {} is not installed beside kedged. Its source's ./run.sh arrow builds it; "
      "or send CSV, NPY or NPZ",
      source, kProgram);
  return program;
}

class ArrowParser {
 public:
  ArrowParser(const fs::path& file, const ParseRequest& request)
      : request_(request),
        file_bytes_(static_cast<std::int64_t>(fs::file_size(file))),
        reader_(reader_program(request.source), file, threads(request)),
        channel_(reader_.socket()) {}

  engine::DatasetMeta parse() {
    const std::stop_callback end_it(request_.parallel.stop,
                                    [this] { ::shutdown(reader_.socket(), SHUT_RDWR); });   // receive() then fails
    engine::DatasetMeta meta = engine::decode_meta(receive(ArrowSays::kColumns).body, request_.source);
    check(meta);
    if (request_.describe) request_.describe(meta);
    choose_columns(meta);
    if (auto done = fill(meta)) return *done;
    meta.is_float32 = false;
    if (auto done = fill(meta)) return *done;
    throw Error(ErrorCode::kInternal, fmt::format("{}: {} wants more than float64", request_.source, kProgram));
  }

 private:
  static int threads(const ParseRequest& request) {
    return request.parallel.threads > 0 ? request.parallel.threads
                                        : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }

  [[noreturn]] void throw_end() {
    if (request_.parallel.stop.stop_requested()) throw Error(ErrorCode::kCancelled, "the job was cancelled");
    reader_.note_closed();
    const std::string end = reader_.end();
    require(!reader_.lacks_libraries(), ErrorCode::kInvalidValue,
            "{} is a Parquet or Arrow file, and {} does not find Arrow's libraries: pip install 'kedge-server[arrow]' "
            "brings those of the wheel; or send CSV, NPY or NPZ",
            request_.source, kProgram);
    throw Error(ErrorCode::kDatasetCorrupt,
                fmt::format("{}: the process that reads it ended with {}; the file is damaged, or needs more than {} "
                            "bytes of memory",
                            request_.source, end, kMemory));
  }

  ArrowMessage receive() {
    ArrowMessage message;
    if (!channel_.receive(message)) throw_end();
    if (message.says == ArrowSays::kRefused && !message.body.empty())
      throw Error(static_cast<ErrorCode>(message.body[0]),
                  fmt::format("{}: {}", request_.source, message.body.substr(1)));
    return message;
  }

  ArrowMessage receive(ArrowSays wanted) {
    ArrowMessage message = receive();
    if (message.says != wanted) throw_end();
    return message;
  }

  // What the parser of a text would not let pass either.
  void check(engine::DatasetMeta& meta) const {
    const std::string& source = request_.source;
    std::unordered_set<std::string_view> names;
    for (std::size_t c = 0; c < meta.columns.size(); ++c) {
      std::string& name = meta.columns[c].name;
      if (name.empty()) name = fmt::format("column_{}", c + 1);
      const std::string problem = name_problem(name, c + 1);
      require(problem.empty(), ErrorCode::kDatasetCorrupt, "{}: {}", source, problem);
      require(names.insert(name).second, ErrorCode::kDatasetCorrupt, "{}: column '{}' is named twice", source, name);
    }
    require(meta.n_values_columns > 0, ErrorCode::kDatasetCorrupt, "{}: none of its {} columns holds numbers or texts",
            source, meta.columns.size());
    constexpr std::int64_t kMostRows = std::int64_t{1} << 48;
    require(meta.n_rows >= 0 && meta.n_rows < kMostRows, ErrorCode::kDatasetCorrupt, "{}: it has {} rows", source,
            meta.n_rows);
    const double bytes = static_cast<double>(meta.n_rows) * static_cast<double>(meta.n_values_columns) * sizeof(float);
    require(bytes <= static_cast<double>(kFreeBytes) ||
                bytes / static_cast<double>(kMostInflation) <= static_cast<double>(file_bytes_),
            ErrorCode::kInvalidValue, "{}: it becomes more than {} times as large as it is", source, kMostInflation);
  }

  // Leaves what the request does not want out of `meta`.
  void choose_columns(engine::DatasetMeta& meta) {
    const auto is_there = [&](const std::string& name) { return meta.has_column(name); };
    const auto absent = std::ranges::find_if_not(request_.columns, is_there);
    require(absent == request_.columns.end() || !request_.needs_columns, ErrorCode::kBadData,
            "{}: it has no column '{}'", request_.source, absent == request_.columns.end() ? "" : *absent);
    const bool chooses = !request_.columns.empty() && absent == request_.columns.end();
    const std::string target = request_.describe ? meta.target : meta.columns.back().name;
    const auto is_wanted = [&](const std::string& name) {
      return !chooses || name == target || std::ranges::find(request_.columns, name) != request_.columns.end();
    };
    n_columns_ = meta.columns.size();
    wanted_.clear();
    meta.n_values_columns = 0;
    for (engine::ColumnInfo& column : meta.columns) {
      wanted_ += static_cast<char>(is_wanted(column.name));
      if (wanted_.back() && column.values_column >= 0) column.values_column = meta.n_values_columns++;
    }
    std::erase_if(meta.columns, [&](const engine::ColumnInfo& column) { return !is_wanted(column.name); });
    std::erase_if(meta.ignored, [&](const std::string& name) { return !is_wanted(name); });
  }

  // Once, though a number that needs float64 has them read again.
  void note_bytes(std::string_view body, std::size_t n_wanted) {
    std::array<std::int64_t, 2> bytes{};
    if (!request_.note || std::exchange(is_noted_, true) || n_wanted == n_columns_ || body.size() != sizeof bytes)
      return;
    std::memcpy(bytes.data(), body.data(), sizeof bytes);
    request_.note(fmt::format("{}: {} of {} columns are read, {} of {} bytes", request_.source, n_wanted, n_columns_,
                              bytes[0], bytes[1]));
  }

  // Nothing: a number is not exact in float32.
  std::optional<engine::DatasetMeta> fill(const engine::DatasetMeta& meta) {
    engine::DatasetFileWriter writer(request_.output, meta);
    const fs::path part = request_.output.string() + ".part";
    const auto values = static_cast<std::int64_t>(writer.values_f32().size_bytes() + writer.values_f64().size_bytes());
    file_size_ = static_cast<std::int64_t>(fs::file_size(part));
    const engine::ArrowOutput output{.offset = file_size_ - values, .is_float32 = meta.is_float32};
    {
      const File file(part, O_RDWR);
      const std::string body = std::string(reinterpret_cast<const char*>(&output), sizeof output) + wanted_;
      if (!channel_.send(ArrowSays::kGo, body, file.get())) throw_end();
    }
    while (true) {
      const ArrowMessage message = receive();
      if (message.says == ArrowSays::kProgress) report(message.body);
      else if (message.says == ArrowSays::kReads) note_bytes(message.body, meta.columns.size());
      else if (message.says == ArrowSays::kNeedsFloat64 && meta.is_float32) return std::nullopt;
      else if (message.says == ArrowSays::kDone)
        return finish(writer, engine::decode_meta(message.body, request_.source));
      else throw_end();
    }
  }

  void report(std::string_view body) const {
    std::array<std::int64_t, 2> parts{};
    if (!request_.parallel.progress || body.size() != sizeof parts) return;
    std::memcpy(parts.data(), body.data(), sizeof parts);
    const double share = static_cast<double>(parts[0]) / static_cast<double>(std::max<std::int64_t>(parts[1], 1));
    request_.parallel.progress(static_cast<std::int64_t>(share * static_cast<double>(file_bytes_)), file_bytes_);
  }

  engine::DatasetMeta finish(engine::DatasetFileWriter& writer, engine::DatasetMeta found) {
    std::vector<engine::ColumnInfo>& columns = writer.meta().columns;
    if (found.columns.size() != columns.size()) throw_end();
    reader_.end();   // from here on nothing else has the file, which could be cut while it is read here
    const auto bytes = static_cast<std::int64_t>(fs::file_size(request_.output.string() + ".part"));
    require(bytes == file_size_, ErrorCode::kDatasetCorrupt, "{}: {} has cut the file of its values", request_.source,
            kProgram);
    for (std::size_t c = 0; c < columns.size(); ++c)
      columns[c].missing = found.columns[c].missing, columns[c].categories = std::move(found.columns[c].categories);
    if (request_.complete) request_.complete(writer.meta());
    writer.finish();
    return writer.meta();
  }

  const ParseRequest& request_;
  const std::int64_t file_bytes_;
  std::int64_t file_size_ = 0;   // of what is written
  std::size_t n_columns_ = 0;    // of the file
  std::string wanted_;           // a byte for each, 1 where it is read
  bool is_noted_ = false;
  Reader reader_;
  engine::ArrowChannel channel_;
};

}   // namespace

bool is_arrow_format(std::string_view format) {
  return same_ignoring_case(format, "parquet") || same_ignoring_case(format, "arrow");
}

std::string_view arrow_format_of(std::string_view head) {
  if (head.starts_with("PAR1")) return "parquet";
  return head.starts_with("ARROW1") || head.starts_with("\xFF\xFF\xFF\xFF") ? "arrow" : "";
}

engine::DatasetMeta parse_arrow(const fs::path& file, const ParseRequest& request) {
  return ArrowParser(file, request).parse();
}

}   // namespace kedge::server
