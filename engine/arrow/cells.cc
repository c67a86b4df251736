// Blocks of rows and columns at a time, so that a line of the matrix in the cache is written whole.
#include "engine/arrow/cells.h"

#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using Kind = arrow::Type;

constexpr std::int64_t kTileRows = 256;   // of 16 float32, which stay in the first cache with the rows between them
constexpr std::int32_t kMissingCode = -1;
constexpr double kSecondsOfDay = 86400;

const arrow::DataType& stored_type(const arrow::DataType& type) {
  const auto* extension = dynamic_cast<const arrow::ExtensionType*>(&type);
  return extension ? stored_type(*extension->storage_type()) : type;
}

bool is_text(Kind::type id) {
  return id == Kind::STRING || id == Kind::LARGE_STRING || id == Kind::STRING_VIEW;
}

bool is_number(Kind::type id) {
  switch (id) {
    case Kind::NA:
    case Kind::BOOL:
    case Kind::UINT8:
    case Kind::INT8:
    case Kind::UINT16:
    case Kind::INT16:
    case Kind::UINT32:
    case Kind::INT32:
    case Kind::UINT64:
    case Kind::INT64:
    case Kind::HALF_FLOAT:
    case Kind::FLOAT:
    case Kind::DOUBLE:
    case Kind::DECIMAL32:
    case Kind::DECIMAL64:
    case Kind::DECIMAL128:
    case Kind::DECIMAL256:
    case Kind::DATE32:
    case Kind::DATE64:
    case Kind::TIMESTAMP:
    case Kind::TIME32:
    case Kind::TIME64:
    case Kind::DURATION:
      return true;
    default:
      return false;
  }
}

std::int64_t units_of_second(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      return 1;
    case arrow::TimeUnit::MILLI:
      return 1000;
    case arrow::TimeUnit::MICRO:
      return 1000000;
    default:
      return 1000000000;
  }
}

template <class Type>
std::int64_t units_of_second(const arrow::DataType& type) {
  return units_of_second(static_cast<const Type&>(type).unit());
}

// As days_of() reads the text of such a time: whole days, and the rest as a fraction.
struct Days {
  std::int64_t units;   // of a second
  double operator()(std::int64_t value) const {
    const std::int64_t day = units * static_cast<std::int64_t>(kSecondsOfDay);
    const bool is_before = value % day < 0;
    const std::int64_t whole = value / day - is_before, rest = value % day + (is_before ? day : 0);
    return static_cast<double>(whole) + static_cast<double>(rest) / static_cast<double>(units) / kSecondsOfDay;
  }
};

template <class T>
struct Target {
  T* first;              // cell of row `begin` of the array
  std::int64_t stride;   // of rows
  std::int64_t begin, end;
  std::int64_t missing = 0;
  bool is_inexact = false;

  void put(std::int64_t row, float value) {   // any T has it
    missing += value != value;
    first[(row - begin) * stride] = value;
  }
  void put(std::int64_t row, double value) {
    const T stored = static_cast<T>(value);
    is_inexact |= static_cast<double>(stored) != value && value == value;
    missing += value != value;
    first[(row - begin) * stride] = stored;
  }
};

template <class Array, class T, class Convert>
void fill(const arrow::Array& any, Target<T>& target, const Convert& convert) {
  const auto& array = static_cast<const Array&>(any);
  using Number = decltype(convert(array, 0));   // float or double
  if (array.null_count() == 0) {
    for (std::int64_t i = target.begin; i < target.end; ++i) target.put(i, convert(array, i));
    return;
  }
  constexpr Number kMissing = std::numeric_limits<Number>::quiet_NaN();
  for (std::int64_t i = target.begin; i < target.end; ++i)
    target.put(i, array.IsNull(i) ? kMissing : convert(array, i));
}

template <class Array, class T>
void fill_plain(const arrow::Array& any, Target<T>& target) {
  fill<Array>(any, target, [](const Array& array, std::int64_t i) { return static_cast<double>(array.Value(i)); });
}

template <class Array, class Decimal, class T>
void fill_decimal(const arrow::Array& any, Target<T>& target) {
  const std::int32_t scale = static_cast<const arrow::DecimalType&>(*any.type()).scale();
  fill<Array>(any, target,
              [scale](const Array& array, std::int64_t i) { return Decimal(array.GetValue(i)).ToDouble(scale); });
}

template <class Array, class T>
void fill_days(const arrow::Array& any, Target<T>& target, std::int64_t units) {
  fill<Array>(any, target, [days = Days{units}](const Array& array, std::int64_t i) { return days(array.Value(i)); });
}

template <class Array, class T>
void fill_seconds(const arrow::Array& any, Target<T>& target, std::int64_t units) {
  const auto per_second = static_cast<double>(units);
  fill<Array>(any, target, [per_second](const Array& array, std::int64_t i) {
    return static_cast<double>(array.Value(i)) / per_second;
  });
}

