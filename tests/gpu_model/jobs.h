// The rows of the table: what cuML's benchmark suite fits by default
// (python/cuml/cuml/benchmark/configs/single_gpu.yaml), in float32.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schemas/value.h"
#include "tests/gpu_model/model.h"

namespace kedge::gpu_model {

// The least that any program must do: bytes of memory read and written once, and operations in float32.
struct Limit {
  double bytes = 0, operations = 0;
  double seconds(const Machine& machine) const;
};

struct Job {
  enum class Target { kNone, kClasses, kValues };
  enum class Use { kFit, kFitTransform, kFitPredict, kFitNeighbors, kPredict };   // kPredict: the fit is not counted
  std::string name;   // "Ridge 84M x 16"
  std::string detail = {};   // what the name says of the parameters: "100 trees"
  std::string estimator;
  schema::ValueMap params;
  Target target = Target::kNone;
  Use use = Use::kFit;
  double rows = 0, cols = 0;
  Growth growth = Growth::kLinear;
  std::vector<double> sizes;   // rows to run it with
  Steps steps = {};            // at `rows`
  double fitted_rows = 1024;   // of a model that is only asked
  Limit limit;
  double batch_rows = 0, epochs = 0;   // of a network
};

std::vector<Job> jobs();

// The tracer sees the emulator while this lives.
class Watch {
 public:
  explicit Watch(Tracer& tracer) {
    gpu_model::tracer = &tracer;
    engine::emulated::observer = &tracer, engine::emulated::host_watch = &tracer;
  }
  ~Watch() {
    engine::emulated::observer = nullptr, engine::emulated::host_watch = nullptr;
    gpu_model::tracer = nullptr;
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
};

// Runs the job with so many rows on an emulated GPU, of few double units or of many, under this tracer. The table and
// the target lie there before, as they do for every fit but the first. Errors: what the estimator throws.
Trace run(const Job& job, double rows, bool few_double_units, Tracer& tracer);

}   // namespace kedge::gpu_model
