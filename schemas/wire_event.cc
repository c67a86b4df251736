// Events of a job to and from Cap'n Proto.
#include "schemas/wire.h"

namespace kedge::schema {
namespace {

struct BodyStorer {
  wire::Event::Builder builder;

  void operator()(const StateEvent& event) {
    auto state = builder.initState();
    state.setState(static_cast<wire::JobState>(event.state));
    if (!event.reason.empty()) state.setReason(Utf8(event.reason));
    if (event.error) store(*event.error, state.initError());
    if (!event.device.empty()) state.setDevice(Utf8(event.device));
  }
  void operator()(const ProgressEvent& event) {
    auto progress = builder.initProgress();
    progress.setPhase(Utf8(event.phase));
    progress.setDone(event.done);
    progress.setTotal(event.total);
    progress.setUnit(Utf8(event.unit));
    progress.setFold(event.fold);
  }
  void operator()(const MetricEvent& event) {
    auto metric = builder.initMetric();
    metric.setName(Utf8(event.name));
    metric.setValue(event.value);
    metric.setFold(event.fold);
  }
  void operator()(const TimingEvent& event) {
    auto timing = builder.initTiming();
    timing.setPhase(Utf8(event.phase));
    timing.setSeconds(event.seconds);
    timing.setFold(event.fold);
  }
  void operator()(const LogEvent& event) {
    auto log = builder.initLog();
    log.setLevel(Utf8(event.level));
    log.setMessage(Utf8(event.message));
  }
  void operator()(const ResultEvent& event) { store(event.result, builder.initResult()); }
  void operator()(const GapEvent& event) {
    auto gap = builder.initGap();
    gap.setFrom(event.from);
    gap.setTo(event.to);
    store(event.job, gap.initJob());
  }
};

StateEvent load_state(wire::StateEvent::Reader reader) {
  StateEvent event{.state = static_cast<JobState>(reader.getState()), .reason = text(reader.getReason()), .device = text(reader.getDevice())};
  if (reader.hasError()) load(event.error.emplace(), reader.getError());
  return event;
}

ProgressEvent load_progress(wire::ProgressEvent::Reader reader) {
  return {.phase = text(reader.getPhase()),
          .done = reader.getDone(),
          .total = reader.getTotal(),
          .unit = text(reader.getUnit()),
          .fold = reader.getFold()};
}

MetricEvent load_metric(wire::MetricEvent::Reader reader) {
  return {.name = text(reader.getName()), .value = reader.getValue(), .fold = reader.getFold()};
}

TimingEvent load_timing(wire::TimingEvent::Reader reader) {
  return {.phase = text(reader.getPhase()), .seconds = reader.getSeconds(), .fold = reader.getFold()};
}

LogEvent load_log(wire::LogEvent::Reader reader) {
  return {.level = text(reader.getLevel()), .message = text(reader.getMessage())};
}

GapEvent load_gap(wire::GapEvent::Reader reader) {
  GapEvent event{.from = reader.getFrom(), .to = reader.getTo()};
  load(event.job, reader.getJob());
  return event;
}

}  // namespace

void store(const EventBody& body, wire::Event::Builder builder) {
  std::visit(BodyStorer{builder}, body);
}

void load(EventBody& body, wire::Event::Reader reader) {
  switch (reader.which()) {
    case wire::Event::STATE:
      body = load_state(reader.getState());
      break;
    case wire::Event::PROGRESS:
      body = load_progress(reader.getProgress());
      break;
    case wire::Event::METRIC:
      body = load_metric(reader.getMetric());
      break;
    case wire::Event::TIMING:
      body = load_timing(reader.getTiming());
      break;
    case wire::Event::LOG:
      body = load_log(reader.getLog());
      break;
    case wire::Event::RESULT:
      load(body.emplace<ResultEvent>().result, reader.getResult());
      break;
    case wire::Event::GAP:
      body = load_gap(reader.getGap());
      break;
  }
}

void store(const Event& event, wire::Event::Builder builder) {
  builder.setId(event.id);
  builder.setTime(Utf8(event.time));
  store(event.body, builder);
}

void load(Event& event, wire::Event::Reader reader) {
  event.id = reader.getId();
  event.time = text(reader.getTime());
  load(event.body, reader);
}

}  // namespace kedge::schema