template <class T>
void fill_time(const arrow::Array& array, Target<T>& target) {
  const arrow::DataType& type = *array.type();
  switch (type.id()) {
    case Kind::DATE32:
      return fill_plain<arrow::Date32Array>(array, target);
    case Kind::DATE64:
      return fill_days<arrow::Date64Array>(array, target, 1000);
    case Kind::TIMESTAMP:
      return fill_days<arrow::TimestampArray>(array, target, units_of_second<arrow::TimestampType>(type));
    case Kind::TIME32:
      return fill_seconds<arrow::Time32Array>(array, target, units_of_second<arrow::Time32Type>(type));
    case Kind::TIME64:
      return fill_seconds<arrow::Time64Array>(array, target, units_of_second<arrow::Time64Type>(type));
    default:
      return fill_seconds<arrow::DurationArray>(array, target, units_of_second<arrow::DurationType>(type));
  }
}

template <class T>
void fill_numbers(const arrow::Array& array, Target<T>& target) {
  switch (array.type_id()) {
    case Kind::NA:
      return fill<arrow::NullArray>(array, target, [](const arrow::NullArray&, std::int64_t) {
        return std::numeric_limits<double>::quiet_NaN();
      });
    case Kind::BOOL:
      return fill_plain<arrow::BooleanArray>(array, target);
    case Kind::UINT8:
      return fill_plain<arrow::UInt8Array>(array, target);
    case Kind::INT8:
      return fill_plain<arrow::Int8Array>(array, target);
    case Kind::UINT16:
      return fill_plain<arrow::UInt16Array>(array, target);
    case Kind::INT16:
      return fill_plain<arrow::Int16Array>(array, target);
    case Kind::UINT32:
      return fill_plain<arrow::UInt32Array>(array, target);
    case Kind::INT32:
      return fill_plain<arrow::Int32Array>(array, target);
    case Kind::UINT64:
      return fill_plain<arrow::UInt64Array>(array, target);
    case Kind::INT64:
      return fill_plain<arrow::Int64Array>(array, target);
    case Kind::FLOAT:
      return fill<arrow::FloatArray>(array, target,
                                     [](const arrow::FloatArray& floats, std::int64_t i) { return floats.Value(i); });
    case Kind::DOUBLE:
      return fill_plain<arrow::DoubleArray>(array, target);
    case Kind::HALF_FLOAT:
      return fill<arrow::HalfFloatArray>(array, target, [](const arrow::HalfFloatArray& half, std::int64_t i) {
        return static_cast<double>(arrow::util::Float16::FromBits(half.Value(i)).ToFloat());
      });
    case Kind::DECIMAL32:
      return fill_decimal<arrow::Decimal32Array, arrow::Decimal32>(array, target);
    case Kind::DECIMAL64:
      return fill_decimal<arrow::Decimal64Array, arrow::Decimal64>(array, target);
    case Kind::DECIMAL128:
      return fill_decimal<arrow::Decimal128Array, arrow::Decimal128>(array, target);
    case Kind::DECIMAL256:
      return fill_decimal<arrow::Decimal256Array, arrow::Decimal256>(array, target);
    default:
      return fill_time(array, target);
  }
}

template <class Array, class Use>
void for_each_text(const arrow::Array& any, const Use& use) {
  const auto& array = static_cast<const Array&>(any);
  for (std::int64_t i = 0; i < array.length(); ++i)
    use(static_cast<std::size_t>(i),
        array.IsNull(i) ? std::nullopt : std::optional<std::string_view>(array.GetView(i)));
}

// use(i, text), where no text is a missing cell.
template <class Use>
void for_any_texts(const arrow::Array& array, const Use& use) {
  switch (array.type_id()) {
    case Kind::STRING:
      return for_each_text<arrow::StringArray>(array, use);
    case Kind::LARGE_STRING:
      return for_each_text<arrow::LargeStringArray>(array, use);
    default:
      return for_each_text<arrow::StringViewArray>(array, use);
  }
}

// The place in the dictionary of a row, which must exist.
std::size_t entry_of(const arrow::DictionaryArray& array, std::int64_t row) {
  const std::int64_t entry = array.GetValueIndex(row), n_entries = array.dictionary()->length();
  require(entry >= 0 && entry < n_entries, ErrorCode::kDatasetCorrupt,
          "row {} of a batch names entry {} of a dictionary of {}", row, entry, n_entries);
  return static_cast<std::size_t>(entry);
}

// Entries without a row are no categories, as a text that is nowhere in a CSV is none.
std::vector<std::int32_t> codes_of(const arrow::DictionaryArray& array, LocalCategories& found) {
  constexpr std::int32_t kUnknown = -2;
  const auto n_entries = static_cast<std::size_t>(array.dictionary()->length());
  std::vector<std::optional<std::string_view>> texts(n_entries);
  for_any_texts(*array.dictionary(), [&](std::size_t i, std::optional<std::string_view> text) { texts[i] = text; });
  std::vector<std::int32_t> place(n_entries, kUnknown), codes(static_cast<std::size_t>(array.length()), kMissingCode);
  for (std::int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i)) continue;
    const std::size_t entry = entry_of(array, i);
    if (place[entry] == kUnknown) place[entry] = texts[entry] ? found.code_of(*texts[entry]) : kMissingCode;
    codes[static_cast<std::size_t>(i)] = place[entry];
  }
  return codes;
}

