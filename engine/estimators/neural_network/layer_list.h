// The layers of a network as text: "dense(256, relu)", "dropout(0.2)", "batch_norm". A list of learning rates likewise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend/ops/network.h"
#include "schemas/value.h"

namespace kedge::engine {

struct Layer {
  enum class Kind { kDense, kActivation, kDropout, kBatchNorm, kLayerNorm };
  Kind kind = Kind::kDense;
  std::int64_t units = 0;                          // of kDense
  Activation activation = Activation::kIdentity;   // of kActivation
  double rate = 0;                                 // of kDropout
};

// One layer or two for each text: the activation of a dense layer comes after it. Errors: kInvalidValue, where
// params.layers, with the layer's place and what is wrong with it.
std::vector<Layer> read_layers(const std::string& owner, const schema::Value& texts);

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
