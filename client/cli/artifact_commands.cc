// The files that jobs have left.
#include "client/cli/artifact_commands.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "client/cli/save.h"
#include "client/cli/target.h"
#include "client/cli/text_table.h"
#include "client/cli/units.h"
#include "kedge/session.h"
#include "schemas/codec.h"

namespace kedge::cli {
namespace {

using schema::Artifact;
using schema::ErrorCode;

// Errors: kConflict while the job has not ended, kNotFound for one without a result.
std::vector<Artifact> artifacts_of(const Job& job) {
  const schema::Job status = job.status();
  if (!schema::is_final(status.state))
    throw Error(ErrorCode::kConflict,
                fmt::format("{} is {}: its files come with its result (`kedge result {}` waits for it)", job.id(),
                            schema::job_state_name(status.state), job.id()));
  if (!status.result)
    throw Error(ErrorCode::kNotFound,
                fmt::format("{} has {}, and left no files", job.id(), schema::job_state_name(status.state)));
  return status.result->artifacts;
}

std::string names_of(const std::vector<Artifact>& artifacts) {
  std::string names;
  for (const Artifact& artifact : artifacts) names += (names.empty() ? "" : ", ") + artifact.name;
  return names;
}

Artifact chosen(const Job& job, const std::string& name) {
  const std::vector<Artifact> all = artifacts_of(job);
  if (all.empty()) throw Error(ErrorCode::kNotFound, fmt::format("{} has left no files", job.id()));
  if (name.empty() && all.size() == 1) return all.front();
  if (name.empty())
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("{} has left several files, so one must be named: {}", job.id(), names_of(all)), "name");
  const auto found = std::ranges::find(all, name, &Artifact::name);
  if (found == all.end())
    throw Error(ErrorCode::kNotFound, fmt::format("{} has left no file '{}', but {}", job.id(), name, names_of(all)),
                "name");
  return *found;
}

// The server's name for a file must not lead out of this directory.
std::string local_name(const std::string& name) {
  const std::string last = std::filesystem::path(name).filename().string();
  if (last.empty() || last == "." || last == "..")
    throw Error(ErrorCode::kInvalidValue, fmt::format("'{}' is no name for a file here: use -o FILE", name), "name");
  return last;
}

// What `--as` names: the media type, and how a file of it is called.
struct Form {
  std::string_view name, media_type, ending;
};

constexpr std::array kForms{Form{"parquet", "application/vnd.apache.parquet", ".parquet"},
                            Form{"arrow", "application/vnd.apache.arrow.file", ".arrow"},
                            Form{"arrow-stream", "application/vnd.apache.arrow.stream", ".arrows"}};

// One without a media type: as it is.
Form form_of(const std::string& name) {
  const auto found = std::ranges::find(kForms, name, &Form::name);
  return found == kForms.end() ? Form() : *found;
}

}   // namespace

int artifacts(const Options& options) {
  const std::vector<Artifact> all = artifacts_of(connect_server(options).job(options.argument));
  if (options.json) {
    schema::ValueList list;
    for (const Artifact& artifact : all)
      list.emplace_back(schema::ValueMap{{"name", artifact.name}, {"bytes", artifact.bytes}});
    fmt::print("{}\n", schema::value_to_json(schema::ValueMap{{"artifacts", std::move(list)}}));
    return kSucceeded;
  }
  TextTable table({{"name", TextTable::Align::kLeft, TextTable::Fit::kCut}, {"size", TextTable::Align::kRight}});
  for (const Artifact& artifact : all) table.row({artifact.name, size_text(artifact.bytes)});
  fmt::print("{}", table.text(page_of(STDOUT_FILENO)));
  return kSucceeded;
}

int download(const Options& options) {
  const Job job = connect_server(options).job(options.argument);
  const Artifact artifact = chosen(job, options.artifact);
  const Form form = form_of(options.format);
  std::filesystem::path name = local_name(artifact.name);
  if (!form.ending.empty()) name.replace_extension(form.ending);
  const std::string file = options.file.empty() ? name.string()
                           : std::filesystem::is_directory(options.file)
                               ? (std::filesystem::path(options.file) / name).string()
                               : options.file;
  save(file, [&](const Take& take) { job.download(artifact.name, take, form.media_type); }, options);
  return kSucceeded;
}

}   // namespace kedge::cli