std::vector<std::int32_t> codes_of(const arrow::Array& array, LocalCategories& found) {
  if (array.type_id() == Kind::DICTIONARY) return codes_of(static_cast<const arrow::DictionaryArray&>(array), found);
  std::vector<std::int32_t> codes(static_cast<std::size_t>(array.length()));
  for_any_texts(array, [&](std::size_t i, std::optional<std::string_view> text) {
    codes[i] = text ? found.code_of(*text) : kMissingCode;
  });
  return codes;
}

// A dictionary of numbers, as its numbers.
std::vector<double> looked_up(const arrow::DictionaryArray& array) {
  const arrow::Array& entries = *array.dictionary();
  std::vector<double> numbers(static_cast<std::size_t>(entries.length()));
  Target<double> all{.first = numbers.data(), .stride = 1, .begin = 0, .end = entries.length()};
  fill_numbers(entries, all);
  std::vector<double> cells(static_cast<std::size_t>(array.length()), std::numeric_limits<double>::quiet_NaN());
  for (std::int64_t i = 0; i < array.length(); ++i)
    if (!array.IsNull(i)) cells[static_cast<std::size_t>(i)] = numbers[entry_of(array, i)];
  return cells;
}

// One array on its way into the matrix: what tiles need of it is computed once.
struct Source {
  const arrow::Array* array = nullptr;
  bool is_text = false, is_looked_up = false;
  std::vector<std::int32_t> codes;
  std::vector<double> numbers;

  Source(const arrow::Array& from, LocalCategories& found) : array(&from) {
    if (from.type_id() == Kind::EXTENSION) array = static_cast<const arrow::ExtensionArray&>(from).storage().get();
    is_text = column_type(*array->type()) == ColumnInfo::Type::kNominal;
    is_looked_up = !is_text && array->type_id() == Kind::DICTIONARY;
    if (is_text) codes = codes_of(*array, found);
    if (is_looked_up) numbers = looked_up(static_cast<const arrow::DictionaryArray&>(*array));
  }

  template <class T>
  void write(Target<T>& target) const {
    if (!is_text && !is_looked_up) return fill_numbers(*array, target);
    for (std::int64_t i = target.begin; i < target.end; ++i) {
      const auto place = static_cast<std::size_t>(i);
      const bool is_missing = is_text && codes[place] == kMissingCode;
      target.put(i, is_missing ? std::numeric_limits<double>::quiet_NaN() : is_text ? codes[place] : numbers[place]);
    }
  }
};

}   // namespace

ColumnInfo::Type column_type(const arrow::DataType& declared) {
  const arrow::DataType& type = stored_type(declared);
  if (type.id() == Kind::DICTIONARY) {
    const arrow::DataType& values = *static_cast<const arrow::DictionaryType&>(type).value_type();
    const bool is_plain = values.id() != Kind::DICTIONARY && values.id() != Kind::EXTENSION;
    return is_plain ? column_type(values) : ColumnInfo::Type::kString;
  }
  if (is_text(type.id())) return ColumnInfo::Type::kNominal;
  return is_number(type.id()) ? ColumnInfo::Type::kNumeric : ColumnInfo::Type::kString;
}

std::int32_t LocalCategories::code_of(std::string_view text) {
  const auto known = codes.find(text);
  if (known != codes.end()) return known->second;
  const auto code = static_cast<std::int32_t>(codes.size());
  codes.emplace(std::string(text), code);
  return code;
}

template <class T>
void write_cells(CellMatrix<T> matrix, std::int64_t first_row, std::span<const std::int64_t> columns,
                 std::span<const std::shared_ptr<arrow::Array>> arrays, std::span<LocalCategories> found,
                 std::atomic<bool>& is_inexact) {
  std::vector<Source> sources;
  for (std::size_t c = 0; c < arrays.size(); ++c) sources.emplace_back(*arrays[c], found[c]);
  const std::int64_t n_rows = arrays.empty() ? 0 : arrays[0]->length();
  for (std::int64_t begin = 0; begin < n_rows && !is_inexact; begin += kTileRows) {
    const std::int64_t end = std::min(begin + kTileRows, n_rows);
    for (std::size_t c = 0; c < sources.size(); ++c) {
      T* const first = matrix.values.data() + (first_row + begin) * matrix.width + columns[c];
      Target<T> target{.first = first, .stride = matrix.width, .begin = begin, .end = end};
      sources[c].write(target);
      found[c].missing += target.missing;
      if (target.is_inexact && std::is_same_v<T, float>) is_inexact = true;
    }
  }
}

template void write_cells<float>(CellMatrix<float>, std::int64_t, std::span<const std::int64_t>,
                                 std::span<const std::shared_ptr<arrow::Array>>, std::span<LocalCategories>,
                                 std::atomic<bool>&);
template void write_cells<double>(CellMatrix<double>, std::int64_t, std::span<const std::int64_t>,
                                  std::span<const std::shared_ptr<arrow::Array>>, std::span<LocalCategories>,
                                  std::atomic<bool>&);

}   // namespace kedge::engine
