// What a search tries: values and distributions for parameters.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "schemas/value.h"

namespace kedge {

// Distributions for randomized_search, as in SciPy.
inline schema::Value uniform(double low, double high) { return schema::ValueMap{{"uniform", schema::ValueList{low, high}}}; }
inline schema::Value loguniform(double low, double high) { return schema::ValueMap{{"loguniform", schema::ValueList{low, high}}}; }
inline schema::Value randint(std::int64_t low, std::int64_t high) { return schema::ValueMap{{"randint", schema::ValueList{low, high}}}; }

// What a parameter may be: a list of values, or a distribution.
class Choices {
 public:
  Choices(std::initializer_list<schema::Value> values) : value_(schema::ValueList(values)) {}
  Choices(schema::ValueList values) : value_(std::move(values)) {}
  Choices(schema::ValueMap distribution) : value_(std::move(distribution)) {}
  Choices(schema::Value value) : value_(std::move(value)) {}   // of uniform(), loguniform(), randint()
  const schema::Value& value() const { return value_; }

 private:
  schema::Value value_;
};

// Parameters by their paths and what to try for each, in braces:
//   kedge::grid_search{.param_grid = {{"pca__n_components", {10, 20}}, {"ridge__alpha", {0.1, 1.0}}}}
// Several such grids, one after the other, are kedge::grids({{...}, {...}}).
class ParamGrid {
 public:
  ParamGrid() = default;
  ParamGrid(std::initializer_list<std::pair<std::string, Choices>> parameters) {
    schema::ValueMap map;
    for (const auto& [path, choices] : parameters) map.emplace_back(path, choices.value());
    value_ = std::move(map);
  }
  explicit ParamGrid(schema::Value value) : value_(std::move(value)) {}   // as it is sent
  const schema::Value& value() const { return value_; }

 private:
  schema::Value value_ = schema::ValueMap{};
};

inline ParamGrid grids(const std::vector<ParamGrid>& several) {
  schema::ValueList list;
  for (const ParamGrid& grid : several) list.push_back(grid.value());
  return ParamGrid(schema::Value(std::move(list)));
}

}  // namespace kedge
