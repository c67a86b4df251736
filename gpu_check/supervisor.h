// Runs sections one after another, each in a process of its own, within a time.
#pragma once

#include <string>
#include <vector>

#include "gpu_check/report.h"

namespace kedge::gpu_check {

struct Plan {
  std::string device = "cuda";
  double seconds = 480;                 // for all
  double item_seconds = 60;             // an item that takes longer is killed, and has failed
  std::vector<std::string> only = {};   // sections; empty: all
  std::string items;                    // only those whose names contain this
  bool tells = true;                    // a line to stderr for each section
};

inline constexpr int kGoOnInAnother = 75;   // the exit code of a process that has told all and cannot go on

// What runs in the child: items from number `skip` on, until there is no more time. Messages go to stdout. The exit
// code of the process.
int run_items(const Section& section, const Plan& plan, std::int64_t skip);

// Errors: kInternal where no process can be made.
Report run_sections(const Plan& plan);

}   // namespace kedge::gpu_check
