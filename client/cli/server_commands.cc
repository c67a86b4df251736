// estimators, datasets, doctor: what the server offers and how it is.
#include "client/cli/server_commands.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "client/cli/cluster_doctor.h"
#include "client/cli/gpu_doctor.h"
#include "client/cli/target.h"
#include "kedge/session.h"
#include "schemas/codec.h"

namespace kedge::cli {
namespace {

std::string form_text(const schema::ParamForm& form);

std::string forms_text(const std::vector<schema::ParamForm>& forms) {
  std::string text;
  for (const auto& form : forms) text += (text.empty() ? "" : " | ") + form_text(form);
  return text;
}

std::string object_text(const schema::ParamForm& form) {
  std::string keys;
  for (const auto& field : form.fields) keys += (keys.empty() ? "" : ", ") + field.name;
  return keys.empty() ? "object" : "{" + keys + "}";
}

std::string form_text(const schema::ParamForm& form) {
  using Type = schema::ParamForm::Type;
  std::string text;
  switch (form.type) {
    case Type::kNull: return "null";
    case Type::kBoolean: return "boolean";
    case Type::kInteger: text = "integer"; break;
    case Type::kNumber: text = "number"; break;
    case Type::kObject: return object_text(form);
    case Type::kArray: return form.items.empty() ? "list" : "list of " + forms_text(form.items);
    case Type::kString:
      for (const std::string& choice : form.choices) text += (text.empty() ? "\"" : " | \"") + choice + "\"";
      return text.empty() ? "string" : text;
  }
  if (form.minimum) text += fmt::format(" {} {}", form.exclusiveMinimum ? ">" : ">=", *form.minimum);
  if (form.maximum) text += fmt::format(" {} {}", form.exclusiveMaximum ? "<" : "<=", *form.maximum);
  return text;
}

void print_estimator(const schema::EstimatorInfo& info) {
  fmt::print("{} ({}, sklearn.{})\n{}\n\n", info.name, info.kind, info.family, info.doc);
  for (const schema::ParamInfo& param : info.params) {
    fmt::print("  {:<32}{} (default {})\n{:34}{}\n", param.name, forms_text(param.forms), schema::to_string(param.defaultValue), "", param.doc);
  }
  for (const std::string& deviation : info.deviations) fmt::print("  differs from scikit-learn: {}\n", deviation);
  if (!info.hostPart.empty()) fmt::print("  on a GPU the host still computes {}\n", info.hostPart);
}

}  // namespace

int estimators(const Options& options) {
  const Session session = connect_server(options);
  if (!options.argument.empty()) {
    const schema::EstimatorInfo info = session.estimator(options.argument);
    if (options.json) fmt::print("{}\n", schema::to_json(info));
    else print_estimator(info);
    return kSucceeded;
  }
  const schema::Catalogue catalogue = session.estimators();
  if (options.json) fmt::print("{}\n", schema::to_json(catalogue));
  else
    for (const auto& info : catalogue.estimators) fmt::print("{:<32}{:<14}{}\n", info.name, info.kind, info.doc);
  return kSucceeded;
}

namespace {

// "prices.csv  csv  sha256:...  bytes 12  rows 2 ...": texts as they are, numbers with their name.
std::string upload_line(const schema::Value& upload) {
  std::string line;
  for (const auto& [field, value] : std::get<schema::ValueMap>(upload.data)) {
    const auto* text = std::get_if<std::string>(&value.data);
    line += (line.empty() ? "" : "  ") + (text ? *text : field + " " + schema::to_string(value));
  }
  return line;
}

}  // namespace

int datasets(const Options& options) {
  const Session session = connect_server(options);
  if (!options.forget.empty()) {
    session.remove_dataset(options.forget);
    if (options.json) fmt::print("{}\n", schema::value_to_json(schema::ValueMap{{"removed", options.forget}}));
    return kSucceeded;
  }
  if (!options.upload.empty()) {
    const std::string name = !options.name.empty() ? options.name : std::filesystem::path(options.upload).filename().string();
    fmt::print("{}\n", schema::value_to_json(session.upload(name, options.upload, options.format)));
    return kSucceeded;
  }
  const schema::Value answer = session.datasets();
  if (options.json) {
    fmt::print("{}\n", schema::value_to_json(answer));
    return kSucceeded;
  }
  for (const auto& [key, list] : std::get<schema::ValueMap>(answer.data))
    for (const schema::Value& entry : std::get<schema::ValueList>(list.data)) fmt::print("{}\n", upload_line(entry));
  return kSucceeded;
}

namespace {

bool has_device(const schema::ServerInfo& info) {
  return std::ranges::any_of(info.devices, [](const schema::DeviceEntry& device) { return device.missing.empty(); });
}

// What the server says, once it names devices: it looks for them while it already takes jobs. With --wait it may still
// be starting, too.
schema::ServerInfo info_with_devices(const Session& session, const Options& options) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.wait_s);
  while (true) {
    const bool is_last = std::chrono::steady_clock::now() >= until;
    try {
      schema::ServerInfo info = session.info();
      if (!info.devices.empty() || is_last) return info;
    } catch (const schema::Error& error) {
      const bool may_start = error.code == schema::ErrorCode::kConnection && error.where.empty();
      if (!options.waits_for_server || !may_start || is_last) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace

int doctor(const Options& options) {
  if (options.gpu) return gpu_doctor(options);
  if (options.cluster) return cluster_doctor(options);
  if (!options.json) fmt::print("server   {}\n", server_url(options));
  const schema::ServerInfo info = info_with_devices(connect_server(options), options);
  const bool is_usable = has_device(info);
  if (options.json) {
    fmt::print("{}\n", schema::to_json(info));
    return is_usable ? kSucceeded : kFailed;
  }
  fmt::print("version  {} (this client: {})\n", info.version, KEDGE_VERSION);
  for (const auto& device : info.devices) {
    if (device.missing.empty()) fmt::print("device   {:<8} {}{}\n", device.id, device.name, device.driver.empty() ? "" : ", driver " + device.driver);
    else fmt::print("device   {:<8} not available: {}\n", device.id, device.missing);
  }
  std::string names;
  for (const std::string& name : info.builtinDatasets) names += " " + name;
  fmt::print("data    {}\n{}\n", names, is_usable ? "all well" : "no device is ready: no job can run");
  return is_usable ? kSucceeded : kFailed;
}

}  // namespace kedge::cli
