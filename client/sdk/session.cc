// Sessions and jobs: the REST calls behind them.
#include "kedge/session.h"
#include "kedge/map.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "client/sdk/path.h"
#include "client/sdk/content_upload.h"
#include "client/sdk/transport.h"
#include "schemas/codec.h"

namespace kedge {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string token_from_environment() {
  if (std::string token = environment("KEDGE_TOKEN"); !token.empty()) return token;
  const std::string path = environment("KEDGE_TOKEN_FILE");
  if (path.empty()) return {};
  std::ifstream file(path);
  std::string token;
  if (!(file >> token))
    throw Error(schema::ErrorCode::kInvalidValue, fmt::format("KEDGE_TOKEN_FILE: cannot read a token from {}", path), "KEDGE_TOKEN_FILE");
  return token;
}

// 128 random bits: never the same twice.
std::string new_key() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

std::string job_path(const std::string& id) {
  return "/v1/jobs/" + escaped(id);
}

std::string dataset_path(const std::string& name) {
  return "/v1/datasets/" + escaped(name);
}

std::string model_path(const std::string& id) {
  return "/v1/models/" + escaped(id);
}

}  // namespace

Session connect(std::string url, std::string token) {
  if (url.empty()) url = environment("KEDGE_URL");
  if (url.empty()) url = "http://127.0.0.1:5334";
  if (token.empty()) token = token_from_environment();
  return Session(std::make_shared<Transport>(std::move(url), std::move(token)));
}

Job Session::submit(const schema::JobSpec& spec, std::stop_token stop) const {
  return submit_once(spec, new_key(), std::move(stop));
}

Job Session::submit_once(const schema::JobSpec& spec, std::string_view key, std::stop_token stop) const {
  const HttpReply reply = transport_->post("/v1/jobs", schema::to_json(spec), key, std::move(stop));
  return Job(transport_, schema::from_json<schema::Job>(reply.body).id);
}

Session Session::another() const {
  return Session(transport_->another());
}

MapRun Session::map(std::vector<schema::JobSpec> specs) const {
  return map(std::move(specs), {});
}

MapRun Session::map(std::vector<schema::JobSpec> specs, MapOptions options) const {
  return map_jobs({*this}, std::move(specs), std::move(options));
}

schema::JobPage Session::jobs(std::string_view state, std::int64_t page_size, std::string_view page_token) const {
  std::string path = fmt::format("/v1/jobs?pageSize={}", page_size);
  if (!state.empty()) path += fmt::format("&state={}", state);
  if (!page_token.empty()) path += fmt::format("&pageToken={}", page_token);
  return schema::from_json<schema::JobPage>(transport_->get(path).body);
}

schema::ModelPage Session::models(std::int64_t page_size, std::string_view page_token) const {
  std::string path = fmt::format("/v1/models?pageSize={}", page_size);
  if (!page_token.empty()) path += fmt::format("&pageToken={}", page_token);
  return schema::from_json<schema::ModelPage>(transport_->get(path).body);
}

Model Session::upload_model(std::string_view file) const {
  const HttpReply reply = transport_->exchange("POST", "/v1/models", file, "application/vnd.kedge.model", "application/json");
  return Model(transport_, schema::from_json<schema::ModelInfo>(reply.body).id);
}

schema::ModelInfo Model::info() const { return schema::from_json<schema::ModelInfo>(transport_->get(model_path(id_)).body); }

std::string Model::predict(std::string_view rows, std::string_view output, std::string_view content_type, std::string_view accept) const {
  return transport_->exchange("POST", fmt::format("{}/predict?output={}", model_path(id_), output), rows, content_type, accept).body;
}

std::string Model::transform(std::string_view rows, std::string_view content_type, std::string_view accept) const {
  return transport_->exchange("POST", model_path(id_) + "/transform", rows, content_type, accept).body;
}

std::string Model::download() const { return transport_->exchange("GET", model_path(id_) + "/download", {}, {}, {}).body; }
void Model::download(const Take& take) const { transport_->download(model_path(id_) + "/download", take); }

void Model::remove() const { transport_->exchange("DELETE", model_path(id_), {}, {}, "application/json"); }

namespace {

void read_log(Serving& serving, const schema::ValueMap& log) {
  for (const auto& [name, field] : log) {
    const auto* whole = std::get_if<std::int64_t>(&field.data);
    const auto* number = std::get_if<double>(&field.data);
    if (whole && name == "maxBytes") serving.log_max_bytes = *whole;
    if (name == "fraction") serving.log_fraction = number ? *number : whole ? static_cast<double>(*whole) : 0;
  }
}

Serving serving_of(const std::string& json) {
  Serving serving;
  const schema::Value value = schema::value_from_json(json);
  const auto* fields = std::get_if<schema::ValueMap>(&value.data);
  if (!fields) throw Error(schema::ErrorCode::kConnection, "the server's answer is no object");
  for (const auto& [name, field] : *fields) {   // a newer server may have more
    const auto* number = std::get_if<std::int64_t>(&field.data);
    if (number && name == "maxBatchRows") serving.max_batch_rows = *number;
    if (number && name == "maxDelayUs") serving.max_delay_us = *number;
    const auto* log = std::get_if<schema::ValueMap>(&field.data);
    if (log && name == "log") read_log(serving, *log);
  }
  return serving;
}

}   // namespace

Serving Model::serving() const {
  return serving_of(transport_->get(model_path(id_) + "/serving").body);
}

std::string Model::log() const {
  return transport_->exchange("GET", model_path(id_) + "/log", {}, {}, "application/x-ndjson").body;
}

schema::ModelDrift Model::drift() const {
  return schema::from_json<schema::ModelDrift>(transport_->get(model_path(id_) + "/drift").body);
}

