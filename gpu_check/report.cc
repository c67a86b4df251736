// The report as one line, as JSON and as Markdown.
#include "gpu_check/report.h"

#include <fmt/core.h>

#include <algorithm>

#include "gpu_check/message.h"

namespace kedge::gpu_check {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;

constexpr double kGib = 1 << 30;

std::string name_of(const schema::DeviceEntry& device) {
  return device.name.empty() ? device.id : fmt::format("{} ({})", device.id, device.name);
}

std::string checks(std::int64_t n) {
  return fmt::format("{} check{}", n, n == 1 ? "" : "s");
}

// Of a table's cell: one line, without what would end the cell.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find_first_of("|\n", at)) != std::string::npos; at += 2)
    text.replace(at, 1, text[at] == '|' ? "\\|" : "  ");
  return text;
}

Value value_of(const SectionReport& section) {
  ValueList disagreements, largest, measures;
  for (const Disagreement& d : section.disagreements) {
    ValueList what;
    for (const std::string& text : d.what) what.emplace_back(text);
    disagreements.push_back(ValueMap{{"item", d.item}, {"what", std::move(what)}});
  }
  for (const Deviation& d : section.largest)
    largest.push_back(ValueMap{{"item", d.item}, {"deviation", d.deviation}, {"bound", d.bound}});
  for (const Measure& m : section.measures) measures.push_back(gpu_check::value_of(m));
  ValueMap map{{"name", section.name},
               {"what", section.what},
               {"state", section.state()},
               {"items", section.items},
               {"agreed", section.agreed},
               {"leftOut", section.left_out()},
               {"seconds", section.seconds},
               {"disagreements", std::move(disagreements)},
               {"largestDeviations", std::move(largest)},
               {"measures", std::move(measures)}};
  if (!section.why_not.empty()) map.emplace_back("whyNotAll", section.why_not);
  return map;
}

std::string table_of_sections(const Report& report) {
  std::string text =
      "| section | what | result | agree | differ | left out | seconds |\n|---|---|---|---|---|---|---|\n";
  for (const SectionReport& s : report.sections)
    text += fmt::format("| {} | {} | {}{} | {} | {} | {} | {:.1f} |\n", s.name, s.what, s.state(),
                        s.why_not.empty() ? "" : ": " + cell(s.why_not), s.agreed, s.disagreements.size(), s.left_out(),
                        s.seconds);
  return text;
}

std::string table_of_measures(const Report& report) {
  std::string rows;
  for (const SectionReport& s : report.sections)
    for (const Measure& m : s.measures) rows += fmt::format("| {} | {:.4g} {} |\n", cell(m.name), m.value, m.unit);
  return rows.empty() ? "" : "\n## Limits\n\n| what | measured |\n|---|---|\n" + rows;
}

std::string table_of_deviations(const Report& report) {
  std::string rows;
  for (const SectionReport& s : report.sections)
    for (const Deviation& d : s.largest)
      rows += fmt::format("| {} | {} | {:.1e} | {:.0e} |\n", s.name, cell(d.item), d.deviation, d.bound);
  return rows.empty()
             ? ""
             : "\n## Nearest to their bounds\n\n| section | item | difference | bound |\n|---|---|---|---|\n" + rows;
}

std::string list_of_disagreements(const Report& report) {
  std::string text;
  for (const SectionReport& s : report.sections)
    for (const Disagreement& d : s.disagreements) {
      text += fmt::format("- {}: {}\n", s.name, d.item);
      for (const std::string& what : d.what) text += "  - `" + cell(what) + "`\n";
    }
  return text.empty() ? "" : "\n## Differences\n\n" + text;
}

}   // namespace

std::string SectionReport::state() const {
  if (!disagreements.empty()) return "failed";
  if (agreed == 0) return "left out";
  return left_out() > 0 ? "passed in part" : "passed";
}

std::int64_t Report::n_agreed() const {
  std::int64_t n = 0;
  for (const SectionReport& section : sections) n += section.agreed;
  return n;
}

std::int64_t Report::n_disagreements() const {
  std::int64_t n = 0;
  for (const SectionReport& section : sections) n += static_cast<std::int64_t>(section.disagreements.size());
  return n;
}

std::string line_of(const Report& report) {
  if (!report.unavailable.empty()) return "no GPU was checked: " + report.unavailable;
  const std::string name = name_of(report.device);
  if (report.agrees()) {
    std::int64_t left_out = 0;
    for (const SectionReport& section : report.sections) left_out += section.left_out();
    const std::string rest = left_out == 0 ? "" : fmt::format(", {} left out for lack of time", left_out);
    return fmt::format("{} computes what the CPU does: {} agree{}", name, checks(report.n_agreed()), rest);
  }
  if (report.n_disagreements() == 0) return fmt::format("{} was not checked: there was no time", name);
  const auto failed =
      std::ranges::find_if(report.sections, [](const SectionReport& s) { return !s.disagreements.empty(); });
  return fmt::format("{} does NOT compute what the CPU does: {} of {} differ, the first is {} ({})", name,
                     report.n_disagreements(), checks(report.n_agreed() + report.n_disagreements()),
                     failed->disagreements.front().item, failed->name);
}

Value value_of(const Report& report) {
  ValueList sections;
  for (const SectionReport& section : report.sections) sections.push_back(value_of(section));
  const auto device = [](const schema::DeviceEntry& entry) {
    return ValueMap{
        {"id", entry.id}, {"name", entry.name}, {"driver", entry.driver}, {"memoryBytes", entry.memoryBytes}};
  };
  ValueMap map{
      {"agrees", report.agrees()}, {"line", line_of(report)}, {"version", report.version}, {"date", report.date}};
  if (!report.unavailable.empty()) map.emplace_back("unavailable", report.unavailable);
  map.emplace_back("device", device(report.device));
  map.emplace_back("cpu", device(report.cpu));
  map.emplace_back("seconds", report.seconds);
  map.emplace_back("sections", std::move(sections));
  return map;
}

std::string markdown_of(const Report& report) {
  std::string text = fmt::format("# {}\n\n{}. kedge {}, {}, {:.0f} s.\n",
                                 report.device.name.empty() ? "No GPU" : name_of(report.device), line_of(report),
                                 report.version, report.date, report.seconds);
  if (!report.device.name.empty())
    text += fmt::format("Driver {}, {:.1f} GiB. CPU: {}.\n",
                        report.device.driver.empty() ? "unknown" : report.device.driver,
                        static_cast<double>(report.device.memoryBytes) / kGib, report.cpu.name);
  if (report.sections.empty()) return text;
  return text + "\n" + table_of_sections(report) + list_of_disagreements(report) + table_of_measures(report) +
         table_of_deviations(report);
}

}   // namespace kedge::gpu_check
