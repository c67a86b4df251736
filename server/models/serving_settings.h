// How one model is served: which of its questions are answered together, how long one waits for others, and which are
// logged.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "schemas/value.h"

namespace kedge::server {

struct ServingSettings {
  std::int64_t max_batch_rows = 0;   // that are asked of the model in one go; 0: no bound
  std::optional<std::int64_t>
      max_delay_us;                 // that a question waits for others; unset: the server's --predict-delay-us
  double log_fraction = 0;          // of the questions that are logged; 0: none are
  std::int64_t log_max_bytes = 0;   // of the log on the disk
  friend bool operator==(const ServingSettings&, const ServingSettings&) = default;
};

inline constexpr std::int64_t kMostLogBytes = 64 << 20;   // of one model

// Of a request's body. What is absent has its default. Errors: kMalformed, kUnknownField, kInvalidValue, each with the
// field.
ServingSettings serving_settings_of(std::string_view json);
// As serving_settings_of() reads it: what is not set is left out.
schema::ValueMap to_value(const ServingSettings& settings);

// Rows in the body of a question: application/json, text/csv or application/x-npy. Of a body that is not well formed
// any number; of one that is too long to be looked at in passing `kManyRows`.
inline constexpr std::int64_t kManyRows = 1'000'000;
std::int64_t count_rows(std::string_view content_type, std::string_view body);

}   // namespace kedge::server
