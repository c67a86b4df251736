// models, predict: lists, files and answers of stored models.
#include "client/cli/model_commands.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>

#include "client/cli/report.h"
#include "client/cli/save.h"
#include "client/cli/target.h"
#include "client/cli/text_table.h"
#include "client/cli/units.h"
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

void print_model(const schema::ModelInfo& model) {
  const std::string origin = model.nSamples > 0 ? fmt::format("fitted on {} rows", model.nSamples) : "imported";
  fmt::print("{}  {}\n{}\n{} in {}, {}, kedge {}\n", model.id, model.created, pipeline_text(model.pipeline), origin,
             model.dtype, size_text(model.bytes), model.version);
  for (const schema::ModelColumn& column : model.columns) fmt::print("  {:<32}{}\n", column.name, column.kind);
}

std::vector<schema::ModelInfo> all_models(const Session& session) {
  constexpr std::int64_t kPage = 500;
  std::vector<schema::ModelInfo> models;
  std::string token;
  do {
    schema::ModelPage page = session.models(kPage, token);
    std::ranges::move(page.models, std::back_inserter(models));
    token = page.nextPageToken;
  } while (!token.empty());
  return models;
}

int list(const Session& session, const Options& options) {
  const std::vector<schema::ModelInfo> models = all_models(session);
  if (options.json) {
    fmt::print("{}\n", schema::to_json(schema::ModelPage{.models = models}));
    return kSucceeded;
  }
  using Align = TextTable::Align;
  TextTable table({{"id"}, {"size", Align::kRight}, {"data: pipeline", Align::kLeft, TextTable::Fit::kCut}, {"created", Align::kLeft, TextTable::Fit::kCut}});
  std::int64_t bytes = 0;
  for (const schema::ModelInfo& model : models) {
    table.row({model.id, size_text(model.bytes), fmt::format("{}: {}", dataset_text(model.dataset), pipeline_text(model.pipeline)), model.created});
    bytes += model.bytes;
  }
  fmt::print("{}{} models, {}\n", table.text(page_of(STDOUT_FILENO)), models.size(), size_text(bytes));
  return kSucceeded;
}

// Continues after one that cannot be deleted; the exit code says so.
int remove_all(const Session& session, const Options& options) {
  int code = kSucceeded;
  for (const std::string& id : options.arguments) {
    try {
      session.model(id).remove();
      if (options.json) fmt::print("{}\n", schema::value_to_json(schema::ValueMap{{"removed", id}}));
    } catch (const Error& error) {
      if (error.code == schema::ErrorCode::kConnection) throw;
      code = report(error, options);
    }
  }
  return code;
}

const char* media_type_of(const std::string& path) {
  return path.ends_with(".json") ? "application/json" : path.ends_with(".npy") ? "application/x-npy" : "text/csv";
}

// Rows of a file as a part of a JSON body: the text of a CSV file, or what a JSON file says.
schema::Value rows_value(const std::string& path, const std::string& content) {
  const std::string_view type = media_type_of(path);
  if (type == "text/csv") return content;
  if (type == "application/json") return schema::value_from_json(content);
  throw Error(schema::ErrorCode::kInvalidValue,
              fmt::format("{} is {}, must be CSV or .json with --background", path, type), "--background");
}

