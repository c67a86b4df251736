// Short texts for tables.
#include "client/cli/units.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>
#include <variant>

namespace kedge::cli {
namespace {

struct DatasetName {
  std::string operator()(const schema::OpenmlRef& openml) const {
    if (openml.name.empty() && openml.id == 0) return "imported";   // a model that no job of a server has made
    return openml.name.empty() ? fmt::format("openml {}", openml.id) : openml.name;
  }
  std::string operator()(const schema::UrlRef& url) const {
    const std::string& address = url.urls.empty() ? url.url : url.urls.front();
    const std::string path = address.substr(0, address.find_first_of("?#"));
    const std::string last = path.substr(path.rfind('/') + 1);
    const std::string name = last.empty() ? address : last;
    return url.urls.size() > 1 ? fmt::format("{} and {} more", name, url.urls.size() - 1) : name;
  }
  std::string operator()(const schema::BuiltinRef& builtin) const { return builtin.name; }
  std::string operator()(const schema::InlineRef&) const { return "inline"; }
  std::string operator()(const schema::StoredRef& stored) const { return stored.name; }
  std::string operator()(const schema::GenerateRef& generated) const { return generated.name; }
  std::string operator()(const schema::SklearnRef& set) const { return set.name; }
};

}   // namespace

std::optional<double> unix_time(const std::string& time) {
  std::tm parts{};
  double seconds = 0;
  if (std::sscanf(time.c_str(), "%d-%d-%dT%d:%d:%lf", &parts.tm_year, &parts.tm_mon, &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &seconds) != 6)
    return std::nullopt;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return static_cast<double>(timegm(&parts)) + seconds;
}

double unix_seconds() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::string size_text(std::int64_t bytes) {
  constexpr std::pair<double, const char*> kUnits[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}};
  for (const auto& [size, unit] : kUnits)
    if (static_cast<double>(bytes) >= size) return fmt::format("{:.1f} {}", static_cast<double>(bytes) / size, unit);
  return fmt::format("{} B", bytes);
}

std::string seconds_text(double seconds) {
  if (seconds < 10) return fmt::format("{:.2f} s", seconds);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
}

std::string dataset_text(const schema::DatasetRef& dataset) {
  return std::visit(DatasetName{}, dataset.source);
}

std::string pipeline_text(const std::vector<schema::Step>& pipeline) {
  std::string text;
  for (const schema::Step& step : pipeline) text += (text.empty() ? "" : " | ") + step.estimator;
  return text;
}

std::string job_text(const schema::JobSpec& spec) {
  const std::string* model = schema::model_of(spec.task);
  const char* verb = std::holds_alternative<schema::Transform>(spec.task) ? "transform" : "predict";
  return fmt::format("{}: {}", dataset_text(spec.dataset),
                     model ? fmt::format("{} by {}", verb, *model) : pipeline_text(spec.pipeline));
}

std::string run_time_text(const schema::Job& job, double now) {
  const auto start = unix_time(job.started);
  if (!start) return {};
  return seconds_text(std::max(0.0, unix_time(job.ended).value_or(now) - *start));
}

std::string score_text(const schema::Result& result, bool with_name) {
  if (result.search)
    return with_name ? fmt::format("best {:.4f}", result.search->bestScore)
                     : fmt::format("{:.4f}", result.search->bestScore);
  if (result.scores.empty()) return {};
  const auto& [name, score] = result.scores.front();
  return with_name ? fmt::format("{} {:.4f}", name, score.mean) : fmt::format("{:.4f}", score.mean);
}

}   // namespace kedge::cli
