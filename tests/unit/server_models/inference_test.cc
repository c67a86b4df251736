// Tensors of the Open Inference Protocol: what is read, what is refused, and what an answer looks like.
#include "server/models/inference.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "engine/core/npy.h"
#include "schemas/error.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;
using testing::ElementsAre;
using testing::HasSubstr;

schema::ModelInfo iris() {
  schema::ModelInfo model{
      .id = "mdl_1", .outputs = {"predict", "predict_proba"}, .classes = {"setosa", "versicolor", "virginica"}};
  for (const char* name : {"a", "b"}) model.columns.push_back({.name = name});
  return model;
}

template <class E>
std::string bytes_of(std::initializer_list<E> values) {
  std::string bytes;
  for (const E value : values) bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}

InferenceRequest parsed(std::string_view head, std::string_view binary = {}) {
  const std::string body = std::string(head) + std::string(binary);
  return parse_inference(body, binary.empty() ? std::nullopt : std::optional(head.size()), iris());
}

schema::Error refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const schema::Error& error) {
    return error;
  }
  return {ErrorCode::kInternal, "it was taken"};
}

TEST(Inference, ReadsDataInJsonFlatOrNested) {
  for (const char* data : {"[1, 2.5, 3, 4]", "[[1, 2.5], [3, 4]]"}) {
    const auto request = parsed(fmt::format(
        R"({{"id": "7", "model_name": "x", "inputs": [{{"name": "input", "shape": [2, 2], "datatype": "FP64", "data": {}}}]}})",
        data));
    EXPECT_EQ(request.id, "7");
    EXPECT_THAT(request.inputs.at(0).numbers, ElementsAre(1, 2.5, 3, 4));
    const InferenceRows rows = rows_of_inference(request, iris());
    EXPECT_EQ(rows.n_rows, 2);
    EXPECT_THAT(engine::read_npy(rows.body).values, ElementsAre(1, 2.5, 3, 4));
  }
}

TEST(Inference, ReadsBinaryDataOfEveryDatatype) {
  const auto one = [](const std::string& type, const std::string& data) {
    const auto request = parsed(
        fmt::format(
            R"({{"inputs": [{{"name": "i", "shape": [1, 2], "datatype": "{}", "parameters": {{"binary_data_size": {}}}}}]}})",
            type, data.size()),
        data);
    return request.inputs.at(0).numbers;
  };
  EXPECT_THAT(one("FP64", bytes_of<double>({1.5, -2})), ElementsAre(1.5, -2));
  EXPECT_THAT(one("FP32", bytes_of<float>({1.5F, -2})), ElementsAre(1.5, -2));
  EXPECT_THAT(one("FP16", bytes_of<std::uint16_t>({0x3e00, 0xc000})), ElementsAre(1.5, -2));
  EXPECT_THAT(one("FP16", bytes_of<std::uint16_t>({0x0001, 0x7c00})), ElementsAre(std::ldexp(1.0, -24), INFINITY));
  EXPECT_THAT(one("INT64", bytes_of<std::int64_t>({-7, 8})), ElementsAre(-7, 8));
  EXPECT_THAT(one("UINT64", bytes_of<std::uint64_t>({7, 8})), ElementsAre(7, 8));
  EXPECT_THAT(one("INT32", bytes_of<std::int32_t>({-7, 8})), ElementsAre(-7, 8));
  EXPECT_THAT(one("UINT32", bytes_of<std::uint32_t>({7, 4000000000U})), ElementsAre(7, 4e9));
  EXPECT_THAT(one("INT16", bytes_of<std::int16_t>({-7, 8})), ElementsAre(-7, 8));
  EXPECT_THAT(one("UINT16", bytes_of<std::uint16_t>({7, 65535})), ElementsAre(7, 65535));
  EXPECT_THAT(one("INT8", bytes_of<std::int8_t>({-7, 8})), ElementsAre(-7, 8));
  EXPECT_THAT(one("UINT8", bytes_of<std::uint8_t>({7, 255})), ElementsAre(7, 255));
  EXPECT_THAT(one("BOOL", bytes_of<std::uint8_t>({1, 0})), ElementsAre(1, 0));
}

