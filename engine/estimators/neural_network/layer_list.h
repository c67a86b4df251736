// The layers of a network as text: "dense(256, relu)", "dropout(0.2)", "batch_norm"; an embedding is an object. A
// schedule of learning rates likewise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend/ops/network.h"
#include "schemas/catalogue.h"
#include "schemas/value.h"

namespace kedge::engine {

// Vectors in place of codes, as Keras' layer of this name: one table for all its columns.
struct Embedding {
  std::vector<std::int64_t> columns;   // of the network's input, each once
  std::int64_t input_dim = 0;          // codes are 0 .. input_dim - 1
  std::int64_t output_dim = 0;         // numbers of a vector

  std::int64_t width() const { return static_cast<std::int64_t>(columns.size()) * output_dim; }
  std::int64_t n_parameters() const { return input_dim * output_dim; }
};

struct Layer {
  enum class Kind { kDense, kActivation, kDropout, kBatchNorm, kLayerNorm, kEmbedding };
  Kind kind = Kind::kDense;
  std::int64_t units = 0;                          // of kDense
  Activation activation = Activation::kIdentity;   // of kActivation
  double rate = 0;                                 // of kDropout
  Embedding embedding = {};                        // of kEmbedding
};

// One layer or two for each entry: the activation of a dense layer comes after it. Embeddings come first. Errors:
// kInvalidValue, where params.layers, with the layer's place and what is wrong with it.
std::vector<Layer> read_layers(const std::string& owner, const schema::Value& entries);

// An object that is an embedding, for the documentation of the parameter.
schema::ParamForm embedding_form();

// How the rate of the first epoch changes with the epochs.
struct RateSchedule {
  enum class Kind { kNone, kStep, kExponential, kCosine, kWarmRestarts, kWarmup };
  Kind kind = Kind::kNone;
  double epochs = 1, factor = 1;

  // Times the first rate, in epoch 0, 1, 2 ...
  double factor_in(std::int64_t epoch) const;
};

// "step(10, 0.5)", "exponential(0.95)", "cosine(50)", "warm_restarts(10)", "warmup(5)". Errors: kInvalidValue, where
// params.lr_schedule.
RateSchedule read_schedule(const std::string& owner, const std::optional<std::string>& text);

}   // namespace kedge::engine
