// The data are the 10,000 images within the server, in their order; folds run one after another, as on one lane.
#include "tests/gpu_model/whole_job.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <stdexcept>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/pipeline.h"
#include "server/data/builtin.h"
#include "tests/gpu_model/jobs.h"

namespace kedge::gpu_model {
namespace {

constexpr double kSmallShare = 0.005;   // of the H100's time: kernels below it are one line
constexpr std::string_view kMachines[] = {"H100", "L4"};

// A folder that goes with its files.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "gpu_model.XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("cannot make a folder " + name);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Trace run_forest(const engine::DatasetFile& data, double rows, double trees, Tracer& tracer) {
  const auto n_trees = static_cast<std::int64_t>(trees);
  const engine::Pipeline pipeline = engine::Pipeline::build(
      {.dataset = {schema::StoredRef{"mnist"}},
       .select = {.rows = static_cast<std::int64_t>(rows), .dtype = "float32", .scale = 1 / 255.0},
       .pipeline = {{"StandardScaler", {}},
                    {"RandomForestClassifier", {{"n_estimators", n_trees}, {"random_state", 42}}}},
       .task = schema::CrossValidate{.cv = 5, .scoring = {"accuracy"}}});
  const auto device = engine::make_cuda_device({.seed = 7});
  const engine::Context ctx{.device = *device, .seed = 1};
  tracer.take();
  const Watch watch(tracer);
  static_cast<void>(pipeline.run(ctx, data));
  return tracer.take();
}

double on_line(const std::vector<double>& at, double first, double last, double x) {
  return std::max(last, first + (last - first) * (x - at.front()) / (at.back() - at.front()));
}

const Machine& machine_named(std::string_view name) {
  return *std::ranges::find(machines(), name, &Machine::name);
}

// A line of the table: seconds on each of kMachines.
struct Line {
  std::string name, launches;
  double seconds[2] = {};
};

std::vector<Line> lines_of(const Trace& counted) {
  std::vector<Line> lines;
  for (const auto& [kernel, counts] : counted.kernels) {
    Line& line = lines.emplace_back(Line{short_name(kernel), fmt::format("{:.0f}", counts.all_launches())});
    for (int m = 0; m < 2; ++m) line.seconds[m] = seconds(machine_named(kMachines[m]), kernel, counts);
  }
  std::ranges::sort(lines, std::greater<>{}, [](const Line& line) { return line.seconds[0]; });
  Line flow{fmt::format("copies: {:.3g} MB to the device, {:.3g} MB to the host; {:.0f} waits",
                        counted.flow.to_device / 1e6, counted.flow.to_host / 1e6, counted.flow.waits),
            ""};
  for (int m = 0; m < 2; ++m) flow.seconds[m] = flow_seconds(machine_named(kMachines[m]), counted.flow);
  lines.push_back(flow);
  lines.push_back({"the host's own work", "", {counted.flow.host_seconds, counted.flow.host_seconds}});
  return lines;
}

}   // namespace

Trace count(const WholeJob& job, Tracer& tracer) {
  const Folder folder;
  server::write_builtin("mnist_10k", folder.path() / "mnist.kedge");
  const engine::DatasetFile data(folder.path() / "mnist.kedge");
  std::vector<Trace> by_rows;
  for (const double rows : job.row_sizes) {
    std::vector<Trace> by_trees;
    for (const double trees : job.tree_sizes) {
      by_trees.push_back(run_forest(data, rows, trees, tracer));
      std::cerr << fmt::format("{:.0f} rows, {:.0f} trees: {:.2f} s of the host\n", rows, trees,
                               by_trees.back().flow.host_seconds);
    }
    const auto host = [&](std::size_t i) { return by_trees[i].flow.host_seconds; };
    Trace& all = by_rows.emplace_back(extrapolate(Growth::kLinear, job.tree_sizes, by_trees, job.trees));
    all.flow.host_seconds = on_line(job.tree_sizes, host(0), host(1), job.trees);
  }
  Trace all = extrapolate(Growth::kLogarithmic, job.row_sizes, by_rows, job.rows);
  all.flow.host_seconds = on_line(job.row_sizes, by_rows[0].flow.host_seconds, by_rows[1].flow.host_seconds, job.rows);
  return all;
}

std::string whole_job_table(const WholeJob& job, const Trace& counted) {
  const std::vector<Line> lines = lines_of(counted);
  double whole[2] = {};
  for (const Line& line : lines)
    for (int m = 0; m < 2; ++m) whole[m] += line.seconds[m];
  std::string text = fmt::format("{:.0f} rows, {:.0f} trees, 5 folds\n\n| what | launches |", job.rows, job.trees);
  for (const std::string_view name : kMachines) text += fmt::format(" {}, ms | share |", name);
  text += "\n|---|---|---|---|---|---|\n";
  const auto add = [&](const Line& line) {
    text += fmt::format("| {} | {} |", line.name, line.launches);
    for (int m = 0; m < 2; ++m)
      text += fmt::format(" {:.3g} | {:.1f} % |", line.seconds[m] * 1e3, 100 * line.seconds[m] / whole[m]);
    text += "\n";
  };
  Line others{"other kernels", ""};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool is_small = i + 2 < lines.size() && lines[i].seconds[0] < kSmallShare * whole[0];
    if (!is_small) {
      if (i + 2 == lines.size()) add(others);
      add(lines[i]);
      continue;
    }
    for (int m = 0; m < 2; ++m) others.seconds[m] += lines[i].seconds[m];
  }
  add({"together", "", {whole[0], whole[1]}});
  return text;
}

}   // namespace kedge::gpu_model
