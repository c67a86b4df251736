// kedge_gpu_model: what cuML's benchmark rows would take on four GPUs by the counts of our kernels, beside the least
// that they can take.
//
//   kedge_gpu_model [--only TEXT]... [--markdown FILE] [--json FILE] [--kernels] [--check FILE] [--update FILE]
//   kedge_gpu_model --job mnist_forest [--rows N] [--trees N] [--markdown FILE]
//
// --only: rows whose name contains a TEXT. --kernels: every kernel's counts. --check: ends with 1 if a row's ratio is
// above that of FILE.
// --update: lowers the ratios of FILE to what was found, and adds rows that it lacks. --job: a whole job instead of
// rows, on an H100 and an L4, with the host's part (whole_job.h).
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "schemas/codec.h"
#include "tests/gpu_model/jobs.h"
#include "tests/gpu_model/whole_job.h"

namespace kedge::gpu_model {
namespace {

using schema::Value;
using schema::ValueMap;

constexpr double kSlack = 1.02;   // block order and sizes of reserves move counts a little

struct Options {
  std::vector<std::string> only;   // nothing: all rows
  std::string markdown, json, check, update, job, rows, trees;
  bool kernels = false;

  bool takes(const Job& job) const {
    return only.empty() ||
           std::ranges::any_of(only, [&](const std::string& text) { return job.name.find(text) != std::string::npos; });
  }
};

struct Row {
  Job job;
  Trace counted;   // extrapolated to the row's size
  std::vector<std::pair<double, std::string>> kernels(const Machine& machine) const {   // the slowest first
    std::vector<std::pair<double, std::string>> all;
    for (const auto& [name, counts] : counted.kernels) all.emplace_back(seconds(machine, name, counts), name);
    std::ranges::sort(all, std::greater<>{});
    return all;
  }
  double device_seconds(const Machine& machine) const {
    double sum = flow_seconds(machine, counted.flow);
    for (const auto& [time, name] : kernels(machine)) sum += time;
    return sum;
  }
  double ratio(const Machine& machine) const { return device_seconds(machine) / job.limit.seconds(machine); }
};

Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--kernels") {
      options.kernels = true;
      continue;
    }
    std::string* const value = name == "--only"       ? &options.only.emplace_back()
                               : name == "--markdown" ? &options.markdown
                               : name == "--json"     ? &options.json
                               : name == "--check"    ? &options.check
                               : name == "--update"   ? &options.update
                               : name == "--job"      ? &options.job
                               : name == "--rows"     ? &options.rows
                               : name == "--trees"    ? &options.trees
                                                      : nullptr;
    if (!value || i + 1 == argc) throw std::runtime_error(fmt::format("{}: not an option, or without its value", name));
    *value = argv[++i];
  }
  return options;
}

std::vector<Row> measure(const Options& options) {
  const InstructionTable instructions = read_own_instructions();
  Tracer tracer(instructions);
  std::vector<Row> rows;
  for (const Job& job : jobs()) {
    if (!options.takes(job)) continue;
    std::vector<Trace> traces;
    for (const double size : job.sizes) traces.push_back(run(job, size, tracer));
    rows.push_back({job, extrapolate(job.growth, job.sizes, traces, job.rows)});
    std::cerr << fmt::format("{}: {:.1f} times the limit of an H100\n", job.name, rows.back().ratio(machines().back()));
  }
  if (rows.empty())
    throw std::runtime_error(fmt::format("no row's name contains '{}'", fmt::join(options.only, "' or '")));
  return rows;
}

std::string milliseconds(double seconds) {
  return seconds < 0.0995 ? fmt::format("{:.2g}", seconds * 1e3) : fmt::format("{:.0f}", seconds * 1e3);
}

std::string table(const std::vector<Row>& rows) {
  std::string text = "| row | limit H100, ms |";
  for (const Machine& machine : machines()) text += fmt::format(" {}, ms (ratio) |", machine.name);
  text += " to the device, MB | to the host, MB | waits | three kernels of most time, H100 |\n|---|---|";
  for (std::size_t i = 0; i < machines().size() + 4; ++i) text += "---|";
  text += "\n";
  for (const Row& row : rows) {
    const Machine& last = machines().back();
    text += fmt::format("| {} | {} |", row.job.name, milliseconds(row.job.limit.seconds(last)));
    for (const Machine& machine : machines())
      text += fmt::format(" {} ({:.1f}) |", milliseconds(row.device_seconds(machine)), row.ratio(machine));
    const Flow& flow = row.counted.flow;
    text += fmt::format(" {:.3g} | {:.3g} | {:.0f} |", flow.to_device / 1e6, flow.to_host / 1e6, flow.waits);
    const auto kernels = row.kernels(last);
    for (std::size_t i = 0; i < std::min<std::size_t>(3, kernels.size()); ++i)
      text += fmt::format("{} {} {}", i ? "," : "", short_name(kernels[i].second), milliseconds(kernels[i].first));
    text += " |\n";
  }
  return text;
}

