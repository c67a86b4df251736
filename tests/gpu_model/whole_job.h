// A whole job under the model: a forest of MNIST in five folds, from the data set on the host to its scores, time by
// kernel and the host's own work beside it.
#pragma once

#include <string>
#include <vector>

#include "tests/gpu_model/model.h"

namespace kedge::gpu_model {

// examples/mnist_forest.json with so many rows and trees.
struct WholeJob {
  double rows = 70000, trees = 100;
  std::vector<double> row_sizes{4200, 6300}, tree_sizes{1, 3};   // that are run
};

// Runs the job at each of its sizes, and continues its counts: over trees linearly, over rows as n log2 n; the host's
// seconds linearly over both. Errors: those of the pipeline.
Trace count(const WholeJob& job, Tracer& tracer);

// Milliseconds by kernel, of copies and waits, and of the host, each with its share of the whole: Markdown.
std::string whole_job_table(const WholeJob& job, const Trace& counted);

}   // namespace kedge::gpu_model
