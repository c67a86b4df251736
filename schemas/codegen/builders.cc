// The C++ client's structs for tasks, and its calls that select from a data set.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "schemas/codegen/generators.h"

namespace kedge::codegen {
namespace {

// fit_score for fitScore.
std::string snake(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c))) text += '_';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

bool is_folds(const Field& field) {
  return field.type.is_struct("CrossValidate");
}

bool is_division(const Field& field) {   // of the rows: a whole task within another
  return field.type.is_struct("FitScore");
}

std::string comment(const std::string& indent, const std::string& doc) {
  return doc.empty() ? "" : fmt::format("{}// {}\n", indent, doc);
}

std::string comment(const Field& field) {
  std::string text = field.doc;
  if (!field.choices.empty()) text += fmt::format("{}One of {}.", text.empty() ? "" : " ", fmt::join(field.choices, ", "));
  return comment("  ", text);
}

std::string scalar_type(const Field& field) {
  switch (field.type.kind) {
    case Type::Kind::kFlag:
      return "bool";
    case Type::Kind::kInteger:
      return "std::int64_t";
    case Type::Kind::kNumber:
      return "double";
    case Type::Kind::kText:
      return "std::string";
    default:
      throw std::runtime_error("the C++ client has no type for " + field.name);
  }
}

std::string plain_type(const Contract& contract, const Field& field) {
  if (field.type.is_boxed()) return scalar_type(contract.at(field.type.name).fields.at(0));
  return field.type.is_list ? fmt::format("std::vector<{}>", scalar_type(field)) : scalar_type(field);
}

// Tasks.

std::string task_member_type(const Contract& contract, const Field& field) {
  if (is_folds(field)) return "cross_validate";
  if (is_division(field)) return "std::optional<fit_score>";
  if (!field.component.empty()) return field.component;
  if (field.type.is_list && field.type.name == "Value") return "schema::ValueList";
  if (field.type.is_value()) return field.default_value.empty() ? "std::optional<schema::Value>" : "schema::Value";
  const std::string type = plain_type(contract, field);
  return field.type.is_boxed() ? fmt::format("std::optional<{}>", type) : type;
}

std::string task_member_name(const Field& field) {
  return is_folds(field) ? "cv" : is_division(field) ? "split" : snake(field.name);
}

std::string task_member(const Contract& contract, const Field& field) {
  const bool is_false = field.type.kind == Type::Kind::kFlag && !field.type.is_list;
  const std::string absent = is_false ? "false" : "{}";
  return comment(field) + fmt::format("  {} {} = {};\n", task_member_type(contract, field), task_member_name(field),
                                      field.default_value.empty() ? absent : field.default_value);
}

std::string assignments(const std::vector<Field>& fields) {
  std::string text;
  for (const Field& field : fields) {
    const std::string_view getter = is_folds(field) ? ".folds()" : field.component.empty() ? "" : ".value()";
    const std::string member = task_member_name(field);
    const std::string content = is_division(field)
                                    ? fmt::format("{0} ? std::optional({0}->parts()) : std::nullopt", member)
                                    : fmt::format("{}{}", member, getter);
    text += fmt::format("{}.{} = {}", text.empty() ? "" : ",\n            ", field.name, content);
  }
  return text;
}

std::string task_struct(const Contract& contract, const Field& task) {
  const Struct& entry = contract.at(task.type.name);
  std::vector<Field> fields = entry.fields;
  std::sort(fields.begin(), fields.end(), [](const Field& a, const Field& b) { return a.number < b.number; });   // as in job.h
  std::string text = comment("", entry.doc) + fmt::format("struct {} {{\n", snake(task.name));
  for (const Field& field : fields) text += task_member(contract, field);
  const std::string value = fmt::format("schema::{}{{{}}}", entry.name, assignments(fields));
  const std::string_view part = is_folds(task)      ? "folds()"
                                : is_division(task) ? "parts()"
                                                    : "";   // other tasks have it, too
  if (!part.empty()) text += fmt::format("  schema::{} {} const {{\n    return {};\n  }}\n", entry.name, part, value);
  return text +
         fmt::format("  schema::Task task() const {{\n    return {};\n  }}\n}};\n\n", part.empty() ? value : part);
}

// Calls that select.

std::string select_call(const Contract& contract, const Field& field) {
  if (field.is_map) {
    const std::string name = snake(field.name.substr(0, field.name.size() - 1));   // one at a time
    return fmt::format(
        "  Self {}(std::string name, std::string value) const {{\n"
        "    Self self = copy();\n    self.select_.{}.emplace_back(std::move(name), std::move(value));\n    return self;\n  }}\n",
        name, field.name);
  }
  return fmt::format(
      "  Self {}({} value) const {{\n    Self self = copy();\n    self.select_.{} = std::move(value);\n    return self;\n  }}\n",
      snake(field.name), plain_type(contract, field), field.name);
}

}   // namespace

std::string tasks(const Contract& contract) {
  std::string text = fmt::format(
      "// What to do with a pipeline. Members that are left alone keep the server's (scikit-learn's) defaults. {}\n#pragma "
      "once\n\n"
      "#include <cstdint>\n#include <optional>\n#include <string>\n#include <vector>\n\n"
      "#include \"kedge/param_grid.h\"\n#include \"schemas/job.h\"\n\nnamespace kedge {{\n\n",
      kNotice);
  for (const Field& task : contract.at("Task").members) text += task_struct(contract, task);
  return text + "}  // namespace kedge\n";
}

std::string select_calls(const Contract& contract) {
  std::string text = fmt::format(
      "// The part of a data set that a job wants. {}\n#pragma once\n\n"
      "#include <cstdint>\n#include <string>\n#include <utility>\n#include <vector>\n\n#include "
      "\"schemas/dataset.h\"\n\nnamespace kedge {{\n\n"
      "// Self derives from it. Each call returns a changed copy.\ntemplate <class Self>\nclass SelectCalls {{\n public:\n",
      kNotice);
  for (const Field& field : contract.at("Select").fields) text += comment(field) + select_call(contract, field) + "\n";
  return text +
         "  const schema::Select& select() const { return select_; }\n\n private:\n  friend Self;\n  SelectCalls() = default;\n"
         "  Self copy() const { return static_cast<const Self&>(*this); }\n\n  schema::Select select_;\n};\n\n}  // namespace "
         "kedge\n";
}

}   // namespace kedge::codegen
