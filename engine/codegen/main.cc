// Prints the SDK's estimator structs, one for each row of the catalogue: run at build time, never by hand.
#include <algorithm>
#include <cstdio>
#include <string>

#include "engine/estimators/catalogue.h"

using kedge::schema::EstimatorInfo;
using kedge::schema::ParamForm;
using kedge::schema::ParamInfo;

namespace {

// The C++ type of a parameter: a plain one where only one form (and perhaps a null default) exists, otherwise any
// value.
std::string member_type(const ParamInfo& param) {
  const ParamForm* only = nullptr;
  int forms = 0;
  bool null = false;
  for (const ParamForm& form : param.forms) {
    if (form.type == ParamForm::Type::kNull) null = true;
    else only = &form, ++forms;
  }
  if (forms != 1 || (null && !param.defaultValue.is_null())) return "schema::Value";
  switch (only->type) {
    case ParamForm::Type::kBoolean: return "bool";
    case ParamForm::Type::kInteger: return "std::int64_t";
    case ParamForm::Type::kNumber: return "double";
    case ParamForm::Type::kString: return "std::string";
    default: return "schema::Value";
  }
}

bool has_field(const ParamForm& form, const char* name) {
  return std::any_of(form.fields.begin(), form.fields.end(), [&](const ParamInfo& field) { return field.name == name; });
}

// The SDK's type for a list of named transformers, or nothing.
const char* parts_type(const ParamInfo& param) {
  for (const ParamForm& form : param.forms)
    for (const ParamForm& item : form.items)
      if (has_field(item, "transformer")) return has_field(item, "columns") ? "ColumnPart" : "UnionPart";
  return nullptr;
}

bool is_transformer(const ParamInfo& param) {
  return std::any_of(param.forms.begin(), param.forms.end(), [](const ParamForm& form) { return has_field(form, "estimator"); });
}

// A parameter `step`, which RFE has, must differ from the function of that name.
std::string member_name(const ParamInfo& param) { return param.name == "step" ? "step_" : param.name; }

void print_member(const ParamInfo& param) {
  const std::string name = member_name(param);
  std::printf("  // %s Default: %s.\n", param.doc.c_str(), to_string(param.defaultValue).c_str());
  if (const char* part = parts_type(param)) std::printf("  std::vector<%s> %s = {};\n", part, name.c_str());
  else std::printf("  std::optional<%s> %s = {};\n", is_transformer(param) ? "Transformer" : member_type(param).c_str(), name.c_str());
}

void print_assignment(const ParamInfo& param) {
  const std::string member = member_name(param);
  const char *const name = param.name.c_str(), *const held = member.c_str();
  if (parts_type(param)) std::printf("    if (!%s.empty()) made.params.emplace_back(\"%s\", parts_value(%s));\n", held, name, held);
  else std::printf("    if (%s) made.params.emplace_back(\"%s\", %s);\n", held, name, (is_transformer(param) ? member + "->value()" : "*" + member).c_str());
}

void print(const EstimatorInfo& info) {
  std::printf("// %s\n", info.doc.c_str());
  for (const std::string& deviation : info.deviations) std::printf("// Differs from scikit-learn: %s\n", deviation.c_str());
  std::printf("struct %s {\n", info.name.c_str());
  for (const ParamInfo& param : info.params) print_member(param);
  std::printf("\n  schema::Step step() const {\n    schema::Step made{\"%s\", {}};\n", info.name.c_str());
  for (const ParamInfo& param : info.params) print_assignment(param);
  std::printf("    return made;\n  }\n};\n\n");
}

}  // namespace

int main() {
  std::printf("// The estimators of the server, named and parameterised as in scikit-learn. Generated: do not edit.\n");
  std::printf("// Only members that were set are sent; the server's defaults hold for the rest.\n#pragma once\n\n");
  std::printf("#include <cstdint>\n#include <optional>\n#include <string>\n#include <vector>\n\n#include \"kedge/columns.h\"\n#include \"schemas/job.h\"\n\nnamespace kedge {\n\n");
  for (const auto& entry : kedge::engine::catalogue()) print(entry.info);
  std::printf("}  // namespace kedge\n");
}
