// Adds up the sizes of values.
#include "engine/job/fitted_size.h"

#include <fmt/core.h>

#include "schemas/error.h"

namespace kedge::engine {
namespace {

using schema::Value;
constexpr std::size_t kNumber = 8;

std::size_t bytes_of(const std::string& text) {
  return kNumber + text.size();
}
std::size_t bytes_of(const std::vector<double>& numbers) {
  return kNumber * (1 + numbers.size());
}
std::size_t bytes_of(const schema::ValueList& list) {
  std::size_t sum = kNumber;
  for (const Value& one : list) sum += message_size(one);
  return sum;
}
std::size_t bytes_of(const schema::ValueMap& map) {
  std::size_t sum = kNumber;
  for (const auto& [name, value] : map) sum += bytes_of(name) + message_size(value);
  return sum;
}
template <class T>
std::size_t bytes_of(const T&) {
  return kNumber;
}

}   // namespace

std::size_t message_size(const Value& value) {
  return std::visit([](const auto& data) { return bytes_of(data); }, value.data);
}

void require_small(const std::vector<std::pair<std::string, schema::ValueMap>>& fitted, std::size_t most) {
  std::size_t sum = 0, largest = 0;
  std::string step, attribute;
  for (const auto& [name, attributes] : fitted) {
    for (const auto& [key, value] : attributes) {
      const std::size_t size = message_size(value);
      sum += size;
      if (size > largest) largest = size, step = name, attribute = key;
    }
  }
  if (sum <= most) return;
  throw schema::Error(
      schema::ErrorCode::kBodyTooLarge,
      fmt::format("{}: {} has {} MiB, and all fitted attributes of a result at most {}: fewer columns, terms "
                  "(max_features, min_df) or components make it smaller",
                  step, attribute, largest >> 20, most >> 20));
}

}   // namespace kedge::engine
