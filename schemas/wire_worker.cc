// Messages between kedged and its workers to and from Cap'n Proto.
#include <capnp/orphan.h>

#include <cstdint>

#include "schemas/wire.h"

namespace kedge::schema {
namespace {

capnp::Data::Reader data_of(const std::string& body) {
  return {reinterpret_cast<const kj::byte*>(body.data()), body.size()};
}

// Without a copy into the message where the bytes end with a word, as those of models do: they outlive it.
void store_model_bytes(const std::string& model, wire::DoneReport::Builder done) {
  const capnp::Data::Reader data = data_of(model);
  const bool is_in_words = data.size() % sizeof(capnp::word) == 0 && reinterpret_cast<std::uintptr_t>(data.begin()) % sizeof(capnp::word) == 0;
  if (data.size() > 0 && is_in_words)
    done.adoptModelBytes(capnp::Orphanage::getForMessageContaining(done).referenceExternalData(data));
  else if (data.size() > 0)
    done.setModelBytes(data);
}

std::string bytes(capnp::Data::Reader reader) {
  return {reinterpret_cast<const char*>(reader.begin()), reader.size()};
}

struct CommandStorer {
  wire::WorkerCommand::Builder builder;

  void operator()(const RunCommand& command) {
    auto run = builder.initRun();
    run.setJobId(Utf8(command.jobId));
    run.setLeaseToken(command.leaseToken);
    store(command.spec, run.initSpec());
    run.setDataPath(Utf8(command.dataPath));
    run.setDataDigest(Utf8(command.dataDigest));
    run.setModelPath(Utf8(command.modelPath));
    run.setOutputDir(Utf8(command.outputDir));
    run.setTrace(Utf8(command.trace));
    run.setLentFiles(command.lentFiles);
    run.setDataName(Utf8(command.dataName));
  }
  void operator()(const CancelCommand& command) { builder.initCancel().setJobId(Utf8(command.jobId)); }
  void operator()(const ExitCommand&) { builder.initExit(); }
  void operator()(const AskCommand& command) {
    auto ask = builder.initAsk();
    ask.setLeaseToken(command.leaseToken);
    ask.setModelPath(Utf8(command.modelPath));
    ask.setOutput(Utf8(command.output));
    ask.setContentType(Utf8(command.contentType));
    ask.setAccept(Utf8(command.accept));
    ask.setBody(data_of(command.body));
    ask.setLentFiles(command.lentFiles);
  }
};

AskCommand load_ask(wire::AskCommand::Reader reader) {
  return {.leaseToken = reader.getLeaseToken(),
          .modelPath = text(reader.getModelPath()),
          .output = text(reader.getOutput()),
          .contentType = text(reader.getContentType()),
          .accept = text(reader.getAccept()),
          .body = bytes(reader.getBody()),
          .lentFiles = reader.getLentFiles()};
}

RunCommand load_run(wire::RunCommand::Reader reader) {
  RunCommand run{.jobId = text(reader.getJobId()),
                 .leaseToken = reader.getLeaseToken(),
                 .dataPath = text(reader.getDataPath()),
                 .dataDigest = text(reader.getDataDigest()),
                 .modelPath = text(reader.getModelPath()),
                 .outputDir = text(reader.getOutputDir()),
                 .trace = text(reader.getTrace()),
                 .lentFiles = reader.getLentFiles(),
                 .dataName = text(reader.getDataName())};
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
    if (report.model) store(*report.model, done.initModel());
    store_model_bytes(report.modelBytes, done);
  }
  void operator()(const AnswerReport& report) {
    auto answer = builder.initAnswer();
    answer.setLeaseToken(report.leaseToken);
    answer.setBody(data_of(report.body));
    store(report.model, answer.initModel());
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
  if (reader.hasModel()) load(report.model.emplace(), reader.getModel());
  report.modelBytes = bytes(reader.getModelBytes());
  return report;
}

AnswerReport load_answer(wire::AnswerReport::Reader reader) {
  AnswerReport report{.leaseToken = reader.getLeaseToken(), .body = bytes(reader.getBody())};
  load(report.model, reader.getModel());
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
    case wire::WorkerCommand::ASK:
      command.body = load_ask(reader.getAsk());
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
    case wire::WorkerReport::ANSWER:
      report.body = load_answer(reader.getAnswer());
      break;
  }
}

}  // namespace kedge::schema