std::string kernel_table(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("\n{}\n{:40} {:>9} {:>10} {:>11} {:>11} {:>11} {:>6} {:>6} {:>10} {:>10} {:>11} {:>10} {:>9}\n",
                        row.job.name, "kernel", "launches", "blocks", "MB memory", "MB cache", "MB near", "wasted",
                        "banks", "Gop f32", "Gop f64", "Ginstr", "chain", "H100 ms");
    for (const auto& [time, name] : row.kernels(machines().back())) {
      const Counts& c = row.counted.kernels.at(name);
      text += fmt::format(
          "{:40} {:9.0f} {:10.0f} {:11.4g} {:11.4g} {:11.4g} {:6.2f} {:6.2f} {:10.3g} {:10.3g} {:11.3g} {:10.0f} {:9.3g}\n",
          short_name(name), c.launches, c.blocks, c.launch_sectors * 32e-6 + c.library_bytes * 1e-6,
          c.block_sectors * 32e-6, c.sectors * 32e-6, c.sectors / std::max(c.ideal_sectors, 1.0),
          c.shared_passes / std::max(c.ideal_shared_passes, 1.0), c.f32 * 1e-9, c.f64 * 1e-9, c.instructions * 1e-9,
          c.chain, time * 1e3);
    }
  }
  return text;
}

ValueMap read_ratios(const std::string& path) {
  std::ifstream file(path);
  if (!file) return {};
  std::stringstream text;
  text << file.rdbuf();
  return std::get<ValueMap>(schema::value_from_json(text.str()).data);
}

std::optional<double> known_ratio(const ValueMap& ratios, const std::string& name) {
  for (const auto& [row, value] : ratios)
    if (row == name) return std::get<double>(value.data);
  return std::nullopt;
}

double rounded(double ratio) {
  return std::stod(fmt::format("{:.4g}", ratio)) + 1e-9;
}   // a number with a fraction, so that it stays one in JSON

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  if (!(file << text)) throw std::runtime_error("cannot write " + path);
}

std::string json_lines(const ValueMap& ratios) {
  std::string text = "{\n";
  for (const auto& [name, ratio] : ratios)
    text +=
        fmt::format("  \"{}\": {:.4g}{}\n", name, std::get<double>(ratio.data), name == ratios.back().first ? "" : ",");
  return text + "}\n";
}

int check(const std::string& path, const std::vector<Row>& rows) {
  const ValueMap ratios = read_ratios(path);
  int worse = 0;
  for (const Row& row : rows) {
    const std::optional<double> before = known_ratio(ratios, row.job.name);
    const double now = row.ratio(machines().back());
    if (before && now <= *before * kSlack) continue;
    ++worse;
    std::cout << (before ? fmt::format("{}: {:.4g} times the limit, was {:.4g}\n", row.job.name, now, *before)
                         : fmt::format("{}: {} does not have it; --update adds it\n", row.job.name, path));
  }
  return worse ? 1 : 0;
}

void update(const std::string& path, const std::vector<Row>& rows) {
  ValueMap ratios = read_ratios(path);
  for (const Row& row : rows) {
    const double now = rounded(row.ratio(machines().back()));
    const auto entry = std::ranges::find(ratios, row.job.name, &ValueMap::value_type::first);
    if (entry == ratios.end()) ratios.emplace_back(row.job.name, now);
    else if (now < std::get<double>(entry->second.data)) entry->second = now;
  }
  write(path, json_lines(ratios));
}

int model_job(const Options& options) {
  if (options.job != "mnist_forest") throw std::runtime_error("there is one job: mnist_forest");
  WholeJob job;
  if (!options.rows.empty()) job.rows = std::stod(options.rows);
  if (!options.trees.empty()) job.trees = std::stod(options.trees);
  const InstructionTable instructions = read_own_instructions();
  Tracer tracer(instructions);
  const std::string text = whole_job_table(job, count(job, tracer));
  std::cout << text;
  if (!options.markdown.empty()) write(options.markdown, text);
  return 0;
}

int model(const Options& options) {
  if (!options.job.empty()) return model_job(options);
  const std::vector<Row> rows = measure(options);
  const std::string text = table(rows);
  std::cout << text;
  if (options.kernels) std::cout << kernel_table(rows);
  if (!options.markdown.empty()) write(options.markdown, text);
  if (!options.json.empty()) {
    ValueMap ratios;
    for (const Row& row : rows) ratios.emplace_back(row.job.name, rounded(row.ratio(machines().back())));
    write(options.json, json_lines(ratios));
  }
  if (!options.update.empty()) update(options.update, rows);
  return options.check.empty() ? 0 : check(options.check, rows);
}

}   // namespace
}   // namespace kedge::gpu_model

int main(int argc, char** argv) {
  try {
    return kedge::gpu_model::model(kedge::gpu_model::options_of(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "kedge_gpu_model: " << error.what() << "\n";
    return 2;
  }
}
