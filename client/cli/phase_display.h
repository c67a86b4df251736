// Shows the phases of renting a machine, and the machine at the end of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/live_area.h"
#include "provisioning/controller.h"

namespace kedge::cli {

Line phase_line(const provisioning::Phase& phase);   // "boot    12.30 s  i-0abc"; of one that has only begun "boot     i-0abc ..."

// One phase after the other on stderr; on a terminal also the one that runs.
class PhaseDisplay {
 public:
  std::string text(const provisioning::Phase& phase, const Page& page);   // what is to be written for it
  void show(const provisioning::Phase& phase);

 private:
  LiveArea area_;
};

std::optional<Line> gpu_warning(
    const provisioning::UpResult& result);   // of a machine whose jobs will run on its CPU although a GPU was requested

// What `up` says in the end. `machine`: machine_line() of it; is_used: commands go to it.
std::vector<Line> ready_lines(const provisioning::UpResult& result, const std::string& machine, bool is_used);

}  // namespace kedge::cli