// 19 bytes, as in the specification's example of the binary extension.
TEST(Inference, ReadsTextsWithTheirLengths) {
  std::string data = bytes_of<std::uint32_t>({7}) + "abcdefg" + bytes_of<std::uint32_t>({4}) + "wxyz";
  ASSERT_EQ(data.size(), 19u);
  const auto request = parsed(
      R"({"inputs": [{"name": "c", "shape": [2], "datatype": "BYTES", "parameters": {"binary_data_size": 19}}]})",
      data);
  EXPECT_THAT(request.inputs.at(0).texts, ElementsAre("abcdefg", "wxyz"));
}

TEST(Inference, TakesATensorForEachColumn) {
  const auto request = parsed(R"({"inputs": [{"name": "b", "shape": [2, 1], "datatype": "BYTES", "data": ["x", "y"]},
                                             {"name": "a", "shape": [2], "datatype": "FP64", "data": [1.5, null]}]})");
  const InferenceRows rows = rows_of_inference(request, iris());
  EXPECT_EQ(rows.content_type, "application/json");
  EXPECT_EQ(rows.body, R"({"columns":["b","a"],"rows":[["x",1.5],["y",null]]})");
}

TEST(Inference, TakesTheDataAloneWhereTheHeaderHasNoBytes) {
  const auto request = parse_inference(bytes_of<double>({1, 2, 3, 4}), 0, iris());
  EXPECT_THAT(request.inputs.at(0).shape, ElementsAre(2, 2));
  EXPECT_TRUE(request.is_binary);
  EXPECT_THAT(refusal([] { parse_inference("12345", 0, iris()); }).message, HasSubstr("must have a multiple of 16"));
}

TEST(Inference, RefusesABodyThatLiesAboutItself) {
  const std::string head =
      R"({"inputs": [{"name": "i", "shape": [1, 2], "datatype": "FP64", "parameters": {"binary_data_size": 16}}]})";
  EXPECT_EQ(refusal([&] { parsed(head, std::string(8, 'x')); }).where, "inputs[0].parameters.binary_data_size");
  EXPECT_THAT(refusal([&] { parsed(head, std::string(20, 'x')); }).message, HasSubstr("4 bytes follow"));
  EXPECT_EQ(refusal([&] { parse_inference(head, head.size() + 1, iris()); }).where, "Inference-Header-Content-Length");
  EXPECT_EQ(refusal([&] { parse_inference(head, 10, iris()); }).code, ErrorCode::kMalformed);
  EXPECT_THAT(
      refusal([&] {
        parsed(
            R"({"inputs": [{"name": "i", "shape": [1, 2], "datatype": "BYTES", "parameters": {"binary_data_size": 5}}]})",
            bytes_of<std::uint32_t>({200}) + "x");
      }).message,
      HasSubstr("ends within an element"));
}

