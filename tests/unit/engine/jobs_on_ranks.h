// Jobs that ranks run as threads of a test, each with a device of its own.
#pragma once

#include <omp.h>

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/backend/loader.h"
#include "engine/comm/ranks.h"
#include "engine/comm/threads.h"
#include "engine/generate/generate.h"
#include "engine/job/dealt.h"
#include "engine/pipeline.h"
#include "schemas/codec.h"
#include "tests/unit/engine/builtin_data.h"

namespace kedge::engine {

inline schema::JobSpec spec_from(const std::string& json) {
  return schema::from_json<schema::JobSpec>(json);
}

struct DealtJob {
  std::string name, spec;
  friend void PrintTo(const DealtJob& job, std::ostream* out) { *out << job.name; }
};
inline bool is_dealt_job(const schema::JobSpec& spec) {
  return job_is_dealt(spec, *open_device("cpu"));
}

// What depends neither on the clock nor on the number of threads.
inline std::string lasting(schema::Result result, const std::string& model) {
  result.timings = {}, result.memory = {}, result.device = {};
  if (result.search) {
    result.search->refit = 0;
    std::erase_if(result.search->cvResults,
                  [](const auto& column) { return column.first.find("_time") != std::string::npos; });
  }
  for (auto& [name, curve] : result.evaluation)
    if (auto* columns = std::get_if<schema::ValueMap>(&curve.data))
      std::erase_if(*columns, [](const auto& column) { return column.first.ends_with("_times"); });
  return schema::to_json(result) + "\nmodel of " + std::to_string(model.size()) + " bytes " +
         std::to_string(std::hash<std::string>()(model));
}

// Files that stand for what is generated: a test may put in its own.
inline std::list<std::pair<schema::GenerateRef, DatasetFile>>& made_data() {
  static std::list<std::pair<schema::GenerateRef, DatasetFile>> made;
  return made;
}

inline const DatasetFile& data_of(const schema::JobSpec& spec) {
  if (const auto* name = std::get_if<schema::BuiltinRef>(&spec.dataset.source)) return builtin(name->name);
  static const TemporaryFolder folder;
  auto& made = made_data();
  const auto& ref = std::get<schema::GenerateRef>(spec.dataset.source);
  for (const auto& [of, file] : made)
    if (of == ref) return file;
  const auto path = folder.path() / std::to_string(made.size());
  write_generated(ref, path);
  made.emplace_back(ref, path).second.name_columns();
  return made.back().second;
}

// A device for a rank, or for one process.
using OpenDevice = std::function<std::unique_ptr<Device>()>;
inline std::unique_ptr<Device> open_processors() {
  return open_device("cpu");
}

// `log`: gets what the first rank says.
inline std::string run_alone(const schema::JobSpec& spec, Ranks* ranks = nullptr, std::string* log = nullptr,
                             const OpenDevice& open = open_processors) {
  const std::unique_ptr<Device> device = open();
  RunFiles files{.model_file = "/nonexistent/model", .keep = std::size_t{64} << 20};
  const bool is_first = !ranks || ranks->is_first();
  const RanksScope scope(ranks);
  Context ctx{.device = *device, .seed = 0};
  if (log && is_first)
    ctx.emit = [log](const schema::EventBody& body) {
      if (const auto* line = std::get_if<schema::LogEvent>(&body)) *log += line->message + "\n";
    };
  schema::Result result = Pipeline::build(spec).run(ctx, data_of(spec), {}, is_first ? &files : nullptr);
  return lasting(std::move(result), files.model_bytes);
}

// By rank; an error becomes its message.
inline std::vector<std::string> run_on_ranks(const schema::JobSpec& spec, int size, std::string* log = nullptr,
                                             const OpenDevice& open = open_processors) {
  data_of(spec);   // opened before there are several threads
  const auto comms = make_thread_comms(size);
  std::vector<std::string> results(comms.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < comms.size(); ++r) {
      threads.emplace_back([&, r] {
        omp_set_num_threads(1 + static_cast<int>(r) % 2);   // machines may have different numbers of cores
        Ranks ranks(*comms[r]);
        std::optional<schema::Error> error;
        try {
          results[r] = run_alone(spec, &ranks, log, open);
        } catch (const schema::Error& failure) {
          error = failure;
        }
        error = ranks.end(error);
        if (error) results[r] = error->message;
      });
    }
  }
  return results;
}

}   // namespace kedge::engine
