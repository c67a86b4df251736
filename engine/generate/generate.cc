// From the list of generators to a checked reference and a file.
#include "engine/generate/generate.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/core/dataset_file.h"
#include "engine/generate/generators.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using generate::Generator;
using schema::ErrorCode;

constexpr std::int64_t kMostCells = 500'000'000, kMostFeatures = 100'000, kMostRows = 50'000'000;

const std::vector<Generator>& all() {
  static const std::vector<Generator> list = [] {
    std::vector<Generator> made{generate::classification()};
    for (auto more : {&generate::regressions, &generate::shapes}) std::ranges::move(more(), std::back_inserter(made));
    return made;
  }();
  return list;
}

const Generator& generator_named(const std::string& name) {
  const auto found = std::ranges::find(all(), name, &Generator::name);
  if (found != all().end()) return *found;
  std::vector<std::string_view> names;
  for (const Generator& generator : all()) names.push_back(generator.name);
  const std::string_view nearest = schema::nearest_name(name, names);
  throw schema::Error(ErrorCode::kInvalidValue,
                      fmt::format("there is no generator '{}'{}", name.substr(0, 64),
                                  nearest.empty() ? fmt::format(", only {}", fmt::join(names, ", "))
                                                  : fmt::format("; did you mean '{}'?", nearest)),
                      "dataset.generate.name");
}

generate::Table planned(const schema::GenerateRef& ref) {
  const Generator& generator = generator_named(ref.name);
  try {
    generate::Table table = generator.plan(ref.params);
    if (table.n_features > kMostFeatures)
      refuse_param(ref.name, "n_features", table.n_features, fmt::format("must be at most {}", kMostFeatures));
    if (table.n_rows > kMostRows)
      refuse_param(ref.name, "n_samples", table.n_rows, fmt::format("must be at most {}", kMostRows));
    if (table.n_rows > kMostCells / (table.n_features + 1))
      refuse_param(ref.name, "n_samples", table.n_rows,
                   fmt::format("is too much: a table may have {} cells", kMostCells));
    return table;
  } catch (const schema::Error& error) {
    throw schema::Error(error.code, error.message, "dataset.generate." + error.where);
  }
}

DatasetMeta meta_of(const schema::GenerateRef& ref, const generate::Table& table) {
  DatasetMeta meta{
      .name = "generated " + ref.name, .n_rows = table.n_rows, .n_values_columns = table.n_features + 1, .target = "y"};
  for (std::int64_t j = 0; j < table.n_features; ++j)
    meta.columns.push_back({.name = fmt::format("x{}", j), .values_column = j});
  ColumnInfo target{.name = "y", .values_column = table.n_features};
  if (table.n_classes > 0) target.type = ColumnInfo::Type::kNominal;
  for (std::int64_t c = 0; c < table.n_classes; ++c) target.categories.push_back(std::to_string(c));
  meta.columns.push_back(std::move(target));
  return meta;
}

}   // namespace

const std::vector<GeneratorInfo>& generators() {
  static const std::vector<GeneratorInfo> infos = [] {
    std::vector<GeneratorInfo> made;
    for (const Generator& generator : all()) made.push_back({generator.name, generator.doc, generator.params});
    return made;
  }();
  return infos;
}

void check_generated(const schema::GenerateRef& ref) {
  planned(ref);
}

void write_generated(const schema::GenerateRef& ref, const std::filesystem::path& output) {
  const generate::Table table = planned(ref);
  DatasetFileWriter writer(output, meta_of(ref, table));
  generate::Draws draws(table.seed);
  table.fill(generate::Rows(writer.values_f64(), table.n_rows, table.n_features), draws);
  writer.finish();
}

}   // namespace kedge::engine
