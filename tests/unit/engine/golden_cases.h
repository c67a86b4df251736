// Recorded cases of a job beside scikit-learn, as tests read them: {"cases": [{"name", "spec", …}]}.
#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/codec.h"

namespace kedge::engine {

inline const schema::Value& at(const schema::ValueMap& map, std::string_view key) {
  for (const auto& [name, value] : map)
    if (name == key) return value;
  throw std::runtime_error("no " + std::string(key));
}

inline double number(const schema::Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.data)) return static_cast<double>(*whole);
  return std::get<double>(value.data);
}

struct GoldenCase {
  std::string name;
  schema::ValueMap values;
  friend void PrintTo(const GoldenCase& c, std::ostream* out) { *out << c.name; }
};

inline std::vector<GoldenCase> golden_cases(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const schema::Value golden = schema::value_from_json(text.str());
  std::vector<GoldenCase> cases;
  for (const auto& item : std::get<schema::ValueList>(at(std::get<schema::ValueMap>(golden.data), "cases").data)) {
    const auto& values = std::get<schema::ValueMap>(item.data);
    cases.push_back({std::get<std::string>(at(values, "name").data), values});
  }
  return cases;
}

}   // namespace kedge::engine
