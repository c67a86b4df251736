// The tensors of the Open Inference Protocol (v2, REST): requests with JSON and binary data, as rows for a model, and
// answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/model.h"
#include "schemas/value.h"

namespace kedge::server {

// Row-major. The elements are in `texts` for BYTES, else in `numbers`.
struct Tensor {
  std::string name, datatype;   // BOOL, INT8 .. INT64, UINT8 .. UINT64, FP16, FP32, FP64, BYTES
  std::vector<std::int64_t> shape;
  std::vector<double> numbers = {};
  std::vector<std::string> texts = {};

  bool is_text() const { return datatype == "BYTES"; }
};

struct WantedOutput {
  std::string name;
  bool is_binary = false;
};

struct InferenceRequest {
  std::string id = {};
  std::vector<Tensor> inputs = {};
  std::vector<WantedOutput> outputs = {};   // empty: the model's first
  bool is_binary = false;                   // of outputs that are not named
};

// head_bytes: the field Inference-Header-Content-Length; unset: the body is JSON alone. 0: it is the data of the
// model's one input, and no JSON. Unknown members are left out of account. Errors: kMalformed for a body that is not
// what it says of itself, kInvalidValue for a tensor whose datatype, shape and data do not fit; both name the member.
InferenceRequest parse_inference(std::string_view body, std::optional<std::size_t> head_bytes,
                                 const schema::ModelInfo& model);

// The rows of a request as the body of a prediction: one tensor of shape [rows, columns] in the model's order, or a
// tensor of shape [rows] or [rows, 1] for each column, by name. Errors: kInvalidValue, which names the tensor.
struct InferenceRows {
  std::int64_t n_rows = 0;
  std::string content_type, body;
};
InferenceRows rows_of_inference(const InferenceRequest& request, const schema::ModelInfo& model);

// What a model takes and gives, for its metadata. `is_regressor`: the last step predicts numbers that need not be
// whole.
struct TensorForm {
  std::string name, datatype;
  std::vector<std::int64_t> shape;   // -1: any
};
std::vector<TensorForm> inputs_of(const schema::ModelInfo& model);
std::vector<TensorForm> outputs_of(const schema::ModelInfo& model, bool is_regressor);

// The form in which a prediction is to be asked for, so that output_tensor() can read it.
std::string_view answer_type_for(const schema::ModelInfo& model, std::string_view output);
Tensor output_tensor(const TensorForm& form, std::string_view answer_type, std::string_view answer);

// An answer: JSON, and where an output is binary, what follows it. `head_bytes` is unset where all of it is JSON.
struct InferenceAnswer {
  std::string body;
  std::optional<std::size_t> head_bytes;
};
InferenceAnswer encode_inference(const InferenceRequest& request, std::string_view model, std::string_view version,
                                 const std::vector<Tensor>& outputs, const std::vector<bool>& is_binary);

}   // namespace kedge::server
