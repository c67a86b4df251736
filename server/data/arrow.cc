// The side of kedged: it makes the file, checks what the reader says of the columns, and writes the description. The
// reader fills values.
#include "server/data/arrow.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/core/dataset_meta_codec.h"
#include "engine/core/require.h"
#include "server/data/arrow_process.h"
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

constexpr std::int64_t kFreeBytes = std::int64_t{64} << 20;   // that any file may become

void require_program(const std::string& source) {
  require(
      !arrow_program().empty(), ErrorCode::kInvalidValue,
      "{} is a Parquet or Arrow file, which this server does not read: {} is not installed beside kedged. Its source's ./run.sh arrow builds it; "
      "or send CSV, NPY or NPZ",
      source, kArrowProgram);
}

Error lacks_libraries(const std::string& source) {
  return Error(
      ErrorCode::kInvalidValue,
      fmt::format(
          "{} is a Parquet or Arrow file, and {} does not find Arrow's libraries: pip install 'kedge-server[arrow]' "
          "brings those of the wheel; or send CSV, NPY or NPZ",
          source, kArrowProgram));
}

class ArrowParser {
 public:
  ArrowParser(const fs::path& file, const ParseRequest& request)
      : request_(request),
        file_bytes_(static_cast<std::int64_t>(fs::file_size(file))),
        reader_({.input = file,
                 .threads = threads(request),
                 .source = request.source,
                 .lacks_libraries = lacks_libraries(request.source)},
                request.parallel.stop) {}

  engine::DatasetMeta parse() {
    engine::DatasetMeta meta = engine::decode_meta(reader_.receive(ArrowSays::kColumns).body, request_.source);
    check(meta);
    if (request_.describe) request_.describe(meta);
    choose_columns(meta);
    if (auto done = fill(meta)) return *done;
    meta.is_float32 = false;
    if (auto done = fill(meta)) return *done;
    throw Error(ErrorCode::kInternal, fmt::format("{}: {} wants more than float64", request_.source, kArrowProgram));
  }

 private:
  static int threads(const ParseRequest& request) {
    return request.parallel.threads > 0 ? request.parallel.threads
                                        : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
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
      const OpenedFile file(part, O_RDWR);
      const std::string body = std::string(reinterpret_cast<const char*>(&output), sizeof output) + wanted_;
      reader_.send(ArrowSays::kGo, body, file.get());
    }
    while (true) {
      const ArrowMessage message = reader_.receive();
      if (message.says == ArrowSays::kProgress) report(message.body);
      else if (message.says == ArrowSays::kReads) note_bytes(message.body, meta.columns.size());
      else if (message.says == ArrowSays::kNeedsFloat64 && meta.is_float32) return std::nullopt;
      else if (message.says == ArrowSays::kDone)
        return finish(writer, engine::decode_meta(message.body, request_.source));
      else reader_.refuse();
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
    if (found.columns.size() != columns.size()) reader_.refuse();
    reader_.end();   // from here on nothing else has the file, which could be cut while it is read here
    const auto bytes = static_cast<std::int64_t>(fs::file_size(request_.output.string() + ".part"));
    require(bytes == file_size_, ErrorCode::kDatasetCorrupt, "{}: {} has cut the file of its values", request_.source,
            kArrowProgram);
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
  ArrowProcess reader_;
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
  require_program(request.source);
  return ArrowParser(file, request).parse();
}

}   // namespace kedge::server
