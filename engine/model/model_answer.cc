// What a model says, as JSON, CSV or NPY.
#include <fmt/format.h>

#include "engine/core/npy.h"
#include "engine/core/require.h"
#include "engine/model/stored_model.h"
#include "schemas/codec.h"

namespace kedge::engine {
namespace {

using schema::Value;

Value item_at(const ModelAnswer& answer, std::size_t at) {
  if (!answer.texts.empty()) return answer.texts[at];
  return answer.is_whole ? Value(static_cast<std::int64_t>(answer.numbers[at])) : Value(answer.numbers[at]);
}

// {"values": [...]}, or {"columns": [...], "values": [[...]]}.
std::string as_json(const ModelAnswer& answer) {
  schema::ValueList values;
  const auto cols = static_cast<std::size_t>(answer.n_cols);
  for (std::size_t i = 0; i < static_cast<std::size_t>(answer.n_rows); ++i) {
    if (answer.is_vector) {
      values.push_back(item_at(answer, i));
      continue;
    }
    if (answer.is_whole || !answer.texts.empty()) {
      schema::ValueList row;
      for (std::size_t at = i * cols; at < (i + 1) * cols; ++at) row.push_back(item_at(answer, at));
      values.emplace_back(std::move(row));
      continue;
    }
    const auto begin = answer.numbers.begin() + static_cast<std::ptrdiff_t>(i * cols);
    values.emplace_back(std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(cols)));
  }
  schema::ValueMap map;
  if (!answer.is_vector) map.emplace_back("columns", schema::ValueList(answer.columns.begin(), answer.columns.end()));
  map.emplace_back("values", std::move(values));
  return schema::value_to_json(map) + '\n';
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string cell_text(const ModelAnswer& answer, std::size_t at) {
  if (!answer.texts.empty()) return quoted(answer.texts[at]);
  if (answer.is_whole) return fmt::format("{:.0f}", answer.numbers[at]);
  return answer.is_float32 ? fmt::format("{}", static_cast<float>(answer.numbers[at])) : fmt::format("{}", answer.numbers[at]);
}

std::string as_csv(const ModelAnswer& answer) {
  std::string out;
  if (answer.is_vector) out = "prediction";
  for (std::size_t c = 0; !answer.is_vector && c < answer.columns.size(); ++c) out += (c > 0 ? "," : "") + quoted(answer.columns[c]);
  out += '\n';
  const auto cols = static_cast<std::size_t>(answer.n_cols), n = static_cast<std::size_t>(answer.n_rows) * cols;
  for (std::size_t at = 0; at < n; ++at) out += cell_text(answer, at) + (at % cols + 1 == cols ? '\n' : ',');
  return out;
}

template <class E>
void append_as(std::string& out, const std::vector<double>& numbers) {
  for (const double number : numbers) {
    const E value = static_cast<E>(number);
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
}

std::string as_npy(const ModelAnswer& answer) {
  std::vector<std::int64_t> shape{answer.n_rows};
  if (!answer.is_vector) shape.push_back(answer.n_cols);
  if (!answer.texts.empty()) return npy_texts(answer.texts, shape);
  std::string out = npy_header(answer.is_whole ? "<i8" : answer.is_float32 ? "<f4" : "<f8", shape);
  if (answer.is_whole) append_as<std::int64_t>(out, answer.numbers);
  else if (answer.is_float32) append_as<float>(out, answer.numbers);
  else append_as<double>(out, answer.numbers);
  return out;
}

// The names, empty of a vector, in a line in front.
std::string as_named_npy(const ModelAnswer& answer) {
  schema::ValueList names;
  if (!answer.is_vector) names.assign(answer.columns.begin(), answer.columns.end());
  return schema::value_to_json(std::move(names)) + '\n' + as_npy(answer);
}

}  // namespace

std::string encoded_answer(const ModelAnswer& answer, std::string_view type) {
  if (type == "application/json") return as_json(answer);
  if (type == "text/csv") return as_csv(answer);
  if (type == kNamedNpy) return as_named_npy(answer);
  require(type == "application/x-npy", schema::ErrorCode::kNotAcceptable, "Accept is '{}', there is application/json, text/csv and application/x-npy", type);
  return as_npy(answer);
}

}  // namespace kedge::engine
