// Lines of phases.
#include "client/cli/phase_display.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

namespace kedge::cli {
namespace {

constexpr int kNoteAt = 20;   // the column where notes begin

}  // namespace

Line phase_line(const provisioning::Phase& phase) {
  const std::string note = printable(phase.note);
  if (phase.seconds < 0) return Line{Span{fmt::format("{:<8} ", phase.name), Style::kBold}, Span{note + " ..."}};
  return line_of(fmt::format("{:<8}{:>8.2f} s  {}", phase.name, phase.seconds, note));
}

std::string PhaseDisplay::text(const provisioning::Phase& phase, const Page& page) {
  if (phase.seconds < 0) return page.is_live ? area_.draw(page, {phase_line(phase)}) : std::string();
  return page.is_live ? area_.print(page, phase_line(phase), kNoteAt) : paragraph(page, phase_line(phase), kNoteAt);
}

void PhaseDisplay::show(const provisioning::Phase& phase) {
  const std::string written = text(phase, page_of(STDERR_FILENO));
  std::fwrite(written.data(), 1, written.size(), stderr);
  std::fflush(stderr);
}

std::optional<Line> gpu_warning(const provisioning::UpResult& result) {
  if (result.no_gpu.empty()) return std::nullopt;
  return line_of(fmt::format("warning: its jobs will run on the CPU, not on its {}: {}", result.intent.offer.gpu, printable(result.no_gpu)), Style::kWarning);
}

std::vector<Line> ready_lines(const provisioning::UpResult& result, const std::string& machine, bool is_used) {
  const provisioning::Lease& lease = result.intent.lease;
  double total = 0;
  for (const provisioning::Phase& phase : result.phases) total += phase.seconds;
  return {line_of(fmt::format("{:<8}{:>8.2f} s  kedge {} on {}", "ready", total, printable(result.version), machine), Style::kGood),
          line_of(fmt::format("It ends {:.3g} min after its last use, at the latest in {:.1f} h ({:.2f} USD).{} `kedge down` ends it now.",
                              static_cast<double>(lease.idle_s) / 60, static_cast<double>(lease.life_s) / 3600,
                              provisioning::cost_at_most(result.intent), is_used ? " `kedge run` uses it;" : "")),
          line_of(fmt::format("When neither this machine nor its server can see to that: {}.", printable(result.fuse)))};
}

}  // namespace kedge::cli
