// Reading .npy.
#include "server/data/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "schemas/error.h"
#include "server/data/npy_header.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;
using std::string_view;

constexpr std::int64_t kMostColumns = 1'000'000;

struct Header : NpyHeader {
  std::int64_t rows = 0, columns = 0;
  string_view data;
};

[[noreturn]] void refuse(const std::string& source, std::string_view what) {
  throw Error(ErrorCode::kDatasetCorrupt, fmt::format("{}: {}", source, what));
}

Header read_header(string_view bytes, const std::string& source) {
  Header header{read_npy_header(bytes, source)};
  if (!header.is_number()) refuse(source, npy_type_problem(header));
  const std::vector<std::int64_t>& shape = header.shape;
  if (shape.empty()) refuse(source, "the array has no dimension");
  if (shape.size() > 2) refuse(source, fmt::format("the array has {} dimensions, must have one or two", shape.size()));
  header.rows = shape[0], header.columns = shape.size() == 2 ? shape[1] : 1;
  if (header.rows < 1 || header.columns < 1)
    refuse(source, fmt::format("the array is empty: it has {} rows and {} columns", header.rows, header.columns));
  if (header.columns > kMostColumns)
    refuse(source, fmt::format("the array has {} columns, at most {} are taken", header.columns, kMostColumns));
  header.data = bytes.substr(header.bytes);
  return header;
}

void check_size(const Header& header, std::uint64_t data_bytes, const std::string& source) {
  const auto cells = static_cast<unsigned __int128>(header.rows) * static_cast<std::uint64_t>(header.columns) * header.size;
  if (cells != data_bytes)
    refuse(source, fmt::format("{} rows of {} columns of {} bytes do not fill {} bytes", header.rows, header.columns, header.size, data_bytes));
}

engine::DatasetMeta meta_of(const Header& header, const ParseRequest& request) {
  engine::DatasetMeta meta;
  meta.n_rows = header.rows, meta.n_values_columns = header.columns;
  meta.is_float32 = header.is_exact_in_float();
  for (std::int64_t i = 0; i < header.columns; ++i) meta.columns.push_back({.name = fmt::format("x{}", i), .values_column = i});
  if (request.describe) request.describe(meta);
  return meta;
}

// One row: its cells are `stride` bytes apart, from `at` on. Throws for a number that cannot be kept.
template <class T>
void fill_row(const Header& header, const char* at, std::size_t stride, std::int64_t row, std::span<T> values, engine::DatasetMeta& meta,
              const std::string& source) {
  const bool may_be_inexact = header.may_be_inexact();
  for (std::size_t column = 0; column < values.size(); ++column, at += stride) {
    const double value = npy_number(header, at);
    if (may_be_inexact && std::abs(value) > kLargestExact)
      refuse(source, fmt::format("row {}, column {}: the integer is beyond 2^53", row + 1, column));
    values[column] = static_cast<T>(value);
    meta.columns[column].missing += std::isnan(value);
  }
}

// The file's numbers are the table's, byte for byte.
template <class T>
bool is_the_same(const Header& header) {
  return header.kind == 'f' && header.size == sizeof(T) && !header.swapped && std::endian::native == std::endian::little;
}

// Of whole numbers, at any address.
template <class T>
bool has_nan(string_view bytes) {
  constexpr std::size_t kTogether = 64;   // a number of them that is known makes vectors of the loop
  T values[kTogether] = {};
  bool any = false;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), sizeof values))) {
    std::memcpy(values, bytes.data(), std::min(bytes.size(), sizeof values));
    for (const T value : values) any |= value != value;
  }
  return any;
}

template <class T>
void fill(const Header& header, std::span<T> values, engine::DatasetMeta& meta, const ParseRequest& request) {
  constexpr std::int64_t kStopEvery = 4096;   // rows
  const auto columns = static_cast<std::size_t>(header.columns), rows = static_cast<std::size_t>(header.rows);
  const std::size_t stride = header.fortran ? rows * header.size : header.size;
  for (std::size_t row = 0; row < rows; ++row) {
    if (row % kStopEvery == 0 && request.parallel.stop.stop_requested()) throw Error(ErrorCode::kCancelled, "the upload was given up");
    const char* at = header.data.data() + row * (header.fortran ? header.size : columns * header.size);
    fill_row(header, at, stride, static_cast<std::int64_t>(row), values.subspan(row * columns, columns), meta, request.source);
  }
}

}  // namespace

