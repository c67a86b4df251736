// Reads and writes tensors of the Open Inference Protocol: see inference.h.
#include "server/models/inference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "engine/core/npy.h"
#include "schemas/codec.h"
#include "schemas/error.h"
#include "schemas/whole_number.h"

namespace kedge::server {
namespace {

using schema::Error, schema::ErrorCode;
using schema::Value, schema::ValueList, schema::ValueMap;

constexpr std::string_view kJson = "application/json", kNpy = "application/x-npy";
constexpr std::size_t kMostTensors = 4'096;
constexpr std::int64_t kMostElements = std::int64_t{1} << 27;
constexpr double kExact = 9007199254740992.0;   // 2^53: beyond, not every whole number is a double

struct Datatype {
  std::string_view name;
  std::size_t size;   // bytes of an element; 0: of any length
};
constexpr std::array kDatatypes{
    Datatype{"BOOL", 1}, Datatype{"UINT8", 1}, Datatype{"UINT16", 2}, Datatype{"UINT32", 4}, Datatype{"UINT64", 8},
    Datatype{"INT8", 1}, Datatype{"INT16", 2}, Datatype{"INT32", 4},  Datatype{"INT64", 8},  Datatype{"FP16", 2},
    Datatype{"FP32", 4}, Datatype{"FP64", 8},  Datatype{"BYTES", 0}};

[[noreturn]] void malformed(std::string message, std::string where = {}) {
  throw Error(ErrorCode::kMalformed, std::move(message), std::move(where));
}
[[noreturn]] void refuse(std::string message, std::string where) {
  throw Error(ErrorCode::kInvalidValue, std::move(message), std::move(where));
}

std::size_t size_of(const std::string& datatype, const std::string& where) {
  const auto found = std::ranges::find(kDatatypes, datatype, &Datatype::name);
  if (found != kDatatypes.end()) return found->size;
  std::vector<std::string_view> names;
  for (const Datatype& known : kDatatypes) names.push_back(known.name);
  refuse(fmt::format("datatype is '{}', must be one of {}", datatype, fmt::join(names, ", ")), where + ".datatype");
}

// --- Members of JSON objects. Those of another type count as wrong, absent ones as absent.

const Value* member(const ValueMap& map, std::string_view name) {
  const auto found = std::ranges::find(map, name, [](const auto& entry) { return std::string_view(entry.first); });
  return found == map.end() || found->second.is_null() ? nullptr : &found->second;
}

template <class T>
const T* member_as(const ValueMap& map, std::string_view name, const char* type, const std::string& where) {
  const Value* value = member(map, name);
  if (!value) return nullptr;
  const auto* held = std::get_if<T>(&value->data);
  if (!held)
    throw Error(ErrorCode::kWrongType, fmt::format("{} must be {}", name, type),
                where.empty() ? std::string(name) : fmt::format("{}.{}", where, name));
  return held;
}

const ValueMap& parameters_of(const ValueMap& map, const std::string& where) {
  static const ValueMap kNone;
  const auto* parameters = member_as<ValueMap>(map, "parameters", "an object", where);
  return parameters ? *parameters : kNone;
}

const ValueMap& object_at(const ValueList& list, std::size_t i, const std::string& where) {
  const auto* object = std::get_if<ValueMap>(&list[i].data);
  if (!object) throw Error(ErrorCode::kWrongType, fmt::format("{} must be an object", where), where);
  return *object;
}

std::string text_in(const ValueMap& map, std::string_view name, const std::string& where) {
  const auto* text = member_as<std::string>(map, name, "a text", where);
  if (!text) malformed(fmt::format("{} has no {}", where, name), where);
  return *text;
}

// --- Elements

double from_half(std::uint16_t bits) {
  const int sign = bits >> 15, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double value = exponent == 0 ? std::ldexp(fraction, -24)
                 : exponent == 31
                     ? (fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
                     : std::ldexp(1024 + fraction, exponent - 25);
  return sign ? -value : value;
}

template <class E>
E load(const char* bytes) {
  E value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

double element(const std::string& type, const char* bytes) {
  static_assert(std::endian::native == std::endian::little);
  if (type == "FP64") return load<double>(bytes);
  if (type == "FP32") return load<float>(bytes);
  if (type == "INT64") return static_cast<double>(load<std::int64_t>(bytes));
  if (type == "INT32") return load<std::int32_t>(bytes);
  if (type == "UINT8" || type == "BOOL") return load<std::uint8_t>(bytes);
  if (type == "INT8") return load<std::int8_t>(bytes);
  if (type == "INT16") return load<std::int16_t>(bytes);
  if (type == "UINT16") return load<std::uint16_t>(bytes);
  if (type == "UINT32") return load<std::uint32_t>(bytes);
  if (type == "UINT64") return static_cast<double>(load<std::uint64_t>(bytes));
  return from_half(load<std::uint16_t>(bytes));
}

void require_exact(const Tensor& tensor, double value, const std::string& where) {
  if ((tensor.datatype == "INT64" || tensor.datatype == "UINT64") && std::abs(value) > kExact)
    refuse(fmt::format("'{}' has a whole number beyond 2^53, which models cannot hold exactly", tensor.name), where);
}

std::size_t element_count(const Tensor& tensor, const std::string& where) {
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.shape) {
    if (size < 0 || (size > 0 && count > kMostElements / size))
      refuse(fmt::format("shape is [{}], must have sizes of at least 0 and at most {} elements",
                         fmt::join(tensor.shape, ", "), kMostElements),
             where + ".shape");
    count *= size;
  }
  return static_cast<std::size_t>(count);
}

void require_count(const Tensor& tensor, std::size_t wanted, std::size_t found, const std::string& where) {
  if (wanted != found)
    refuse(fmt::format("the data of '{}' has {} elements, its shape [{}] says {}", tensor.name, found,
                       fmt::join(tensor.shape, ", "), wanted),
           where);
}

void take_binary(Tensor& tensor, std::string_view data, std::size_t size, std::size_t count, const std::string& where) {
  if (size == 0) {
    while (!data.empty()) {
      const std::size_t length = data.size() >= 4 ? load<std::uint32_t>(data.data()) : 0;
      if (data.size() < 4 || data.size() - 4 < length)
        malformed(fmt::format("the data of '{}' ends within an element", tensor.name), where);
      tensor.texts.emplace_back(data.substr(4, length));
      data.remove_prefix(4 + length);
    }
    return require_count(tensor, count, tensor.texts.size(), where);
  }
  if (data.size() != count * size)
    refuse(fmt::format("the data of '{}' has {} bytes, must have {}: {} elements of {}", tensor.name, data.size(),
                       count * size, count, tensor.datatype),
           where);
  tensor.numbers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    tensor.numbers.push_back(element(tensor.datatype, data.data() + i * size));
    require_exact(tensor, tensor.numbers.back(), where);
  }
}

void take_number(Tensor& tensor, double value, const std::string& where) {
  require_exact(tensor, value, where);
  const bool is_float = tensor.datatype.starts_with("FP");
  if (!is_float && value != std::floor(value))
    refuse(fmt::format("'{}' has {}, which is no {}", tensor.name, value, tensor.datatype), where);
  tensor.numbers.push_back(tensor.datatype == "FP32" ? static_cast<double>(static_cast<float>(value)) : value);
}

// Flat, or nested by rows: the specification allows both.
void take_json(Tensor& tensor, const Value& value, const std::string& where) {
  if (const auto* list = std::get_if<ValueList>(&value.data)) {
    for (const Value& item : *list) take_json(tensor, item, where);
  } else if (const auto* text = std::get_if<std::string>(&value.data); text && tensor.is_text()) {
    tensor.texts.push_back(*text);
  } else if (const auto* whole = std::get_if<std::int64_t>(&value.data); whole && !tensor.is_text()) {
    take_number(tensor, static_cast<double>(*whole), where);
  } else if (const auto* number = std::get_if<double>(&value.data); number && !tensor.is_text()) {
    take_number(tensor, *number, where);
  } else if (const auto* flag = std::get_if<bool>(&value.data); flag && !tensor.is_text()) {
    tensor.numbers.push_back(*flag ? 1 : 0);
  } else if (value.is_null() && tensor.datatype.starts_with("FP")) {
    tensor.numbers.push_back(std::numeric_limits<double>::quiet_NaN());
  } else {
    refuse(fmt::format("'{}' has an element that is no {}", tensor.name, tensor.datatype), where);
  }
}

// --- Requests

// How many bytes of the binary part an input has; unset: its data is in the JSON.
std::optional<std::size_t> binary_size(const ValueMap& input, const std::string& where) {
  const ValueMap& parameters = parameters_of(input, where);
  if (member(parameters, "shared_memory_region"))
    refuse("shared memory is not offered; send the data with the request", where + ".parameters.shared_memory_region");
  const Value* value = member(parameters, "binary_data_size");
  if (!value) return std::nullopt;
  const std::string place = where + ".parameters.binary_data_size";
  const std::optional<std::int64_t> size = schema::whole_number(*value);
  if (!size) throw Error(ErrorCode::kWrongType, "binary_data_size must be a whole number", place);
  if (*size < 0) refuse("binary_data_size is negative", place);
  return static_cast<std::size_t>(*size);
}

Tensor read_input(const ValueMap& input, const std::string& where, std::string_view& binary) {
  Tensor tensor{.name = text_in(input, "name", where), .datatype = text_in(input, "datatype", where)};
  const auto* shape = member_as<ValueList>(input, "shape", "a list", where);
  if (!shape) malformed(fmt::format("{} has no shape", where), where);
  for (const Value& size : *shape) {
    const std::optional<std::int64_t> whole = schema::whole_number(size);
    if (!whole) throw Error(ErrorCode::kWrongType, "shape must be a list of whole numbers", where + ".shape");
    tensor.shape.push_back(*whole);
  }
  const std::size_t size = size_of(tensor.datatype, where), count = element_count(tensor, where);
  if (const auto bytes = binary_size(input, where)) {
    if (*bytes > binary.size())
      malformed(fmt::format("'{}' has {} bytes of binary data, but only {} follow the header", tensor.name, *bytes,
                            binary.size()),
                where + ".parameters.binary_data_size");
    take_binary(tensor, binary.substr(0, *bytes), size, count, where);
    binary.remove_prefix(*bytes);
    return tensor;
  }
  const Value* data = member(input, "data");
  if (!data) malformed(fmt::format("'{}' has neither data nor parameters.binary_data_size", tensor.name), where);
  if (!std::holds_alternative<ValueList>(data->data))
    throw Error(ErrorCode::kWrongType, "data must be a list", where + ".data");
  take_json(tensor, *data, where + ".data");
  require_count(tensor, count, tensor.is_text() ? tensor.texts.size() : tensor.numbers.size(), where + ".data");
  return tensor;
}

void read_outputs(InferenceRequest& request, const ValueList& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string where = fmt::format("outputs[{}]", i);
    const ValueMap& output = object_at(outputs, i, where);
    const ValueMap& parameters = parameters_of(output, where);
    for (const char* other : {"classification", "shared_memory_region"})
      if (const Value* value = member(parameters, other); value && *value != Value(0))
        refuse(fmt::format("{} is not offered", other), fmt::format("{}.parameters.{}", where, other));
    const bool* binary = member_as<bool>(parameters, "binary_data", "true or false", where + ".parameters");
    request.outputs.push_back({text_in(output, "name", where), binary ? *binary : request.is_binary});
  }
}

// The data alone, for the one input of a model whose columns are all numbers.
InferenceRequest raw_request(std::string_view body, const schema::ModelInfo& model) {
  const std::vector<TensorForm> forms = inputs_of(model);
  const auto columns = static_cast<std::int64_t>(model.columns.size());
  if (forms.size() != 1 || forms[0].datatype == "BYTES")
    refuse("the header's length is 0, but the model has several inputs: name them in a header",
           "Inference-Header-Content-Length");
  const std::size_t row = size_of(forms[0].datatype, "inputs[0]") * static_cast<std::size_t>(columns);
  if (body.empty() || body.size() % row != 0)
    malformed(fmt::format("the body has {} bytes, must have a multiple of {}: rows of {} {}", body.size(), row, columns,
                          forms[0].datatype));
  Tensor tensor{.name = forms[0].name,
                .datatype = forms[0].datatype,
                .shape = {static_cast<std::int64_t>(body.size() / row), columns}};
  take_binary(tensor, body, row / static_cast<std::size_t>(columns), element_count(tensor, "body"), "body");
  InferenceRequest request{.is_binary = true};
  request.inputs.push_back(std::move(tensor));
  return request;
}

// --- Rows

bool is_matrix(const InferenceRequest& request, const schema::ModelInfo& model) {
  if (request.inputs.size() != 1) return false;
  const Tensor& input = request.inputs[0];
  const auto columns = static_cast<std::int64_t>(model.columns.size());
  if (input.shape.size() == 2 && input.shape[1] == columns) return true;
  return input.shape.size() == 1 && input.shape[0] == columns && input.name != model.columns[0].name;
}

template <class E>
void append(std::string& out, E value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

InferenceRows matrix_rows(const Tensor& input, const schema::ModelInfo& model) {
  const auto columns = static_cast<std::int64_t>(model.columns.size());
  const std::int64_t n_rows = input.shape.size() == 1 ? 1 : input.shape[0];
  if (!input.is_text()) {
    InferenceRows rows{.n_rows = n_rows, .content_type = std::string(kNpy)};
    rows.body = engine::npy_header("<f8", std::array{n_rows, columns});
    rows.body.append(reinterpret_cast<const char*>(input.numbers.data()), input.numbers.size() * sizeof(double));
    return rows;
  }
  ValueList lists;
  for (std::size_t i = 0; i < input.texts.size(); i += static_cast<std::size_t>(columns)) {
    const auto begin = input.texts.begin() + static_cast<std::ptrdiff_t>(i);
    lists.emplace_back(ValueList(begin, begin + columns));
  }
  return {.n_rows = n_rows,
          .content_type = std::string(kJson),
          .body = schema::value_to_json(ValueMap{{"rows", std::move(lists)}})};
}

// A column for each tensor.
InferenceRows column_rows(const InferenceRequest& request) {
  const std::int64_t n_rows = request.inputs[0].shape.empty() ? 1 : request.inputs[0].shape[0];
  ValueList names, rows(static_cast<std::size_t>(n_rows));
  for (Value& row : rows) row = ValueList();
  for (std::size_t c = 0; c < request.inputs.size(); ++c) {
    const Tensor& input = request.inputs[c];
    const bool is_column = !input.shape.empty() && std::ranges::all_of(input.shape.begin() + 1, input.shape.end(),
                                                                       [](std::int64_t s) { return s == 1; });
    if (!is_column || input.shape[0] != n_rows)
      refuse(fmt::format("'{}' has the shape [{}], must be a column of {} rows: [{}] or [{}, 1]", input.name,
                         fmt::join(input.shape, ", "), n_rows, n_rows, n_rows),
             fmt::format("inputs[{}].shape", c));
    names.emplace_back(input.name);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ValueList& row = std::get<ValueList>(rows[i].data);
      if (input.is_text()) row.emplace_back(input.texts[i]);
      else row.push_back(std::isnan(input.numbers[i]) ? Value() : Value(input.numbers[i]));
    }
  }
  return {.n_rows = n_rows,
          .content_type = std::string(kJson),
          .body = schema::value_to_json(ValueMap{{"columns", std::move(names)}, {"rows", std::move(rows)}})};
}

bool are_numbers(const schema::ModelInfo& model) {
  return std::ranges::all_of(
      model.columns, [](const schema::ModelColumn& column) { return column.kind == "number" && column.type.empty(); });
}

bool is_whole(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && text == std::to_string(value);
}

// Of all target columns.
std::vector<std::string> classes_of(const schema::ModelInfo& model) {
  std::vector<std::string> classes = model.classes;
  for (const schema::TargetColumn& target : model.targets)
    classes.insert(classes.end(), target.classes.begin(), target.classes.end());
  return classes;
}

// --- Answers

void append_binary(std::string& out, const Tensor& tensor) {
  for (const std::string& text : tensor.texts) {
    append(out, static_cast<std::uint32_t>(text.size()));
    out += text;
  }
  for (const double number : tensor.numbers) {
    if (tensor.datatype == "INT64") append(out, static_cast<std::int64_t>(number));
    else if (tensor.datatype == "FP32") append(out, static_cast<float>(number));
    else append(out, number);
  }
}

Value json_data(const Tensor& tensor) {
  ValueList data(tensor.texts.begin(), tensor.texts.end());
  for (const double number : tensor.numbers) {
    if (tensor.datatype == "INT64") data.emplace_back(static_cast<std::int64_t>(number));
    else data.push_back(std::isnan(number) ? Value() : Value(number));
  }
  return data;
}

ValueList shape_value(const std::vector<std::int64_t>& shape) {
  return {shape.begin(), shape.end()};
}

}   // namespace

