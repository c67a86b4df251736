// Puts a job's events together to a story.
#include "client/cli/explain_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <variant>

#include "client/cli/live_area.h"
#include "client/cli/table.h"
#include "client/cli/target.h"
#include "client/cli/text_table.h"
#include "client/cli/units.h"
#include "client/cli/warnings.h"
#include "kedge/session.h"
#include "schemas/codec.h"

namespace kedge::cli {
namespace {

using schema::JobState;

// From the event by which a worker begins to the one that takes the job away from it.
struct Attempt {
  std::string device, started, ended;
  std::string end;                    // the state that followed; empty: it runs
  std::optional<Error> error;
};

std::vector<Attempt> attempts_of(const std::vector<schema::Event>& events) {
  std::vector<Attempt> attempts;
  for (const schema::Event& event : events) {
    const auto* state = std::get_if<schema::StateEvent>(&event.body);
    if (!state || state->state == JobState::kFinalizing) continue;
    if (state->state == JobState::kRunning) attempts.push_back({.device = state->device, .started = event.time, .ended = {}, .end = {}, .error = {}});
    else if (!attempts.empty() && attempts.back().end.empty())
      attempts.back().ended = event.time, attempts.back().end = schema::job_state_name(state->state), attempts.back().error = state->error;
  }
  return attempts;
}

// Of all attempts; phases of folds are added up.
std::map<std::string, double> seconds_of(const std::vector<schema::Event>& events) {
  std::map<std::string, double> seconds;
  for (const schema::Event& event : events)
    if (const auto* timing = std::get_if<schema::TimingEvent>(&event.body)) seconds[timing->phase] += timing->seconds;
  return seconds;
}

std::string error_text(const Error& error) {
  return fmt::format("{} [{}{}]", error.message, schema::error_code_name(error.code), error.where.empty() ? "" : " at " + error.where);
}

// "failed", "cancelled before it began", "running for 12.3 s".
std::string state_text(const schema::Job& job, double now) {
  std::string text(schema::job_state_name(job.state));
  if (job.state == JobState::kCancelled && job.started.empty()) return text + " before it began";
  const std::string time = run_time_text(job, now);
  if (time.empty()) return text;
  return text + (schema::is_final(job.state) ? " after " : " for ") + time;
}

std::string line_of_state(const schema::StateEvent& state, std::size_t& attempt) {
  switch (state.state) {
    case JobState::kQueued: return state.error ? "lost: " + error_text(*state.error) : state.reason.empty() ? "queued" : fmt::format("queued again ({})", state.reason);
    case JobState::kFetching: return "its data is fetched";
    case JobState::kRunning: return fmt::format("attempt {}{}", ++attempt, state.device.empty() ? "" : " on " + state.device);
    case JobState::kFinalizing: return "computed; the result is stored";
    default: return std::string(schema::job_state_name(state.state)) + (state.error ? ": " + error_text(*state.error) : "");
  }
}

// What happened, with the seconds since the submit.
std::string course(const schema::Job& job, const std::vector<schema::Event>& events, const Page& page) {
  const double begin = unix_time(job.created).value_or(0);
  std::string out;
  std::size_t attempt = 0;
  for (const schema::Event& event : events) {
    std::string text;
    if (const auto* state = std::get_if<schema::StateEvent>(&event.body)) text = line_of_state(*state, attempt);
    else if (const auto* gap = std::get_if<schema::GapEvent>(&event.body)) text = fmt::format("events {} to {} are no longer kept", gap->from, gap->to);
    else continue;
    const double at = std::max(0.0, unix_time(event.time).value_or(begin) - begin);
    out += paragraph(page, line_of(fmt::format("  {:>9.3f} s  {}", at, printable(text))), 15);
  }
  return out;
}

std::string warnings_text(const std::vector<schema::Event>& events, const Page& page) {
  std::vector<std::string> warnings;
  for (const schema::Event& event : events)
    if (const auto* log = std::get_if<schema::LogEvent>(&event.body); log && log->level == "warning") warnings.push_back(log->message);
  std::string out;
  for (const std::string& warning : collapsed(warnings)) out += paragraph(page, line_of("warning: " + printable(warning), Style::kWarning), 2);
  return out;
}

std::string seconds_table(const std::vector<schema::Event>& events, const Page& page) {
  TextTable table({{"phase"}, {"seconds", TextTable::Align::kRight}});
  bool is_empty = true;
  for (const auto& [phase, seconds] : seconds_of(events))
    if (seconds >= 0.0005) table.row({phase, fmt::format("{:.3f}", seconds)}), is_empty = false;
  return is_empty ? "" : "\n" + table.text(page);
}

}  // namespace

std::string story_of(const schema::Job& job, const std::vector<schema::Event>& events, const Page& page, double now) {
  const Style style = job.state == JobState::kFailed ? Style::kBad : job.state == JobState::kSucceeded ? Style::kGood : Style::kBold;
  std::string out = paragraph(page, line_of(fmt::format("{}: {}", job.id, state_text(job, now)), style));
  out += paragraph(page, line_of(printable(job_text(job.spec))), 2);
  if (job.error) out += paragraph(page, line_of(printable(error_text(*job.error)), Style::kBad), 2);
  out += "\n" + paragraph(page, line_of(fmt::format("submitted {}, {} {}", job.created, job.attempts, job.attempts == 1 ? "attempt" : "attempts")), 2);
  out += course(job, events, page);
  if (job.result) return out + result_table(*job.result, page);   // with its warnings, memory and times
  return out + seconds_table(events, page) + warnings_text(events, page);
}

std::string story_json(const schema::Job& job, const std::vector<schema::Event>& events) {
  schema::ValueList attempts;
  for (const Attempt& attempt : attempts_of(events)) {
    schema::ValueMap one{{"device", attempt.device}, {"started", attempt.started}, {"ended", attempt.ended}, {"end", attempt.end}};
    if (attempt.error) one.emplace_back("error", schema::value_from_json(schema::to_json(*attempt.error)));
    attempts.emplace_back(std::move(one));
  }
  schema::ValueMap seconds;
  for (const auto& [phase, spent] : seconds_of(events)) seconds.emplace_back(phase, spent);
  return schema::value_to_json(schema::ValueMap{
      {"job", schema::value_from_json(schema::to_json(job))}, {"attempts", std::move(attempts)}, {"seconds", std::move(seconds)}});
}

int explain(const Options& options) {
  const Session session = connect_server(options);
  const Job handle = session.job(options.argument);
  const std::vector<schema::Event> events = handle.events_so_far();
  const schema::Job job = handle.status();
  if (options.json) fmt::print("{}\n", story_json(job, events));
  else fmt::print("{}", story_of(job, events, page_of(STDOUT_FILENO), unix_seconds()));
  return kSucceeded;
}

}  // namespace kedge::cli