TEST(Inference, NamesTheTensorThatIsWrong) {
  const auto error = [](const std::string& input) {
    return refusal([&] { parsed(R"({"inputs": [)" + input + "]}"); });
  };
  EXPECT_EQ(error(R"({"name": "i", "shape": [1, 2], "datatype": "FP8", "data": [1, 2]})").where, "inputs[0].datatype");
  EXPECT_EQ(error(R"({"name": "i", "shape": [1, 2], "datatype": "FP64", "data": [1]})").where, "inputs[0].data");
  EXPECT_EQ(error(R"({"name": "i", "shape": [1, -2], "datatype": "FP64", "data": [1]})").where, "inputs[0].shape");
  EXPECT_EQ(error(R"({"name": "i", "shape": [1, 2.5], "datatype": "FP64", "data": [1]})").where, "inputs[0].shape");
  EXPECT_EQ(error(R"({"name": "i", "shape": [4611686018427387904, 8], "datatype": "FP64", "data": [1]})").where,
            "inputs[0].shape");
  EXPECT_EQ(error(R"({"name": "i", "shape": [1, 2], "datatype": "INT64", "data": [1, 2.5]})").where, "inputs[0].data");
  EXPECT_EQ(error(R"({"name": "i", "shape": [1, 2], "datatype": "INT64", "data": [1, 9007199254740994]})").where,
            "inputs[0].data");
  EXPECT_EQ(error(R"({"name": "i", "shape": [1, 2], "datatype": "FP64", "data": ["a", "b"]})").where, "inputs[0].data");
  EXPECT_EQ(error(R"({"name": "i", "shape": [1, 2], "datatype": "FP64"})").code, ErrorCode::kMalformed);
  EXPECT_EQ(error(R"({"name": "i", "datatype": "FP64", "data": [1]})").where, "inputs[0]");
  EXPECT_EQ(error("3").where, "inputs[0]");
  EXPECT_EQ(refusal([] { parsed("[]"); }).code, ErrorCode::kMalformed);
  EXPECT_EQ(refusal([] { parsed(R"({"inputs": []})"); }).where, "inputs");
  const auto wide = parsed(R"({"inputs": [{"name": "i", "shape": [1.0, 3], "datatype": "FP64", "data": [1, 2, 3]}]})");
  EXPECT_THAT(refusal([&] { rows_of_inference(wide, iris()); }).message, HasSubstr("must be [rows, 2]"));
}

TEST(Inference, SaysWhatAModelTakesAndGives) {
  schema::ModelInfo model = iris();
  EXPECT_EQ(inputs_of(model).at(0).datatype, "FP64");
  EXPECT_THAT(inputs_of(model).at(0).shape, ElementsAre(-1, 2));
  EXPECT_EQ(outputs_of(model, false).at(0).datatype, "BYTES");
  EXPECT_THAT(outputs_of(model, false).at(1).shape, ElementsAre(-1, 3));
  model.classes = {"0", "1"};
  EXPECT_EQ(outputs_of(model, false).at(0).datatype, "INT64");
  model.classes.clear();
  EXPECT_EQ(outputs_of(model, true).at(0).datatype, "FP64");
  EXPECT_EQ(outputs_of(model, false).at(0).datatype, "INT64") << "clusters";
  model.columns[1].kind = "category";
  ASSERT_EQ(inputs_of(model).size(), 2u);
  EXPECT_EQ(inputs_of(model)[1].datatype, "BYTES");
}

TEST(Inference, WritesJsonAndBinary) {
  const Tensor classes{.name = "predict", .datatype = "BYTES", .shape = {1}, .texts = {"setosa"}};
  const Tensor scores{.name = "predict_proba", .datatype = "FP64", .shape = {1, 2}, .numbers = {0.25, 0.75}};
  const InferenceAnswer json = encode_inference({.id = "7"}, "iris", "3", {classes, scores}, {false, false});
  EXPECT_FALSE(json.head_bytes);
  EXPECT_EQ(
      json.body,
      R"({"model_name":"iris","model_version":"3","id":"7","outputs":[{"name":"predict","datatype":"BYTES","shape":[1],"data":["setosa"]},)"
      R"({"name":"predict_proba","datatype":"FP64","shape":[1,2],"data":[0.25,0.75]}]})");
  const InferenceAnswer binary = encode_inference({}, "iris", "3", {classes, scores}, {true, true});
  ASSERT_TRUE(binary.head_bytes);
  EXPECT_EQ(binary.body.substr(*binary.head_bytes),
            bytes_of<std::uint32_t>({6}) + "setosa" + bytes_of<double>({0.25, 0.75}));
  EXPECT_THAT(binary.body, HasSubstr(R"("parameters":{"binary_data_size":10})"));
}

}   // namespace
}   // namespace kedge::server
