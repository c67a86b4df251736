// A graph of ONNX as its file has it: inputs, constants, nodes with their attributes, outputs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/error.h"

namespace kedge::engine {

// Codes of TensorProto.DataType.
enum class OnnxType : std::int32_t {
  kNone = 0,
  kFloat = 1,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kDouble = 11
};

struct OnnxTensor {
  std::string_view name;
  OnnxType type = OnnxType::kNone;
  std::vector<std::int64_t> dims;
  std::vector<double> numbers;   // of a tensor of numbers
};

struct OnnxAttribute {
  std::string_view name, text;
  double real = 0;
  std::int64_t integer = 0;
  std::vector<double> reals;   // of a tensor, too
  std::vector<std::int64_t> integers;
  std::vector<std::string_view> texts;
};

// Borrows the file. Places of messages: "ONNX model: node 3 (Scaler)".
struct OnnxNode {
  std::string_view op, domain;
  std::vector<std::string_view> inputs, outputs;
  std::vector<OnnxAttribute> attributes;
  std::string place;

  [[noreturn]] void fail(const std::string& problem) const;     // kModelCorrupt
  [[noreturn]] void refuse(const std::string& problem) const;   // kInvalidValue: correct, but not taken
  const OnnxAttribute* find(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string_view text(std::string_view name, std::string_view otherwise) const;
  // Empty where it is not there. NAME, or NAME_as_tensor in doubles.
  const std::vector<double>& reals(std::string_view name) const;
  const std::vector<std::int64_t>& integers(std::string_view name) const;
  const std::vector<std::string_view>& texts(std::string_view name) const;
  std::string_view input(std::size_t i) const;
  std::string_view output(std::size_t i) const;   // empty: it is not wanted
};

struct OnnxInput {
  std::string_view name;
  OnnxType type = OnnxType::kNone;
  std::vector<std::int64_t> dims;   // -1: not said
};

struct OnnxGraph {
  std::string_view producer;
  std::vector<OnnxInput> inputs;   // without those that are constants
  std::vector<std::string_view> outputs;
  std::vector<OnnxTensor> constants;
  std::vector<OnnxNode> nodes;
};

// Whether a file begins like one of ONNX: ir_version, then another field of a model.
bool is_onnx(std::string_view file);

// Borrows the file. Nothing is trusted: takes at most some MiB and 64 bytes for each byte given. Errors: kModelCorrupt
// with the place; kInvalidValue for what is not taken (functions, sparse constants, data in other files).
OnnxGraph read_onnx(std::string_view file);

}   // namespace kedge::engine