InferenceRequest parse_inference(std::string_view body, std::optional<std::size_t> head_bytes,
                                 const schema::ModelInfo& model) {
  if (head_bytes == 0) return raw_request(body, model);
  if (head_bytes && *head_bytes > body.size())
    malformed(fmt::format("Inference-Header-Content-Length is {}, but the body has {} bytes", *head_bytes, body.size()),
              "Inference-Header-Content-Length");
  const Value head = schema::value_from_json(body.substr(0, head_bytes.value_or(body.size())));
  std::string_view binary = head_bytes ? body.substr(*head_bytes) : std::string_view();
  const auto* map = std::get_if<ValueMap>(&head.data);
  if (!map) malformed("the request is no object");
  InferenceRequest request;
  if (const Value* id = member(*map, "id")) {
    const auto* text = std::get_if<std::string>(&id->data);
    request.id = text ? *text : schema::value_to_json(*id);
  }
  const bool* is_binary = member_as<bool>(parameters_of(*map, {}), "binary_data_output", "true or false", "parameters");
  request.is_binary = is_binary && *is_binary;
  const auto* inputs = member_as<ValueList>(*map, "inputs", "a list", {});
  if (!inputs || inputs->empty()) malformed("the request has no inputs", "inputs");
  const auto* outputs = member_as<ValueList>(*map, "outputs", "a list", {});
  if (std::max(inputs->size(), outputs ? outputs->size() : 0) > kMostTensors)
    refuse(fmt::format("there may be {} tensors", kMostTensors), inputs->size() > kMostTensors ? "inputs" : "outputs");
  for (std::size_t i = 0; i < inputs->size(); ++i) {
    const std::string where = fmt::format("inputs[{}]", i);
    request.inputs.push_back(read_input(object_at(*inputs, i, where), where, binary));
  }
  if (!binary.empty())
    malformed(fmt::format("{} bytes follow the data of the inputs", binary.size()), "Inference-Header-Content-Length");
  if (outputs) read_outputs(request, *outputs);
  return request;
}

