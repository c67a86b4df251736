// Job specifications and jobs to and from Cap'n Proto.
#include "schemas/wire.h"

namespace kedge::schema {

static void store(const Step& step, wire::Step::Builder builder) {
  builder.setEstimator(Utf8(step.estimator));
  if (!step.params.empty()) store(step.params, builder.initParams(step.params.size()));
}

static void load(Step& step, wire::Step::Reader reader) {
  step.estimator = text(reader.getEstimator());
  load(step.params, reader.getParams());
}

struct TaskStorer {
  wire::Task::Builder builder;

  void operator()(const Fit&) { builder.initFit(); }
  void operator()(const FitScore& task) {
    auto fit = builder.initFitScore();
    if (task.testSize && !task.testSize->is_null()) store(*task.testSize, fit.initTestSize());
    if (task.trainSize && !task.trainSize->is_null()) store(*task.trainSize, fit.initTrainSize());
    fit.setShuffle(task.shuffle);
    fit.setStratify(task.stratify);
    if (task.randomState) fit.initRandomState().setValue(*task.randomState);
    store(task.scoring, fit.initScoring(task.scoring.size()));
  }
  void operator()(const CrossValidate& task) {
    auto cv = builder.initCrossValidate();
    cv.setCv(task.cv);
    cv.setSplitter(Utf8(task.splitter));
    cv.setShuffle(task.shuffle);
    if (task.randomState) cv.initRandomState().setValue(*task.randomState);
    store(task.scoring, cv.initScoring(task.scoring.size()));
    cv.setReturnTrainScore(task.returnTrainScore);
  }
};

// Null counts as absent, as in JSON.
static void load_unless_null(std::optional<Value>& value, wire::Value::Reader reader) {
  load(value.emplace(), reader);
  if (value->is_null()) value.reset();
}

static FitScore load_fit_score(wire::FitScore::Reader reader) {
  FitScore task{.shuffle = reader.getShuffle(), .stratify = reader.getStratify()};
  if (reader.hasTestSize()) load_unless_null(task.testSize, reader.getTestSize());
  if (reader.hasTrainSize()) load_unless_null(task.trainSize, reader.getTrainSize());
  if (reader.hasRandomState()) task.randomState = reader.getRandomState().getValue();
  load(task.scoring, reader.getScoring());
  return task;
}

static CrossValidate load_cross_validate(wire::CrossValidate::Reader reader) {
  CrossValidate task{.cv = reader.getCv(),
                     .splitter = text(reader.getSplitter()),
                     .shuffle = reader.getShuffle(),
                     .returnTrainScore = reader.getReturnTrainScore()};
  if (reader.hasRandomState()) task.randomState = reader.getRandomState().getValue();
  load(task.scoring, reader.getScoring());
  return task;
}

static void load(Task& task, wire::Task::Reader reader) {
  switch (reader.which()) {
    case wire::Task::FIT:
      task = Fit{};
      break;
    case wire::Task::FIT_SCORE:
      task = load_fit_score(reader.getFitScore());
      break;
    case wire::Task::CROSS_VALIDATE:
      task = load_cross_validate(reader.getCrossValidate());
      break;
  }
}

void store(const JobSpec& spec, wire::JobSpec::Builder builder) {
  store(spec.dataset, builder.initDataset());
  if (spec.select != Select{}) store(spec.select, builder.initSelect());
  store_list(spec.pipeline, builder.initPipeline(spec.pipeline.size()));
  std::visit(TaskStorer{builder.initTask()}, spec.task);
  builder.setDevice(Utf8(spec.device));
}

void load(JobSpec& spec, wire::JobSpec::Reader reader) {
  load(spec.dataset, reader.getDataset());
  load(spec.select, reader.getSelect());
  load_list(spec.pipeline, reader.getPipeline());
  load(spec.task, reader.getTask());
  spec.device = text(reader.getDevice());
}

void store(const Job& job, wire::Job::Builder builder) {
  builder.setId(Utf8(job.id));
  builder.setState(static_cast<wire::JobState>(job.state));
  if (!job.reason.empty()) builder.setReason(Utf8(job.reason));
  if (job.error) store(*job.error, builder.initError());
  store(job.spec, builder.initSpec());
  builder.setAttempts(job.attempts);
  if (!job.created.empty()) builder.setCreated(Utf8(job.created));
  if (!job.started.empty()) builder.setStarted(Utf8(job.started));
  if (!job.ended.empty()) builder.setEnded(Utf8(job.ended));
  if (job.result) store(*job.result, builder.initResult());
}

void load(Job& job, wire::Job::Reader reader) {
  job.id = text(reader.getId());
  job.state = static_cast<JobState>(reader.getState());
  job.reason = text(reader.getReason());
  if (reader.hasError()) load(job.error.emplace(), reader.getError());
  load(job.spec, reader.getSpec());
  job.attempts = reader.getAttempts();
  job.created = text(reader.getCreated());
  job.started = text(reader.getStarted());
  job.ended = text(reader.getEnded());
  if (reader.hasResult()) load(job.result.emplace(), reader.getResult());
}

void store(const JobPage& page, wire::JobPage::Builder builder) {
  store_list(page.jobs, builder.initJobs(page.jobs.size()));
  if (!page.nextPageToken.empty()) builder.setNextPageToken(Utf8(page.nextPageToken));
}

void load(JobPage& page, wire::JobPage::Reader reader) {
  load_list(page.jobs, reader.getJobs());
  page.nextPageToken = text(reader.getNextPageToken());
}

}  // namespace kedge::schema