engine::DatasetMeta parse_npy(string_view bytes, const ParseRequest& request) {
  const Header header = read_header(bytes, request.source);
  check_size(header, header.data.size(), request.source);
  engine::DatasetFileWriter writer(request.output, meta_of(header, request));
  if (writer.meta().is_float32)
    fill(header, writer.values_f32(), writer.meta(), request);
  else
    fill(header, writer.values_f64(), writer.meta(), request);
  if (request.complete) request.complete(writer.meta());
  writer.finish();
  return writer.meta();
}

struct NpyStream::Impl {
  Impl(const Header& given, ParseRequest of)
      : header(given), request(std::move(of)), row_bytes(static_cast<std::size_t>(header.columns) * header.size), writer(request.output, meta_of(header, request), engine::RowOrder::kInOrder) {}

  // Whole rows. What follows the last one is only counted, by write(), and refused at the end.
  void put(string_view bytes) {
    const auto n = std::min(static_cast<std::int64_t>(bytes.size() / row_bytes), header.rows - rows);
    if (n <= 0 || error) return;
    try {
      writer.meta().is_float32 ? convert<float>(bytes, n) : convert<double>(bytes, n);
    } catch (const Error& e) {
      if (e.code != ErrorCode::kDatasetCorrupt) throw;
      error = e;
    }
  }

  template <class T>
  void convert(string_view bytes, std::int64_t n) {
    bytes = bytes.substr(0, static_cast<std::size_t>(n) * row_bytes);
    if (is_the_same<T>(header) && !has_nan<T>(bytes)) {   // NaN are counted, and a conversion may change their bits
      writer.write_bytes(rows, bytes);
    } else {
      const auto columns = static_cast<std::size_t>(header.columns);
      std::vector<T> values(static_cast<std::size_t>(n) * columns);
      for (std::size_t row = 0; row < static_cast<std::size_t>(n); ++row)
        fill_row(header, bytes.data() + row * row_bytes, header.size, rows + static_cast<std::int64_t>(row),
                 std::span(values).subspan(row * columns, columns), writer.meta(), request.source);
      writer.write(rows, std::span<const T>(values));
    }
    rows += n;
  }

  const Header header;
  const ParseRequest request;
  const std::size_t row_bytes;
  engine::DatasetRowsWriter writer;
  std::string rest;             // the beginning of a row
  std::uint64_t bytes = 0;      // of numbers, that have come
  std::int64_t rows = 0;        // that are on disk
  std::optional<Error> error;   // of the first number that cannot be kept
};

NpyStream::NpyStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
NpyStream::~NpyStream() = default;

std::unique_ptr<NpyStream> NpyStream::begin(string_view bytes, ParseRequest request) {
  std::optional<Header> header;
  try {
    header = read_header(bytes, request.source);
  } catch (const Error&) {   // incomplete, or wrong
  }
  if (!header || header->fortran) return nullptr;
  const string_view first = std::exchange(header->data, {});
  std::unique_ptr<NpyStream> stream(new NpyStream(std::make_unique<Impl>(*header, std::move(request))));
  stream->write(first);
  return stream;
}

void NpyStream::write(string_view bytes) {
  Impl& in = *impl_;
  in.bytes += bytes.size();
  if (!in.rest.empty()) {
    const string_view missing = bytes.substr(0, in.row_bytes - in.rest.size());
    in.rest += missing;
    bytes.remove_prefix(missing.size());
    if (in.rest.size() < in.row_bytes) return;
    in.put(in.rest);
    in.rest.clear();
  }
  in.put(bytes);
  in.rest = bytes.substr(bytes.size() / in.row_bytes * in.row_bytes);
}

engine::DatasetMeta NpyStream::finish() {
  Impl& in = *impl_;
  check_size(in.header, in.bytes, in.request.source);
  if (in.error) throw *in.error;
  if (in.request.complete) in.request.complete(in.writer.meta());
  in.writer.finish();
  return in.writer.meta();
}

}  // namespace kedge::server