InferenceRows rows_of_inference(const InferenceRequest& request, const schema::ModelInfo& model) {
  if (is_matrix(request, model)) return matrix_rows(request.inputs[0], model);
  const Tensor& first = request.inputs[0];
  const bool is_named =
      std::ranges::any_of(model.columns, [&](const schema::ModelColumn& column) { return column.name == first.name; });
  if (request.inputs.size() == 1 && !(is_named && model.columns.size() == 1))
    refuse(fmt::format("'{}' has the shape [{}], must be [rows, {}]: the model reads {} columns", first.name,
                       fmt::join(first.shape, ", "), model.columns.size(), model.columns.size()),
           "inputs[0].shape");
  return column_rows(request);
}

std::vector<TensorForm> inputs_of(const schema::ModelInfo& model) {
  if (are_numbers(model))
    return {
        {"input", model.dtype == "float32" ? "FP32" : "FP64", {-1, static_cast<std::int64_t>(model.columns.size())}}};
  std::vector<TensorForm> forms;
  for (const schema::ModelColumn& column : model.columns) {
    const bool is_text = column.kind == "category" || !column.type.empty();
    forms.push_back({column.source.empty() ? column.name : column.source, is_text ? "BYTES" : "FP64", {-1, 1}});
  }
  return forms;
}

