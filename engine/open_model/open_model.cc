// The open form of a model: see open_model.h.
#include "engine/open_model/open_model.h"

#include <fmt/core.h>
#include <minizip/unzip.h>
#include <minizip/zip.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/core/npy.h"
#include "engine/core/params.h"
#include "engine/core/state_records.h"
#include "engine/core/stop.h"
#include "schemas/codec.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::Value;
using schema::ValueMap;

constexpr const char* kFormat = "kedge.model";
constexpr const char* kDescription = "model.json";
constexpr std::size_t kPiece = std::size_t{8} << 20;   // bytes between two looks whether the job is to stop

template <class... Args>
void require_open(bool ok, fmt::format_string<Args...> text, Args&&... args) {
  if (!ok) throw Error(ErrorCode::kModelCorrupt, "open model: " + fmt::format(text, std::forward<Args>(args)...));
}

std::string_view dtype_of(StateType type) {
  switch (type) {
    case StateType::kFloat32:
      return "<f4";
    case StateType::kFloat64:
      return "<f8";
    case StateType::kInt32:
      return "<i4";
    case StateType::kInt64:
      return "<i8";
    default:
      return "|u1";
  }
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A ZIP that is written. Nothing is left of it without finish().
class ZipWriter {
 public:
  explicit ZipWriter(std::filesystem::path path)
      : path_(std::move(path)), zip_(zipOpen64(path_.c_str(), APPEND_STATUS_CREATE)) {
    require_written(zip_ != nullptr);
  }
  ~ZipWriter() {
    if (!zip_) return;
    zipClose(zip_, nullptr);
    std::filesystem::remove(path_, ignored_);
  }
  ZipWriter(const ZipWriter&) = delete;

  void add(const std::string& name, std::initializer_list<std::string_view> parts) {
    zip_fileinfo info{};
    info.tmz_date.tm_year = 1980, info.tmz_date.tm_mday = 1;
    constexpr int kStored = 0, kLarge = 1;
    require_written(zipOpenNewFileInZip64(zip_, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, kStored, 0,
                                          kLarge) == ZIP_OK);
    for (std::string_view part : parts)
      for (; !part.empty(); part.remove_prefix(std::min(part.size(), kPiece))) {
        check_job_stop();
        require_written(zipWriteInFileInZip(zip_, part.data(), static_cast<unsigned>(std::min(part.size(), kPiece))) ==
                        ZIP_OK);
      }
    require_written(zipCloseFileInZip(zip_) == ZIP_OK);
  }
  void finish() {
    const bool is_whole = zipClose(std::exchange(zip_, nullptr), nullptr) == ZIP_OK;
    if (!is_whole) std::filesystem::remove(path_, ignored_);
    require_written(is_whole);
  }

 private:
  void require_written(bool ok) const {
    if (!ok)
      throw Error(ErrorCode::kInternal,
                  fmt::format("write {}: {}", path_.filename().string(), std::generic_category().message(errno)));
  }

  std::filesystem::path path_;
  std::error_code ignored_;
  zipFile zip_;
};

// The members of a ZIP on disk, by name.
class ZipReader {
 public:
  ZipReader(const std::filesystem::path& path, std::size_t size)
      : zip_(unzOpen64(path.c_str()), unzClose), size_(size) {
    require_open(zip_ != nullptr, "it is no ZIP");
    for (int next = unzGoToFirstFile(zip_.get()); next == UNZ_OK; next = unzGoToNextFile(zip_.get())) {
      char name[256];
      unz64_file_pos place;
      require_open(unzGetCurrentFileInfo64(zip_.get(), nullptr, name, sizeof name, nullptr, 0, nullptr, 0) == UNZ_OK &&
                       unzGetFilePos64(zip_.get(), &place) == UNZ_OK,
                   "its list of members cannot be read");
      name[sizeof name - 1] = 0;
      require_open(members_.emplace(name, place).second, "it has two members '{}'", name);
    }
  }

  std::string read(const std::string& name) {
    const auto member = members_.find(name);
    require_open(member != members_.end(), "it has no member '{}'", name);
    unz_file_info64 info{};
    require_open(unzGoToFilePos64(zip_.get(), &member->second) == UNZ_OK &&
                     unzGetCurrentFileInfo64(zip_.get(), &info, nullptr, 0, nullptr, 0, nullptr, 0) == UNZ_OK,
                 "'{}' cannot be read", name);
    require_open(info.compression_method == 0 && (info.flag & 1) == 0,
                 "'{}' is packed or encrypted; members must be stored", name);
    require_open(info.uncompressed_size <= size_, "'{}' has {} bytes, more than the ZIP", name, info.uncompressed_size);
    std::string bytes(info.uncompressed_size, '\0');
    require_open(unzOpenCurrentFile(zip_.get()) == UNZ_OK, "'{}' cannot be read", name);
    std::size_t done = 0;
    while (done < bytes.size()) {
      const int got = unzReadCurrentFile(zip_.get(), bytes.data() + done,
                                         static_cast<unsigned>(std::min(bytes.size() - done, kPiece)));
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    require_open(unzCloseCurrentFile(zip_.get()) == UNZ_OK && done == bytes.size(), "'{}' is cut short or damaged",
                 name);
    return bytes;
  }

 private:
  std::unique_ptr<void, int (*)(unzFile)> zip_;
  std::size_t size_;
  std::map<std::string, unz64_file_pos> members_;
};

// What model.json says of a record that has no numbers.
ValueMap described(const StateRecord& record) {
  return {{"name", record.name}, {"type", std::string(name_of(record.type))}, {"value", record.value}};
}

const Value& member_of(const ValueMap& map, std::string_view key, std::string_view where) {
  const Value* const value = find_value(map, key);
  require_open(value != nullptr, "{} has no '{}'", where, key);
  return *value;
}

template <class V>
const V& typed(const ValueMap& map, std::string_view key, std::string_view where) {
  const V* const value = std::get_if<V>(&member_of(map, key, where).data);
  require_open(value != nullptr, "'{}' of {} has another type than expected", key, where);
  return *value;
}

std::optional<StateType> type_named(std::string_view name) {
  for (std::uint8_t place = 1; !name_of(StateType{place}).empty(); ++place)
    if (name_of(StateType{place}) == name) return StateType{place};
  return std::nullopt;
}

// JSON has no NaN and no infinity, and writes 1.0 as it likes.
Value real_of(const Value& value, std::string_view where) {
  if (const auto* const real = std::get_if<double>(&value.data)) return *real;
  if (const auto* const whole = std::get_if<std::int64_t>(&value.data)) return static_cast<double>(*whole);
  const auto* const text = std::get_if<std::string>(&value.data);
  if (text && *text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  require_open(text && (*text == "Infinity" || *text == "-Infinity"), "the value of {} is no number", where);
  return text->front() == '-' ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

bool has_form(const Value& value, StateType type) {
  switch (type) {
    case StateType::kBool:
      return std::holds_alternative<bool>(value.data);
    case StateType::kText:
      return std::holds_alternative<std::string>(value.data);
    case StateType::kTexts: {
      const auto* const list = std::get_if<schema::ValueList>(&value.data);
      return list && std::ranges::all_of(
                         *list, [](const Value& text) { return std::holds_alternative<std::string>(text.data); });
    }
    case StateType::kNumber:
    case StateType::kCount:
      return std::holds_alternative<std::int64_t>(value.data);
    default:
      return true;
  }
}

// An empty list comes from JSON as a list of numbers.
Value with_form(Value value, StateType type, std::string_view where) {
  if (type == StateType::kReal) return real_of(value, where);
  const auto* const numbers = std::get_if<std::vector<double>>(&value.data);
  if (type == StateType::kTexts && numbers && numbers->empty()) return schema::ValueList();
  require_open(has_form(value, type), "the value of {} is no {}", where, name_of(type));
  return value;
}

class OpenModelReader {
 public:
  OpenModelReader(ZipReader& zip, ModelFileWriter& model) : zip_(zip), model_(model) {}

  void add(const Value& described, std::size_t place) {
    const std::string where = fmt::format("state[{}]", place);
    const auto* const map = std::get_if<ValueMap>(&described.data);
    require_open(map != nullptr, "{} is no object", where);
    StateRecord record{.name = typed<std::string>(*map, "name", where)};
    const std::string& type_name = typed<std::string>(*map, "type", where);
    const std::optional<StateType> type = type_named(type_name);
    require_open(type.has_value(), "the type of {} is '{}', which is not known", where, type_name);
    record.type = *type;
    if (element_bytes(*type)) add_tensor(record, *map, where);
    else record.value = with_form(member_of(*map, "value", where), *type, where);
    append_record(model_.state(), record);
  }

 private:
  void add_tensor(StateRecord& record, const ValueMap& map, const std::string& where) {
    record.rows = typed<std::int64_t>(map, "rows", where), record.cols = typed<std::int64_t>(map, "cols", where);
    const std::string& name = typed<std::string>(map, "file", where);
    const std::string bytes = zip_.read(name);
    const std::string_view numbers = numbers_of(bytes, record.type, name);
    const auto size = static_cast<std::int64_t>(numbers.size() / element_bytes(record.type));
    const bool fits = record.rows >= 0 && record.cols >= 0 &&
                      (record.cols == 0 ? size == 0 : size % record.cols == 0 && size / record.cols == record.rows);
    require_open(fits, "'{}' has {} numbers, {} says {} x {}", name, size, where, record.rows, record.cols);
    model_.add_tensor(std::as_bytes(std::span(numbers)));
  }

  static std::string_view numbers_of(std::string_view npy, StateType type, const std::string& name) {
    try {
      return npy_numbers(npy, dtype_of(type));
    } catch (const Error& error) {
      throw Error(ErrorCode::kModelCorrupt, fmt::format("open model: '{}': {}", name, error.message));
    }
  }

  ZipReader& zip_;
  ModelFileWriter& model_;
};

// Removes a file when it goes.
struct Removed {
  const std::filesystem::path& path;
  ~Removed() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file)
    throw Error(ErrorCode::kInternal,
                fmt::format("write {}: {}", path.filename().string(), std::generic_category().message(errno)));
}

}   // namespace

void write_open_model(const ModelFile& model, const std::filesystem::path& zip) {
  ZipWriter writer(zip);
  schema::ValueList state;
  for_records(model.state(), model.tensors(), [&](const StateRecord& record) {
    if (!element_bytes(record.type)) return void(state.emplace_back(described(record)));
    const std::string file = fmt::format("{}.{}.npy", state.size(), record.name);
    const std::int64_t shape[] = {record.rows, record.cols};
    writer.add(file, {npy_header(dtype_of(record.type), std::span(shape).first(record.cols == 1 ? 1 : 2)),
                      text_of(record.numbers)});
    state.emplace_back(ValueMap{{"name", record.name},
                                {"type", std::string(name_of(record.type))},
                                {"rows", record.rows},
                                {"cols", record.cols},
                                {"file", file}});
  });
  writer.add(kDescription,
             {fmt::format("{{\"format\":\"{}\",\"version\":{},\"info\":{},\"state\":{}}}\n", kFormat, kOpenModelVersion,
                          schema::to_json(model.info()), schema::value_to_json(Value(std::move(state))))});
  writer.finish();
}

std::string read_open_model(std::string_view zip, const std::filesystem::path& scratch) {
  const Removed removed{scratch};
  write_bytes(scratch, zip);
  ZipReader members(scratch, zip.size());
  Value description;
  schema::ModelInfo info;
  const auto* map = static_cast<const ValueMap*>(nullptr);
  try {
    description = schema::value_from_json(members.read(kDescription));
    map = std::get_if<ValueMap>(&description.data);
    require_open(map && find_value(*map, "format") &&
                     schema::to_string(*find_value(*map, "format")).find(kFormat) != std::string::npos,
                 "{} is not of the format {}", kDescription, kFormat);
    const std::int64_t version = typed<std::int64_t>(*map, "version", kDescription);
    require_open(version == kOpenModelVersion, "version {} is not known, this program reads version {}", version,
                 kOpenModelVersion);
    info = schema::from_json<schema::ModelInfo>(schema::value_to_json(member_of(*map, "info", kDescription)));
  } catch (const Error& error) {
    if (error.code == ErrorCode::kModelCorrupt) throw;
    throw Error(ErrorCode::kModelCorrupt, fmt::format("open model: {}: {}", kDescription, error.message));
  }
  const auto& state = typed<schema::ValueList>(*map, "state", kDescription);
  ModelFileWriter model(scratch.string() + ".model",
                        2 * zip.size() + state.size() * kModelAlignment + (std::size_t{1} << 20));
  OpenModelReader reader(members, model);
  for (std::size_t i = 0; i < state.size(); ++i) reader.add(state[i], i);
  std::string file = model.finish(info);
  require_open(!file.empty(), "its description takes more room than its numbers");
  return file;
}

}   // namespace kedge::engine
