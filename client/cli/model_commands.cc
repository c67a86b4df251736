// models, predict: lists, files and answers of stored models.
#include "client/cli/model_commands.h"

#include <fmt/core.h>

#include <fstream>
#include <iostream>
#include <iterator>

#include "client/cli/target.h"
#include "kedge/session.h"
#include "schemas/codec.h"

namespace kedge::cli {
namespace {

std::string read_all(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(schema::ErrorCode::kNotFound, fmt::format("cannot read {}", path));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string steps_of(const schema::ModelInfo& model) {
  std::string steps;
  for (const schema::Step& step : model.pipeline) steps += (steps.empty() ? "" : " | ") + step.estimator;
  return steps;
}

void print_model(const schema::ModelInfo& model) {
  fmt::print("{}  {}\n{}\nfitted on {} rows in {}, {} bytes, kedge {}\n", model.id, model.created, steps_of(model), model.nSamples, model.dtype,
             model.bytes, model.version);
  for (const schema::ModelColumn& column : model.columns) fmt::print("  {:<32}{}\n", column.name, column.kind);
}

int list(const Options& options) {
  const schema::ModelPage page = connect_server(options).models();
  if (options.json) {
    fmt::print("{}\n", schema::to_json(page));
    return kSucceeded;
  }
  fmt::print("{:<32}{:<26}{:>12}  {}\n", "id", "created", "bytes", "pipeline");
  for (const schema::ModelInfo& model : page.models) fmt::print("{:<32}{:<26}{:>12}  {}\n", model.id, model.created, model.bytes, steps_of(model));
  return kSucceeded;
}

const char* media_type_of(const std::string& path) {
  return path.ends_with(".json") ? "application/json" : path.ends_with(".npy") ? "application/x-npy" : "text/csv";
}

}  // namespace

int models(const Options& options) {
  const Session session = connect_server(options);
  if (!options.input.empty()) {
    const Model stored = session.upload_model(read_all(options.input));
    fmt::print("{}\n", options.json ? schema::to_json(stored.info()) : stored.id());
    return kSucceeded;
  }
  if (options.argument.empty()) return list(options);
  const Model model = session.model(options.argument);
  if (options.remove) {
    model.remove();
  } else if (!options.file.empty()) {
    std::ofstream file(options.file, std::ios::binary);
    file << model.download();
    if (!file.flush()) throw Error(schema::ErrorCode::kInternal, fmt::format("cannot write {}", options.file));
  } else if (options.json) {
    fmt::print("{}\n", schema::to_json(model.info()));
  } else {
    print_model(model.info());
  }
  return kSucceeded;
}

int predict(const Options& options) {
  const Model model = connect_server(options).model(options.argument);
  const std::string rows = read_all(options.input);
  const char* type = media_type_of(options.input);
  const char* accept = options.json ? "application/json" : "text/csv";
  std::cout << (options.output == "transform" ? model.transform(rows, type, accept) : model.predict(rows, options.output, type, accept));
  return kSucceeded;
}

}  // namespace kedge::cli
