// DatasetMeta to and from the bytes at the end of a data set file.
#include "engine/core/dataset_meta_codec.h"

#include <algorithm>
#include <cstring>

#include "engine/core/require.h"

namespace kedge::engine {
namespace {

class Encoder {
 public:
  void integer(std::int64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(const std::string& value) {
    integer(static_cast<std::int64_t>(value.size()));
    bytes_.append(value);
  }
  void texts(const std::vector<std::string>& values) {
    integer(static_cast<std::int64_t>(values.size()));
    for (const std::string& value : values) text(value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Decoder {
 public:
  Decoder(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::int64_t integer(std::int64_t minimum, std::int64_t maximum) {
    std::int64_t value = 0;
    check(bytes_.size() >= sizeof value);
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    check(value >= minimum && value <= maximum);
    return value;
  }
  // Each element takes at least `element_bytes`, which bounds the count by what is there.
  std::int64_t count(std::int64_t element_bytes) {
    return integer(0, static_cast<std::int64_t>(bytes_.size()) / element_bytes);
  }
  std::string text() {
    const auto size = static_cast<std::size_t>(count(1));
    check(size <= bytes_.size());
    std::string value(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return value;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> values(static_cast<std::size_t>(count(8)));
    for (std::string& value : values) value = text();
    return values;
  }
  bool is_at_end() const { return bytes_.empty(); }
  void end() const { check(bytes_.empty()); }

 private:
  void check(bool ok) const {
    require(ok, schema::ErrorCode::kDatasetCorrupt, "{}: its metadata makes no sense", file_);
  }
  std::string_view bytes_;
  const std::string& file_;
};

constexpr std::int64_t kMostIndex = std::int64_t{1} << 31;
constexpr std::int64_t kMost = std::int64_t{1} << 60;
constexpr std::int64_t kColumnBytes = 40;   // name length, type, category count, missing, values column

ColumnInfo decode_column(Decoder& in, std::int64_t n_rows, std::int64_t n_values_columns) {
  ColumnInfo column;
  column.name = in.text();
  column.type = static_cast<ColumnInfo::Type>(in.integer(0, 2));
  column.categories = in.texts();
  column.missing = in.integer(0, n_rows);
  column.values_column = in.integer(-1, n_values_columns - 1);
  return column;
}

}  // namespace

std::string encode_meta(const DatasetMeta& meta) {
  Encoder out;
  out.text(meta.name);
  out.integer(meta.n_rows);
  out.integer(meta.is_float32);
  out.integer(meta.n_values_columns);
  out.integer(meta.n_entries);
  out.text(meta.target);
  out.texts(meta.ignored);
  out.integer(static_cast<std::int64_t>(meta.columns.size()));
  for (const ColumnInfo& column : meta.columns) {
    out.text(column.name);
    out.integer(static_cast<std::int64_t>(column.type));
    out.texts(column.categories);
    out.integer(column.missing);
    out.integer(column.values_column);
  }
  // Behind what the first programs wrote; a file of theirs ends before.
  const bool has_index = meta.indexed.count > 0;
  if (has_index || meta.types_are_guessed) {
    out.integer(has_index ? meta.indexed.first : 0);
    out.integer(has_index ? meta.indexed.count : 0);
  }
  if (meta.types_are_guessed) out.integer(1);
  return out.take();
}

DatasetMeta decode_meta(std::string_view bytes, const std::string& file) {
  Decoder in(bytes, file);
  DatasetMeta meta;
  meta.name = in.text();
  meta.n_rows = in.integer(0, kMost);
  meta.is_float32 = in.integer(0, 1) != 0;
  meta.n_values_columns = in.integer(0, kMost);
  meta.n_entries = in.integer(-1, kMost);
  meta.target = in.text();
  meta.ignored = in.texts();
  const std::int64_t n_columns = in.count(kColumnBytes);
  for (std::int64_t i = 0; i < n_columns; ++i) meta.columns.push_back(decode_column(in, meta.n_rows, meta.n_values_columns));
  if (!in.is_at_end()) {
    meta.indexed.first = in.integer(0, kMostIndex);
    meta.indexed.count = in.integer(0, std::min(meta.n_values_columns, kMostIndex));
  }
  if (!in.is_at_end()) meta.types_are_guessed = in.integer(1, 1) != 0;
  in.end();
  return meta;
}

std::uint64_t meta_hash(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace kedge::engine
