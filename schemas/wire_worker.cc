// Messages between kedged and its workers to and from Cap'n Proto.
#include "schemas/wire.h"

namespace kedge::schema {
namespace {

struct CommandStorer {
  wire::WorkerCommand::Builder builder;

  void operator()(const RunCommand& command) {
    auto run = builder.initRun();
    run.setJobId(Utf8(command.jobId));
    run.setLeaseToken(command.leaseToken);
    store(command.spec, run.initSpec());
    run.setDataPath(Utf8(command.dataPath));
  }
  void operator()(const CancelCommand& command) { builder.initCancel().setJobId(Utf8(command.jobId)); }
  void operator()(const ExitCommand&) { builder.initExit(); }
};

RunCommand load_run(wire::RunCommand::Reader reader) {
  RunCommand run{.jobId = text(reader.getJobId()),
                 .leaseToken = reader.getLeaseToken(),
                 .dataPath = text(reader.getDataPath())};
  load(run.spec, reader.getSpec());
  return run;
}

struct ReportStorer {
  wire::WorkerReport::Builder builder;

  void operator()(const HelloReport& report) {
    auto hello = builder.initHello();
    store(report.device, hello.initDevice());
    hello.setVersion(Utf8(report.version));
  }
  void operator()(const HeartbeatReport&) { builder.initHeartbeat(); }
  void operator()(const EventReport& report) {
    auto event = builder.initEvent();
    event.setLeaseToken(report.leaseToken);
    store(report.body, event.initEvent());
  }
  void operator()(const DoneReport& report) {
    auto done = builder.initDone();
    done.setLeaseToken(report.leaseToken);
    store(report.result, done.initResult());
  }
  void operator()(const FailedReport& report) {
    auto failed = builder.initFailed();
    failed.setLeaseToken(report.leaseToken);
    store(report.error, failed.initError());
  }
};

HelloReport load_hello(wire::HelloReport::Reader reader) {
  HelloReport report{.version = text(reader.getVersion())};
  load(report.device, reader.getDevice());
  return report;
}

EventReport load_event(wire::EventReport::Reader reader) {
  EventReport report{.leaseToken = reader.getLeaseToken()};
  load(report.body, reader.getEvent());
  return report;
}

DoneReport load_done(wire::DoneReport::Reader reader) {
  DoneReport report{.leaseToken = reader.getLeaseToken()};
  load(report.result, reader.getResult());
  return report;
}

FailedReport load_failed(wire::FailedReport::Reader reader) {
  FailedReport report{.leaseToken = reader.getLeaseToken()};
  load(report.error, reader.getError());
  return report;
}

}  // namespace

void store(const WorkerCommand& command, wire::WorkerCommand::Builder builder) {
  std::visit(CommandStorer{builder}, command.body);
}

void load(WorkerCommand& command, wire::WorkerCommand::Reader reader) {
  switch (reader.which()) {
    case wire::WorkerCommand::RUN:
      command.body = load_run(reader.getRun());
      break;
    case wire::WorkerCommand::CANCEL:
      command.body = CancelCommand{text(reader.getCancel().getJobId())};
      break;
    case wire::WorkerCommand::EXIT:
      command.body = ExitCommand{};
      break;
  }
}

void store(const WorkerReport& report, wire::WorkerReport::Builder builder) {
  std::visit(ReportStorer{builder}, report.body);
}

void load(WorkerReport& report, wire::WorkerReport::Reader reader) {
  switch (reader.which()) {
    case wire::WorkerReport::HELLO:
      report.body = load_hello(reader.getHello());
      break;
    case wire::WorkerReport::HEARTBEAT:
      report.body = HeartbeatReport{};
      break;
    case wire::WorkerReport::EVENT:
      report.body = load_event(reader.getEvent());
      break;
    case wire::WorkerReport::DONE:
      report.body = load_done(reader.getDone());
      break;
    case wire::WorkerReport::FAILED:
      report.body = load_failed(reader.getFailed());
      break;
  }
}

}  // namespace kedge::schema