// What is not named stays as it is.
int serving(const Model& model, const Options& options) {
  Serving settings = model.serving();
  if (options.max_batch_rows || options.max_delay_us || options.log_fraction || options.log_max_bytes) {
    if (options.max_batch_rows) settings.max_batch_rows = *options.max_batch_rows;
    if (options.max_delay_us) settings.max_delay_us = options.max_delay_us;
    if (options.log_fraction) settings.log_fraction = *options.log_fraction;
    if (options.log_max_bytes) settings.log_max_bytes = *options.log_max_bytes;
    settings = model.set_serving(settings);
  }
  if (options.json) {
    schema::ValueMap value{{"maxBatchRows", settings.max_batch_rows},
                           {"maxDelayUs", settings.max_delay_us.value_or(0)}};
    if (settings.log_fraction > 0)
      value.emplace_back("log",
                         schema::ValueMap{{"fraction", settings.log_fraction}, {"maxBytes", settings.log_max_bytes}});
    return fmt::print("{}\n", schema::value_to_json(value)), kSucceeded;
  }
  fmt::print("rows together  {}\nwaits          {} us for others\n",
             settings.max_batch_rows > 0 ? fmt::format("at most {}", settings.max_batch_rows) : "any number",
             settings.max_delay_us.value_or(0));
  if (settings.log_fraction > 0)
    fmt::print("log            {} of the questions, {} at most\n", settings.log_fraction,
               size_text(settings.log_max_bytes));
  return kSucceeded;
}

// The columns that differ most come first.
int drift(const Model& model, const Options& options) {
  if (options.reset) return model.reset_drift(), kSucceeded;
  schema::ModelDrift drift = model.drift();
  if (options.json) return fmt::print("{}\n", schema::to_json(drift)), kSucceeded;
  if (!drift.note.empty()) return fmt::print("{}\n", drift.note), kSucceeded;
  std::ranges::stable_sort(drift.columns, std::greater{}, [](const auto& column) { return column.psi.value_or(0); });
  using Align = TextTable::Align;
  TextTable table({{"column", Align::kLeft, TextTable::Fit::kCut},
                   {"kind"},
                   {"PSI", Align::kRight},
                   {"missing, fitted on", Align::kRight},
                   {"asked", Align::kRight}});
  for (const schema::DriftColumn& column : drift.columns)
    table.row({column.name, column.kind, column.psi ? fmt::format("{:.3f}", *column.psi) : "-",
               fmt::format("{:.1f}%", 100 * column.trainedMissing), fmt::format("{:.1f}%", 100 * column.seenMissing)});
  const std::string since = drift.since.empty() ? "" : fmt::format(" since {}", drift.since);
  fmt::print("{}{} rows asked{}, {} fitted on were counted\n", table.text(page_of(STDOUT_FILENO)), drift.rows, since,
             drift.trainedRows);
  return kSucceeded;
}

}  // namespace

int models(const Options& options) {
  const Session session = connect_server(options);
  if (options.action == "serving") return serving(session.model(options.argument), options);
  if (options.action == "drift") return drift(session.model(options.argument), options);
  if (options.action == "log") return std::cout << session.model(options.argument).log(), kSucceeded;
  if (!options.input.empty()) {
    const Model stored = session.upload_model(read_all(options.input));
    fmt::print("{}\n", options.json ? schema::to_json(stored.info()) : stored.id());
    return kSucceeded;
  }
  if (!options.arguments.empty()) return remove_all(session, options);
  if (options.argument.empty()) return list(session, options);
  const Model model = session.model(options.argument);
  if (options.remove) {
    model.remove();
    if (options.json) fmt::print("{}\n", schema::value_to_json(schema::ValueMap{{"removed", model.id()}}));
  } else if (!options.file.empty()) {
    save(options.file, [&](const Take& take) { model.download(take); }, options);
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
  if (!options.file.empty()) {
    if (options.output != "contributions")
      throw Error(
          schema::ErrorCode::kInvalidValue,
          fmt::format("--background is given with --output {}, must be given with contributions", options.output),
          "--background");
    const schema::ValueMap body{{"rows", rows_value(options.input, rows)},
                                {"background", rows_value(options.file, read_all(options.file))}};
    std::cout << model.predict(schema::value_to_json(body), options.output, "application/json", accept);
    return kSucceeded;
  }
  std::cout << (options.output == "transform" ? model.transform(rows, type, accept) : model.predict(rows, options.output, type, accept));
  return kSucceeded;
}

}  // namespace kedge::cli