std::vector<TensorForm> outputs_of(const schema::ModelInfo& model, bool is_regressor) {
  std::vector<TensorForm> forms;
  const std::vector<std::string> classes = classes_of(model);
  const auto n_classes = static_cast<std::int64_t>(classes.size());
  for (const std::string& output : model.outputs) {
    TensorForm form{output, "FP64", {-1}};
    if (output == "predict") {
      form.datatype = !classes.empty() ? (std::ranges::all_of(classes, is_whole) ? "INT64" : "BYTES")
                      : is_regressor   ? "FP64"
                                       : "INT64";
      if (!model.targets.empty()) form.shape.push_back(std::ssize(model.targets));
    } else if (output == "predict_proba") {
      form.shape.push_back(n_classes > 0 ? n_classes : -1);
    } else if (output == "contributions" || output == "interactions") {
      form.shape.push_back(-1);
    } else if (output == "transform") {
      form.shape.push_back(-1);
      form.datatype = model.dtype == "float32" ? "FP32" : "FP64";
    } else if (output == "decision_function" && n_classes > 2) {
      form.shape.push_back(n_classes);
    }
    forms.push_back(std::move(form));
  }
  return forms;
}

std::string_view answer_type_for(const schema::ModelInfo& model, std::string_view output) {
  return output == "predict" && !std::ranges::all_of(classes_of(model), is_whole) ? kJson : kNpy;
}

