// Events as one line for people.
#include <fmt/core.h>
#include <fmt/ostream.h>

#include "kedge/session.h"

namespace kedge::schema {
namespace {

std::string of_fold(std::int64_t fold) { return fold < 0 ? std::string() : fmt::format(" (fold {})", fold + 1); }

std::string text(const StateEvent& e) {
  std::string line(job_state_name(e.state));
  if (e.error) line += fmt::format(": {} [{}]", e.error->message, error_code_name(e.error->code));
  else if (!e.reason.empty()) line += fmt::format(" ({})", e.reason);
  return line;
}
std::string text(const ProgressEvent& e) {
  if (e.total > 0) return fmt::format("{} {} of {} {}{}", e.phase, e.done, e.total, e.unit, of_fold(e.fold));
  return fmt::format("{} {} {}{}", e.phase, e.done, e.unit, of_fold(e.fold));
}
std::string text(const MetricEvent& e) { return fmt::format("{} {:.6f}{}", e.name, e.value, of_fold(e.fold)); }
std::string text(const TimingEvent& e) { return fmt::format("{} took {:.3f} s{}", e.phase, e.seconds, of_fold(e.fold)); }
std::string text(const LogEvent& e) { return fmt::format("{}: {}", e.level, e.message); }
std::string text(const ResultEvent& e) {
  std::string line = "result";
  for (const auto& [name, score] : e.result.scores) line += fmt::format(" {} {:.6f} +- {:.6f}", name, score.mean, score.std);
  return line;
}

std::string text(const GapEvent& e) {
  return fmt::format("events {} to {} are no longer kept; the job is {}", e.from, e.to, job_state_name(e.job.state));
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Event& event) {
  return out << event.id << ' ' << event.body;
}

std::ostream& operator<<(std::ostream& out, const EventBody& body) {
  return out << std::visit([](const auto& b) { return text(b); }, body);
}

}  // namespace kedge::schema
