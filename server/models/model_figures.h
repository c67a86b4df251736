// What was asked of each stored model: requests, rows, errors, latency, how many rows were answered together.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/observe/exposition.h"

namespace kedge::server {

// One question and its end.
struct ModelCall {
  bool failed = false;
  std::int64_t rows = 0;       // of the question
  std::int64_t together = 0;   // rows that the model answered in the same call, of other questions as well
  double took = 0;             // seconds from the question to its answer
  double computed = 0;         // seconds of the call that answered it
};

struct ModelFigures {
  static constexpr std::array<std::int64_t, 11> kBatchBounds{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

  std::string model, tenant;
  std::uint64_t requests = 0, failures = 0, rows = 0;
  double executions = 0;                    // calls of the model; a call that answers several questions counts once
  double seconds = 0, failed_seconds = 0;   // of questions, from first to last
  double computed = 0;                      // of the calls
  std::int64_t last_ms = 0;                 // of the last question, since 1970
  observe::Histogram latency;               // seconds
  std::array<std::uint64_t, kBatchBounds.size() + 1> batches{};   // questions by `together`, the last without a bound
  std::uint64_t dropped = 0;                                      // that were to be logged
  std::int64_t batch_rows = 0;                                    // sum of `together`
};

// Thread safe. Keeps the figures of the models that were asked last, 1000 of them.
class ModelBook {
 public:
  void note(const std::string& model, const std::string& tenant, const ModelCall& call);
  void note_dropped(const std::string& model);   // an entry of its log
  std::optional<ModelFigures> find(const std::string& model) const;
  // Asked last first, at most `most`. tenant: of whose models; unset: of all.
  std::vector<ModelFigures> last(std::size_t most, const std::optional<std::string>& tenant) const;

 private:
  mutable std::mutex mutex_;   // guards what follows
  std::map<std::string, ModelFigures> figures_;
};

// Of the models asked last, in Prometheus' text format: so many that the number of series is bounded. drift: the
// largest stability index of a model's columns (drift.h); nothing where there is none.
std::string model_text(const ModelBook& book, const std::optional<std::string>& tenant,
                       const std::function<std::optional<double>(const std::string& model)>& drift = {});

}   // namespace kedge::server