Tensor output_tensor(const TensorForm& form, std::string_view answer_type, std::string_view answer) {
  Tensor tensor{.name = form.name, .datatype = form.datatype};
  if (answer_type == kJson) {
    const Value value = schema::value_from_json(answer);
    const auto* map = std::get_if<ValueMap>(&value.data);
    const Value* values = map ? member(*map, "values") : nullptr;
    if (!values) throw Error(ErrorCode::kInternal, "a prediction has no values");
    take_json(tensor, *values, "values");
    tensor.shape = {std::ssize(tensor.texts)};
    if (form.shape.size() == 2) tensor.shape = {std::ssize(tensor.texts) / form.shape[1], form.shape[1]};
    return tensor;
  }
  engine::NpyArray array = engine::read_npy(answer);
  tensor.shape = {array.rows};
  if (form.shape.size() == 2) tensor.shape.push_back(array.cols);
  else if (array.cols != 1) tensor.shape.push_back(array.cols);
  tensor.numbers = std::move(array.values);
  return tensor;
}

InferenceAnswer encode_inference(const InferenceRequest& request, std::string_view model, std::string_view version,
                                 const std::vector<Tensor>& outputs, const std::vector<bool>& is_binary) {
  ValueList tensors;
  std::string binary;
  bool any_binary = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& output = outputs[i];
    ValueMap tensor{{"name", output.name}, {"datatype", output.datatype}, {"shape", shape_value(output.shape)}};
    if (is_binary[i]) {
      const std::size_t before = binary.size();
      append_binary(binary, output);
      tensor.emplace_back("parameters",
                          ValueMap{{"binary_data_size", static_cast<std::int64_t>(binary.size() - before)}});
      any_binary = true;
    } else {
      tensor.emplace_back("data", json_data(output));
    }
    tensors.emplace_back(std::move(tensor));
  }
  ValueMap answer{{"model_name", std::string(model)}, {"model_version", std::string(version)}};
  if (!request.id.empty()) answer.emplace_back("id", request.id);
  answer.emplace_back("outputs", std::move(tensors));
  InferenceAnswer encoded{.body = schema::value_to_json(answer)};
  if (any_binary) encoded.head_bytes = encoded.body.size();
  encoded.body += binary;
  return encoded;
}

}   // namespace kedge::server