void Model::reset_drift() const {
  transport_->exchange("DELETE", model_path(id_) + "/drift", {}, {}, "application/json");
}

Serving Model::set_serving(const Serving& settings) const {
  schema::ValueMap body{{"maxBatchRows", settings.max_batch_rows}};
  if (settings.max_delay_us) body.emplace_back("maxDelayUs", *settings.max_delay_us);
  if (settings.log_fraction != 0)
    body.emplace_back("log",
                      schema::ValueMap{{"fraction", settings.log_fraction}, {"maxBytes", settings.log_max_bytes}});
  return serving_of(transport_
                        ->exchange("PUT", model_path(id_) + "/serving", schema::value_to_json(body), "application/json",
                                   "application/json")
                        .body);
}

schema::Catalogue Session::estimators() const {
  return schema::from_json<schema::Catalogue>(transport_->get("/v1/estimators").body);
}

schema::EstimatorInfo Session::estimator(std::string_view name) const {
  return schema::from_json<schema::EstimatorInfo>(transport_->get("/v1/estimators/" + escaped(name)).body);
}

schema::ServerInfo Session::info() const { return schema::from_json<schema::ServerInfo>(transport_->get("/v1/info").body); }

std::string Session::check_cluster(bool as_json) const {
  return transport_->exchange("POST", "/v1/cluster/check", {}, {}, as_json ? "application/json" : "text/plain").body;
}

schema::Value Session::upload(const std::string& name, const std::string& file, const std::string& format,
                              const Sent& sent) const {
  const std::string known = format.empty() ? format_of_file(file) : format;
  std::error_code not_there;
  const bool is_large = file != "-" && std::filesystem::is_regular_file(file, not_there) &&
                        std::filesystem::file_size(file, not_there) >= kResumesFrom;
  if (is_large && !known.empty()) {   // by its content, which goes on behind a break; then it gets its name
    const std::string content = send_content(*transport_, file, known, sent);
    const std::string path = fmt::format("{}?content={}", dataset_path(name), escaped(content));
    const HttpReply named = transport_->exchange("PUT", path, {}, "application/octet-stream", "application/json");
    try {
      remove_dataset(content);   // the name leads to it; counted twice it would take room
    } catch (const Error& error) {
      if (error.code != schema::ErrorCode::kNotFound) throw;
    }
    return schema::value_from_json(named.body);
  }
  const std::string query = format.empty() ? "" : "?format=" + escaped(format);
  return schema::value_from_json(transport_->put_file(dataset_path(name) + query, file, sent).body);
}

schema::Value Session::datasets() const { return schema::value_from_json(transport_->get("/v1/datasets").body); }

schema::DatasetPreview Session::preview(const schema::PreviewRequest& request, std::int64_t rows) const {
  const std::string path = fmt::format("/v1/datasets/preview?rows={}", rows);
  return schema::from_json<schema::DatasetPreview>(
      transport_->exchange("POST", path, schema::to_json(request), "application/json", "application/json").body);
}

void Session::remove_dataset(const std::string& name) const {
  transport_->remove(dataset_path(name));
}

schema::Job Job::status() const { return schema::from_json<schema::Job>(transport_->get(job_path(id_)).body); }

std::vector<schema::Event> Job::events_so_far(std::int64_t after) const {
  const std::string path = fmt::format("{}/events?follow=false&after={}", job_path(id_), after);
  std::istringstream lines(transport_->exchange("GET", path, {}, {}, "application/x-ndjson").body);
  std::vector<schema::Event> events;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) events.push_back(schema::from_json<schema::Event>(line));
  return events;
}

schema::Job Job::wait(std::stop_token stop) const {
  while (true) {
    const HttpReply reply = transport_->get(job_path(id_) + "?wait=30s", std::chrono::seconds(60), stop);
    schema::Job job = schema::from_json<schema::Job>(reply.body);
    if (is_final(job.state)) return job;
  }
}

EventStream Job::events(std::int64_t after, std::stop_token stop) const { return EventStream(transport_, id_, after, std::move(stop)); }

Result Job::result(std::stop_token stop) const {
  schema::Job job = wait(std::move(stop));
  if (job.error) throw *job.error;
  if (job.state == schema::JobState::kCancelled) throw Error(schema::ErrorCode::kCancelled, fmt::format("{} was cancelled", id_));
  if (!job.result) throw Error(schema::ErrorCode::kNotFound, fmt::format("{} has no result", id_));
  return {*std::move(job.result)};
}

std::future<Result> Job::future(std::stop_token stop) const {
  return std::async(std::launch::async, [job = Job(transport_->another(), id_), stop = std::move(stop)] { return job.result(stop); });
}

Job::Finished Job::finished(std::stop_token stop) const { return {Job(transport_->another(), id_), std::move(stop)}; }

void Job::Finished::await_suspend(std::coroutine_handle<> waiting) {
  std::thread([this, waiting] {   // this object lives in the coroutine's frame, which waits
    try {
      result_ = job_.result(stop_);
    } catch (...) {
      error_ = std::current_exception();
    }
    waiting.resume();
  }).detach();
}

Result Job::Finished::await_resume() {
  if (error_) std::rethrow_exception(error_);
  return *std::move(result_);
}

void Job::download(std::string_view artifact, const Take& take, std::string_view accept) const {
  transport_->download(fmt::format("{}/artifacts/{}", job_path(id_), escaped(artifact)), take, accept);
}

void Job::cancel() const { transport_->post(job_path(id_) + "/cancel", ""); }

const schema::Score& Result::score(std::string_view name) const {
  for (const auto& [key, score] : scores)
    if (key == name) return score;
  throw Error(schema::ErrorCode::kNotFound, fmt::format("the result has no score '{}'", name));
}

}  // namespace kedge
