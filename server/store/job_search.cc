// Searching jobs: see job_search.h.
#include "server/store/job_search.h"

#include <algorithm>
#include <array>

namespace kedge::server {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

struct NameOf {
  std::string operator()(const schema::OpenmlRef& ref) const {
    return "openml " + ref.name + " " + std::to_string(ref.id != 0 ? ref.id : ref.version);
  }
  std::string operator()(const schema::UrlRef& ref) const {
    std::string all = ref.url;
    for (const std::string& url : ref.urls) all += url + "\n";
    return all;
  }
  std::string operator()(const schema::BuiltinRef& ref) const { return ref.name; }
  std::string operator()(const schema::InlineRef&) const { return "inline"; }
  std::string operator()(const schema::StoredRef& ref) const { return ref.name; }
  std::string operator()(const schema::GenerateRef& ref) const { return ref.name; }
  std::string operator()(const schema::SklearnRef& ref) const { return "sklearn " + ref.name; }
};

constexpr std::array<std::string_view, std::variant_size_v<schema::Task>> kTasks{"fit",
                                                                                 "fitScore",
                                                                                 "crossValidate",
                                                                                 "gridSearch",
                                                                                 "randomizedSearch",
                                                                                 "halvingGridSearch",
                                                                                 "predict",
                                                                                 "transform",
                                                                                 "learningCurve",
                                                                                 "validationCurve",
                                                                                 "permutationTestScore",
                                                                                 "permutationImportance",
                                                                                 "partialDependence"};

// All that is searched, in lower case; a line break keeps a word from being found across two fields.
std::string text_of(const schema::Job& job) {
  std::string text = job.id + "\n" + std::visit(NameOf(), job.spec.dataset.source);
  for (const schema::Step& step : job.spec.pipeline) text += "\n" + step.estimator + "\n" + step.name;
  text.append("\n").append(task_name(job.spec.task)).append("\n").append(schema::job_state_name(job.state));
  text += "\n" + job.spec.device + "\n" + job.reason;
  if (const std::string* model = schema::model_of(job.spec.task)) text += "\n" + *model;
  if (job.error) text += "\n" + job.error->message;
  std::ranges::transform(text, text.begin(), lower);
  return text;
}

}   // namespace

std::string_view task_name(const schema::Task& task) {
  return kTasks.at(task.index());
}

JobSearch::JobSearch(std::string_view words) {
  std::string word;
  for (const char c : words) {
    if (c != ' ') {
      word += lower(c);
    } else if (!word.empty()) {
      words_.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words_.push_back(std::move(word));
}

bool JobSearch::finds(const schema::Job& job) const {
  const std::string text = text_of(job);
  return std::ranges::all_of(words_, [&](const std::string& word) { return text.find(word) != std::string::npos; });
}

}   // namespace kedge::server
