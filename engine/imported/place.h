// A value of a model's file with the way to it, so that every complaint names the place.
#pragma once

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/params.h"
#include "schemas/error.h"
#include "schemas/value.h"

namespace kedge::engine {

// Borrows the document. Errors of all calls: kModelCorrupt, "XGBoost model: learner.objective.name: ...".
class Place {
 public:
  Place(const schema::Value& value, std::string path) : value_(&value), path_(std::move(path)) {}

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) const {
    throw schema::Error(schema::ErrorCode::kModelCorrupt,
                        fmt::format("{}: {}", path_, fmt::format(text, std::forward<Args>(args)...)));
  }
  const std::string& path() const { return path_; }

  std::optional<Place> find(std::string_view key) const {
    const auto* map = std::get_if<schema::ValueMap>(&value_->data);
    if (!map) fail("must be an object");
    const schema::Value* const found = find_value(*map, key);
    if (!found) return std::nullopt;
    return Place(*found, join(key));
  }
  Place at(std::string_view key) const {
    const std::optional<Place> found = find(key);
    if (!found) fail("has no '{}'", key);
    return *found;
  }
  std::vector<Place> items() const {
    std::vector<Place> places;
    if (const auto* numbers = std::get_if<std::vector<double>>(&value_->data); numbers && numbers->empty())
      return places;
    const auto* list = std::get_if<schema::ValueList>(&value_->data);
    if (!list) fail("must be a list");
    for (std::size_t i = 0; i < list->size(); ++i) places.emplace_back((*list)[i], fmt::format("{}[{}]", path_, i));
    return places;
  }
  // A list of numbers alone, or null.
  const std::vector<double>* flat() const { return std::get_if<std::vector<double>>(&value_->data); }
  const std::string& text() const {
    const auto* text = std::get_if<std::string>(&value_->data);
    if (!text) fail("must be a string");
    return *text;
  }
  // A name: a string, or a number or flag as Python writes it.
  std::string label() const {
    if (const auto* whole = std::get_if<std::int64_t>(&value_->data)) return fmt::format("{}", *whole);
    if (const auto* real = std::get_if<double>(&value_->data)) return fmt::format("{}", *real);
    if (const auto* flag = std::get_if<bool>(&value_->data)) return *flag ? "True" : "False";
    return text();
  }
  // As a number, or as a string that holds one: XGBoost writes its parameters so.
  double number() const {
    if (const auto* real = std::get_if<double>(&value_->data)) return *real;
    if (const auto* whole = std::get_if<std::int64_t>(&value_->data)) return static_cast<double>(*whole);
    if (const auto* flag = std::get_if<bool>(&value_->data)) return *flag ? 1 : 0;
    const std::string& digits = text();
    double number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) fail("must be a number");
    return number;
  }
  std::int64_t integer(std::int64_t low, std::int64_t high) const { return whole(number(), low, high); }
  std::vector<double> numbers() const {
    if (const auto* flat = std::get_if<std::vector<double>>(&value_->data)) return *flat;
    const auto* list = std::get_if<schema::ValueList>(&value_->data);
    if (!list) fail("must be a list");
    std::vector<double> numbers;
    numbers.reserve(list->size());
    for (std::size_t i = 0; i < list->size(); ++i) {
      const schema::Value& item = (*list)[i];
      if (const auto* whole = std::get_if<std::int64_t>(&item.data)) numbers.push_back(static_cast<double>(*whole));
      else if (const auto* real = std::get_if<double>(&item.data)) numbers.push_back(*real);
      else numbers.push_back(Place(item, fmt::format("{}[{}]", path_, i)).number());
    }
    return numbers;
  }
  // `size` of them.
  std::vector<double> numbers(std::size_t size) const {
    std::vector<double> all = numbers();
    if (all.size() != size) fail("has {} numbers, must have {}", all.size(), size);
    return all;
  }
  template <class I>
  std::vector<I> integers(std::int64_t low, std::int64_t high) const {
    const std::vector<double> all = numbers();
    std::vector<I> result;
    result.reserve(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!(all[i] >= static_cast<double>(low) && all[i] <= static_cast<double>(high)) || all[i] != std::trunc(all[i]))
        fail("[{}] is {}, must be a whole number from {} to {}", i, all[i], low, high);
      result.push_back(static_cast<I>(all[i]));
    }
    return result;
  }
  template <class I>
  std::vector<I> integers(std::size_t size, std::int64_t low, std::int64_t high) const {
    std::vector<I> all = integers<I>(low, high);
    if (all.size() != size) fail("has {} numbers, must have {}", all.size(), size);
    return all;
  }

 private:
  std::string join(std::string_view key) const { return fmt::format("{}.{}", path_, key); }
  std::int64_t whole(double number, std::int64_t low, std::int64_t high) const {
    if (!(number >= static_cast<double>(low) && number <= static_cast<double>(high)) || number != std::trunc(number))
      fail("is {}, must be a whole number from {} to {}", number, low, high);
    return static_cast<std::int64_t>(number);
  }

  const schema::Value* value_;
  std::string path_;
};

}   // namespace kedge::engine
