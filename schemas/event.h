// What a job says while it runs: numbered, stored, streamed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "schemas/error.h"
#include "schemas/job.h"

namespace kedge::schema {

// The last event of a job is a StateEvent with a final state; `error` is set when it failed, and where a lost attempt puts it back into the queue.
struct StateEvent {
  JobState state = JobState::kQueued;
  std::string reason;
  std::optional<Error> error;
  std::string device = {};   // of an attempt that begins: where
  friend bool operator==(const StateEvent&, const StateEvent&) = default;
};

// phase: "download" (bytes), "parse" (bytes), "fold" (folds), "trees", "iterations" ... total 0 means unknown.
struct ProgressEvent {
  std::string phase;
  std::int64_t done = 0, total = 0;
  std::string unit;
  std::int64_t fold = -1;    // -1: not about one fold
  friend bool operator==(const ProgressEvent&, const ProgressEvent&) = default;
};

struct MetricEvent {   // one score of one fold
  std::string name;
  double value = 0;
  std::int64_t fold = -1;
  friend bool operator==(const MetricEvent&, const MetricEvent&) = default;
};

struct TimingEvent {   // phase: "download", "parse", "toDevice", "prepare", "fit", "predict", "score"
  std::string phase;
  double seconds = 0;
  std::int64_t fold = -1;
  friend bool operator==(const TimingEvent&, const TimingEvent&) = default;
};

struct LogEvent {
  std::string level;    // "info" or "warning"
  std::string message;
  friend bool operator==(const LogEvent&, const LogEvent&) = default;
};

struct ResultEvent {   // comes just before the final StateEvent of a job that succeeded
  Result result;
  friend bool operator==(const ResultEvent&, const ResultEvent&) = default;
};

// Sent in place of events that are no longer kept; never stored. Its number is `to`, so reading continues after it.
struct GapEvent {
  std::int64_t from = 0, to = 0;   // the first and the last that are missing
  Job job;                         // as it was when the gap was read
  friend bool operator==(const GapEvent&, const GapEvent&) = default;
};

using EventBody = std::variant<StateEvent, ProgressEvent, MetricEvent, TimingEvent, LogEvent, ResultEvent, GapEvent>;

// JSON: {"id": 3, "time": "2026-01-02T03:04:05.678Z", "progress": {...}}; the key of the body is event_name().
struct Event {
  std::int64_t id = 0;     // 1, 2, 3 ... within the job; the SSE id
  std::string time;        // RFC 3339, UTC, milliseconds
  EventBody body;
  friend bool operator==(const Event&, const Event&) = default;
};

std::string_view event_name(const EventBody& body);   // "state", "progress", "metric", "timing", "log", "result", "gap"

}  // namespace kedge::schema
