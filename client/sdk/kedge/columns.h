// The parts of ColumnTransformer and FeatureUnion: named transformers, each with the columns it gets.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "schemas/job.h"

namespace kedge {

// A step as the value of a parameter.
inline schema::Value step_value(const schema::Step& step) {
  schema::ValueMap map{{"estimator", step.estimator}, {"params", step.params}};
  if (!step.name.empty()) map.emplace_back("name", step.name);
  return map;
}

// An estimator, several in a row (what pipeline() gives), "passthrough" or "drop".
class Transformer {
 public:
  Transformer(const char* word) : value_(word) {}
  template <class E>
    requires requires(const E& e) { { e.step() } -> std::same_as<schema::Step>; }
  Transformer(const E& estimator) : value_(step_value(estimator.step())) {}
  Transformer(const std::vector<schema::Step>& steps) {
    schema::ValueList list;
    for (const schema::Step& step : steps) list.push_back(step_value(step));
    value_ = std::move(list);
  }
  const schema::Value& value() const { return value_; }

 private:
  schema::Value value_;
};

// Columns by name, by place, or chosen as columns_of_type() and columns_like() say.
class Columns {
 public:
  Columns(std::initializer_list<const char*> names) : value_(schema::ValueList(names.begin(), names.end())) {}
  Columns(std::initializer_list<int> places) : value_(schema::ValueList(places.begin(), places.end())) {}
  Columns(const std::vector<std::string>& names) : value_(schema::ValueList(names.begin(), names.end())) {}
  explicit Columns(schema::Value value) : value_(std::move(value)) {}
  const schema::Value& value() const { return value_; }

 private:
  schema::Value value_;
};

// The columns of a type, "number" or "category", or all others; as make_column_selector.
inline Columns columns_of_type(std::string type) { return Columns(schema::ValueMap{{"dtypeInclude", std::move(type)}}); }
inline Columns columns_not_of_type(std::string type) { return Columns(schema::ValueMap{{"dtypeExclude", std::move(type)}}); }
// The columns whose name has a match for a regular expression.
inline Columns columns_like(std::string pattern) { return Columns(schema::ValueMap{{"pattern", std::move(pattern)}}); }

// {"num", kedge::StandardScaler{}, {"age", "fare"}}
struct ColumnPart {
  std::string name;
  Transformer transformer;
  Columns columns;
};

// {"pca", kedge::PCA{}}
struct UnionPart {
  std::string name;
  Transformer transformer;
};

inline schema::Value parts_value(const std::vector<ColumnPart>& parts) {
  schema::ValueList list;
  for (const ColumnPart& part : parts) {
    list.push_back(schema::ValueMap{{"name", part.name}, {"transformer", part.transformer.value()}, {"columns", part.columns.value()}});
  }
  return list;
}

inline schema::Value parts_value(const std::vector<UnionPart>& parts) {
  schema::ValueList list;
  for (const UnionPart& part : parts) list.push_back(schema::ValueMap{{"name", part.name}, {"transformer", part.transformer.value()}});
  return list;
}

}  // namespace kedge
