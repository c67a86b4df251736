# What a job says while it runs, as in event.h.
@0xefd2f459621e3e61;
using Cxx = import "/capnp/c++.capnp";
using Json = import "annotations.capnp";
using E = import "error.capnp";
using Job = import "job.capnp";
$Cxx.namespace("kedge::schema::wire");

struct StateEvent {
  state @0 :Job.JobState $Json.required;
  reason @1 :Text $Json.optional;
  error @2 :E.Error $Json.optional;
  device @3 :Text $Json.optional;
}

struct ProgressEvent {
  phase @0 :Text;
  done @1 :Int64;
  total @2 :Int64;
  unit @3 :Text;
  fold @4 :Int64 = -1 $Json.optional;
}

struct MetricEvent {
  name @0 :Text;
  value @1 :Float64;
  fold @2 :Int64 = -1 $Json.optional;
}

struct TimingEvent {
  phase @0 :Text;
  seconds @1 :Float64;
  fold @2 :Int64 = -1 $Json.optional;
}

struct LogEvent {
  level @0 :Text;
  message @1 :Text;
}

struct GapEvent {
  from @0 :Int64;
  to @1 :Int64;
  job @2 :Job.Job $Json.required;
}

struct Event $Json.document $Json.schema("JobEvent") $Json.variant("body") {
  id @0 :Int64 $Json.required $Json.minimum(1);
  time @1 :Text;
  union {
    state @2 :StateEvent;
    progress @3 :ProgressEvent;
    metric @4 :MetricEvent;
    timing @5 :TimingEvent;
    log @6 :LogEvent;
    result @7 :Job.Result;
    gap @8 :GapEvent;
  }
  traceId @9 :Text $Json.optional $Json.pattern("^[0-9a-f]{32}$") $Json.wireOnly;
  # Of the request that submitted the job (W3C); the server adds it to what it streams.
}
