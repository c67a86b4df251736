# Messages between kedged and a kedge-worker, as in worker.h. Binary only.
@0x965179d0b8358970;
using Cxx = import "/capnp/c++.capnp";
using Json = import "annotations.capnp";
using Catalogue = import "catalogue.capnp";
using E = import "error.capnp";
using Event = import "event.capnp";
using Job = import "job.capnp";
using Model = import "model.capnp";
$Cxx.namespace("kedge::schema::wire");

struct RunCommand {
  jobId @0 :Text $Json.required;
  leaseToken @1 :Int64;
  spec @2 :Job.JobSpec $Json.required;
  dataPath @3 :Text $Json.required;
  dataDigest @4 :Text;
  modelPath @5 :Text;
  outputDir @6 :Text;
  trace @7 :Text;
  lentFiles @8 :UInt8;
  dataName @9 :Text;
}

struct AskCommand {
  leaseToken @0 :Int64;
  modelPath @1 :Text;
  output @2 :Text;
  contentType @3 :Text;
  accept @4 :Text;
  body @5 :Data;
  lentFiles @6 :UInt8;
  model @7 :Text;
}

struct CancelCommand {
  jobId @0 :Text $Json.required;
}

struct ExitCommand {}

struct WorkerCommand $Json.message $Json.variant("body") {
  union {
    run @0 :RunCommand;
    cancel @1 :CancelCommand;
    exit @2 :ExitCommand;
    ask @3 :AskCommand;
  }
}

struct HelloReport {
  device @0 :Catalogue.DeviceEntry;
  version @1 :Text;
}

struct HeartbeatReport {}

struct EventReport {
  leaseToken @0 :Int64;
  body @1 :Event.Event $Json.required;   # only the union counts; number and time are given by kedged
}

struct DoneReport {
  leaseToken @0 :Int64;
  result @1 :Job.Result $Json.required;
  model @2 :Model.ModelInfo $Json.optional;
  modelBytes @3 :Data $Json.optional $Json.lent;   # of a small model, which has no file
}

struct AnswerReport {
  leaseToken @0 :Int64;
  body @1 :Data;
  model @2 :Model.ModelInfo $Json.optional;
  rows @3 :Int64;
  together @4 :Int64;
  seconds @5 :Float64;
  bins @6 :List(Int64);
  counts @7 :List(Int64);
  profile @8 :Model.ModelProfile $Json.optional;
}

struct FailedReport {
  leaseToken @0 :Int64;
  error @1 :E.Error $Json.required;
}

struct WorkerReport $Json.message $Json.variant("body") {
  union {
    hello @0 :HelloReport;
    heartbeat @1 :HeartbeatReport;
    event @2 :EventReport;
    done @3 :DoneReport;
    failed @4 :FailedReport;
    answer @5 :AnswerReport;
  }
}
