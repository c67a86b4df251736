// kedge_gpu_model: what cuML's benchmark rows would take on four GPUs by the counts of our kernels, beside the least
// that they can take.
//
//   kedge_gpu_model [--only TEXT]... [--markdown FILE] [--json FILE] [--kernels] [--check FILE] [--update FILE]
//   kedge_gpu_model --job mnist_forest [--rows N] [--trees N] [--markdown FILE]
//
// --only: rows whose name contains a TEXT. --kernels: every kernel's counts, on GPUs with many double units and with
// few. --check: ends with 1 if a row's ratio on an H100 or an L4 is above that of FILE.
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
#include <span>
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
  Trace many, few;   // on GPUs with many double units, and with few; extrapolated to the row's size
  const Trace& counted(const Machine& machine) const { return machine.has_few_double_units() ? few : many; }
  std::vector<std::pair<double, std::string>> kernels(const Machine& machine) const {   // the slowest first
    std::vector<std::pair<double, std::string>> all;
    for (const auto& [name, counts] : counted(machine).kernels) all.emplace_back(seconds(machine, name, counts), name);
    std::ranges::sort(all, std::greater<>{});
    return all;
  }
  double device_seconds(const Machine& machine) const {
    double sum = flow_seconds(machine, counted(machine).flow);
    for (const auto& [time, name] : kernels(machine)) sum += time;
    return sum;
  }
  double ratio(const Machine& machine) const { return device_seconds(machine) / job.limit.seconds(machine); }
  std::vector<std::pair<std::string, double>> kept_ratios() const {   // of a row of the ratchet's file
    std::vector<std::pair<std::string, double>> all;
    for (const Machine& machine : machines()) {
      if (machine.name == "H100") all.emplace_back(job.name, ratio(machine));
      if (machine.name == "L4") all.emplace_back(job.name + ", L4", ratio(machine));
    }
    return all;
  }
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
    const auto counted = [&](bool few_double_units) {
      std::vector<Trace> traces;
      for (const double size : job.sizes) traces.push_back(run(job, size, few_double_units, tracer));
      return extrapolate(job.growth, job.sizes, traces, job.rows, job.steps);
    };
    rows.push_back({job, counted(false), counted(true)});
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
    const Flow& flow = row.counted(last).flow;
    text += fmt::format(" {:.3g} | {:.3g} | {:.0f} |", flow.to_device / 1e6, flow.to_host / 1e6, flow.waits);
    const auto kernels = row.kernels(last);
    for (std::size_t i = 0; i < std::min<std::size_t>(3, kernels.size()); ++i)
      text += fmt::format("{} {} {}", i ? "," : "", short_name(kernels[i].second), milliseconds(kernels[i].first));
    text += " |\n";
  }
  return text;
}

// What a row's kernels count on the GPUs that have as many double units as the last of these, and take on each of them.
std::string kernel_table(const Row& row, std::span<const Machine* const> alike) {
  std::string text =
      fmt::format("\n{}\n{:40} {:>9} {:>10} {:>11} {:>11} {:>11} {:>6} {:>6} {:>10} {:>10} {:>11} {:>10}", row.job.name,
                  "kernel", "launches", "blocks", "MB memory", "MB cache", "MB near", "wasted", "banks", "Gop f32",
                  "Gop f64", "Ginstr", "chain");
  for (const Machine* machine : alike) text += fmt::format(" {:>9}", fmt::format("{} ms", machine->name));
  for (const auto& [time, name] : row.kernels(*alike.back())) {
    const Counts& c = row.counted(*alike.back()).kernels.at(name);
    text += fmt::format(
        "\n{:40} {:9.0f} {:10.0f} {:11.4g} {:11.4g} {:11.4g} {:6.2f} {:6.2f} {:10.3g} {:10.3g} {:11.3g} {:10.0f}",
        short_name(name), c.all_launches(), c.blocks, c.launch_sectors * 32e-6 + c.library_bytes * 1e-6,
        c.block_sectors * 32e-6, c.sectors * 32e-6, c.sectors / std::max(c.ideal_sectors, 1.0),
        c.shared_passes / std::max(c.ideal_shared_passes, 1.0), c.f32 * 1e-9, c.f64 * 1e-9, c.instructions * 1e-9,
        c.chain);
    for (const Machine* machine : alike) text += fmt::format(" {:9.3g}", seconds(*machine, name, c) * 1e3);
  }
  return text + "\n";
}

// Of networks: the ops that a batch starts, and what they take by the host's launches alone and with recorded steps.
std::string batch_lines(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    if (row.job.batch_rows == 0) continue;
    const Machine& last = machines().back();
    const Trace& trace = row.counted(last);
    double launches = 0, nodes = 0, without = flow_seconds(last, trace.flow) - trace.flow.recordings * kRecording;
    for (const auto& [name, counts] : trace.kernels) {
      launches += counts.launches, nodes += counts.nodes;
      Counts plain = counts;
      plain.launches = counts.all_launches(), plain.nodes = 0;
      without += seconds(last, name, plain);
    }
    const double batches = row.job.epochs * row.job.rows / row.job.batch_rows;
    text += fmt::format(
        "\n{}, a batch on an {}: {:.1f} ops; without recorded steps the host starts each, {:.1f} us; with them the host "
        "starts {:.2f} (of the first epoch, and {:.3f} calls), {:.1f} us\n",
        row.job.name, last.name, (launches + nodes) / batches, 1e6 * without / batches,
        (launches + trace.flow.recordings) / batches, trace.flow.recordings / batches,
        1e6 * row.device_seconds(last) / batches);
  }
  return text;
}

std::string kernel_tables(const std::vector<Row>& rows) {
  std::vector<const Machine*> few, many;
  for (const Machine& machine : machines()) (machine.has_few_double_units() ? few : many).push_back(&machine);
  std::string text;
  for (const Row& row : rows) text += kernel_table(row, many) + kernel_table(row, few);
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
    for (const auto& [name, now] : row.kept_ratios()) {
      const std::optional<double> before = known_ratio(ratios, name);
      if (before ? now <= *before * kSlack : name != row.job.name) continue;   // not every row is kept for an L4
      ++worse;
      std::cout << (before ? fmt::format("{}: {:.4g} times the limit, was {:.4g}\n", name, now, *before)
                           : fmt::format("{}: {} does not have it; --update adds it\n", name, path));
    }
  }
  return worse ? 1 : 0;
}

void update(const std::string& path, const std::vector<Row>& rows) {
  ValueMap ratios = read_ratios(path);
  for (const Row& row : rows) {
    for (const auto& [name, ratio] : row.kept_ratios()) {
      const double now = rounded(ratio);
      const auto entry = std::ranges::find(ratios, name, &ValueMap::value_type::first);
      if (entry == ratios.end()) ratios.emplace_back(name, now);
      else if (now < std::get<double>(entry->second.data)) entry->second = now;
    }
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
  const std::string text = table(rows) + batch_lines(rows);
  std::cout << text;
  if (options.kernels) std::cout << kernel_tables(rows);
  if (!options.markdown.empty()) write(options.markdown, text);
  if (!options.json.empty()) {
    ValueMap ratios;
    for (const Row& row : rows)
      for (const auto& [name, ratio] : row.kept_ratios()) ratios.emplace_back(name, rounded(ratio));
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
