// What the whole run found, and how it is shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpu_check/section.h"
#include "schemas/catalogue.h"
#include "schemas/value.h"

namespace kedge::gpu_check {

struct Disagreement {
  std::string item;
  std::vector<std::string> what;
};

// How near an item came to its bound.
struct Deviation {
  std::string item;
  double deviation, bound;
};

struct SectionReport {
  std::string name, what;
  std::int64_t items = 0, agreed = 0;   // items: that it has, as far as is known
  std::vector<Disagreement> disagreements = {};
  std::vector<Deviation> largest = {};   // the few that came nearest to their bound, the nearest first
  std::vector<Measure> measures = {};
  std::string why_not;   // why not all of it ran; empty if all did
  double seconds = 0;

  std::int64_t left_out() const { return items - agreed - static_cast<std::int64_t>(disagreements.size()); }
  std::string state() const;   // passed, passed in part, failed, left out
};

struct Report {
  std::string version, date;         // of the program; UTC, RFC 3339
  schema::DeviceEntry device, cpu;   // the first is without a name if none could be opened
  std::string unavailable;           // why there is no device
  double seconds = 0;
  std::vector<SectionReport> sections;

  std::int64_t n_agreed() const;
  std::int64_t n_disagreements() const;
  bool agrees() const { return n_disagreements() == 0 && n_agreed() > 0; }
};

std::string line_of(const Report& report);   // one line for people: whether the device computes what the CPU does
schema::Value value_of(const Report& report);
std::string markdown_of(const Report& report);

}   // namespace kedge::gpu_check
