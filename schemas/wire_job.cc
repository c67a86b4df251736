// Job specifications and jobs to and from Cap'n Proto.
#include "schemas/wire.h"

namespace kedge::schema {

void store(const Step& step, wire::Step::Builder builder) {
  builder.setEstimator(Utf8(step.estimator));
  if (!step.params.empty()) store(step.params, builder.initParams(step.params.size()));
  if (!step.name.empty()) builder.setName(Utf8(step.name));
}

void load(Step& step, wire::Step::Reader reader) {
  step.estimator = text(reader.getEstimator());
  load(step.params, reader.getParams());
  step.name = text(reader.getName());
}

static void store(const CrossValidate& task, wire::CrossValidate::Builder cv) {
  cv.setCv(task.cv);
  cv.setSplitter(Utf8(task.splitter));
  cv.setShuffle(task.shuffle);
  if (task.randomState) cv.initRandomState().setValue(*task.randomState);
  store(task.scoring, cv.initScoring(task.scoring.size()));
  cv.setReturnTrainScore(task.returnTrainScore);
  if (task.nRepeats) cv.initNRepeats().setValue(*task.nRepeats);
  if (task.testSize && !task.testSize->is_null()) store(*task.testSize, cv.initTestSize());
  if (task.trainSize && !task.trainSize->is_null()) store(*task.trainSize, cv.initTrainSize());
  if (task.gap) cv.initGap().setValue(*task.gap);
  if (task.maxTrainSize) cv.initMaxTrainSize().setValue(*task.maxTrainSize);
  cv.setConfusionMatrix(task.confusionMatrix);
  cv.setCurves(task.curves);
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
    fit.setConfusionMatrix(task.confusionMatrix);
    fit.setCurves(task.curves);
  }
  void operator()(const CrossValidate& task) { store(task, builder.initCrossValidate()); }
  void operator()(const GridSearch& task) {
    auto search = builder.initGridSearch();
    store(task.paramGrid, search.initParamGrid());
    store_common(task, search);
    if (task.refit != Value(true)) store(task.refit, search.initRefit());
  }
  void operator()(const RandomizedSearch& task) {
    auto search = builder.initRandomizedSearch();
    store(task.paramDistributions, search.initParamDistributions());
    search.setNIter(task.nIter);
    if (task.randomState) search.initRandomState().setValue(*task.randomState);
    store_common(task, search);
    if (task.refit != Value(true)) store(task.refit, search.initRefit());
  }
  void operator()(const HalvingGridSearch& task) {
    auto search = builder.initHalvingGridSearch();
    store(task.paramGrid, search.initParamGrid());
    search.setFactor(task.factor);
    search.setResource(Utf8(task.resource));
    if (task.minResources != HalvingGridSearch{}.minResources) store(task.minResources, search.initMinResources());
    if (task.maxResources) search.initMaxResources().setValue(*task.maxResources);
    search.setAggressiveElimination(task.aggressiveElimination);
    if (task.randomState) search.initRandomState().setValue(*task.randomState);
    store_common(task, search);
    search.setRefit(task.refit);
  }

  template <class Search, class Builder>
  static void store_common(const Search& task, Builder& search) {
    if (task.crossValidate != CrossValidate{}) store(task.crossValidate, search.initCrossValidate());
    if (task.errorScore != Search{}.errorScore) store(task.errorScore, search.initErrorScore());
  }
  void operator()(const Predict& task) {
    auto predict = builder.initPredict();
    predict.setModel(Utf8(task.model));
    predict.setOutput(Utf8(task.output));
    predict.setFormat(Utf8(task.format));
  }
  void operator()(const Transform& task) {
    auto transform = builder.initTransform();
    transform.setModel(Utf8(task.model));
    transform.setFormat(Utf8(task.format));
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
  task.confusionMatrix = reader.getConfusionMatrix();
  task.curves = reader.getCurves();
  return task;
}

static CrossValidate load_cross_validate(wire::CrossValidate::Reader reader) {
  CrossValidate task{.cv = reader.getCv(),
                     .splitter = text(reader.getSplitter()),
                     .shuffle = reader.getShuffle(),
                     .returnTrainScore = reader.getReturnTrainScore()};
  if (reader.hasRandomState()) task.randomState = reader.getRandomState().getValue();
  load(task.scoring, reader.getScoring());
  if (reader.hasNRepeats()) task.nRepeats = reader.getNRepeats().getValue();
  if (reader.hasTestSize()) load_unless_null(task.testSize, reader.getTestSize());
  if (reader.hasTrainSize()) load_unless_null(task.trainSize, reader.getTrainSize());
  if (reader.hasGap()) task.gap = reader.getGap().getValue();
  if (reader.hasMaxTrainSize()) task.maxTrainSize = reader.getMaxTrainSize().getValue();
  task.confusionMatrix = reader.getConfusionMatrix();
  task.curves = reader.getCurves();
  return task;
}

// Absent and null leave the default of a search's field.
static void load_if_set(Value& value, wire::Value::Reader reader) {
  Value given;
  load(given, reader);
  if (!given.is_null()) value = std::move(given);
}

template <class Search, class Reader>
static void load_common(Search& task, Reader reader) {
  if (reader.hasCrossValidate()) task.crossValidate = load_cross_validate(reader.getCrossValidate());
  if (reader.hasErrorScore()) load_if_set(task.errorScore, reader.getErrorScore());
}

static GridSearch load_grid_search(wire::GridSearch::Reader reader) {
  GridSearch task;
  load(task.paramGrid, reader.getParamGrid());
  load_common(task, reader);
  if (reader.hasRefit()) load_if_set(task.refit, reader.getRefit());
  return task;
}

static RandomizedSearch load_randomized_search(wire::RandomizedSearch::Reader reader) {
  RandomizedSearch task;
  load(task.paramDistributions, reader.getParamDistributions());
  task.nIter = reader.getNIter();
  if (reader.hasRandomState()) task.randomState = reader.getRandomState().getValue();
  load_common(task, reader);
  if (reader.hasRefit()) load_if_set(task.refit, reader.getRefit());
  return task;
}

static HalvingGridSearch load_halving_grid_search(wire::HalvingGridSearch::Reader reader) {
  HalvingGridSearch task;
  load(task.paramGrid, reader.getParamGrid());
  task.factor = reader.getFactor();
  task.resource = text(reader.getResource());
  if (reader.hasMinResources()) load_if_set(task.minResources, reader.getMinResources());
  if (reader.hasMaxResources()) task.maxResources = reader.getMaxResources().getValue();
  task.aggressiveElimination = reader.getAggressiveElimination();
  if (reader.hasRandomState()) task.randomState = reader.getRandomState().getValue();
  load_common(task, reader);
  task.refit = reader.getRefit();
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
    case wire::Task::GRID_SEARCH:
      task = load_grid_search(reader.getGridSearch());
      break;
    case wire::Task::RANDOMIZED_SEARCH:
      task = load_randomized_search(reader.getRandomizedSearch());
      break;
    case wire::Task::HALVING_GRID_SEARCH:
      task = load_halving_grid_search(reader.getHalvingGridSearch());
      break;
    case wire::Task::PREDICT: {
      const auto predict = reader.getPredict();
      task = Predict{text(predict.getModel()), text(predict.getOutput()), text(predict.getFormat())};
      break;
    }
    case wire::Task::TRANSFORM: {
      const auto transform = reader.getTransform();
      task = Transform{text(transform.getModel()), text(transform.getFormat())};
      break;
    }
  }
}

const std::string* model_of(const Task& task) {
  if (const auto* predict = std::get_if<Predict>(&task)) return &predict->model;
  const auto* transform = std::get_if<Transform>(&task);
  return transform ? &transform->model : nullptr;
}

void store(const JobSpec& spec, wire::JobSpec::Builder builder) {
  store(spec.dataset, builder.initDataset());
  if (spec.select != Select{}) store(spec.select, builder.initSelect());
  if (!model_of(spec.task) || !spec.pipeline.empty()) store_list(spec.pipeline, builder.initPipeline(spec.pipeline.size()));
  std::visit(TaskStorer{builder.initTask()}, spec.task);
  builder.setDevice(Utf8(spec.device));
  if (spec.deadlines == Deadlines{}) return;
  auto deadlines = builder.initDeadlines();
  deadlines.setQueue(spec.deadlines.queue);
  deadlines.setFetch(spec.deadlines.fetch);
  deadlines.setRun(spec.deadlines.run);
}

void load(JobSpec& spec, wire::JobSpec::Reader reader) {
  load(spec.dataset, reader.getDataset());
  load(spec.select, reader.getSelect());
  load_list(spec.pipeline, reader.getPipeline());
  load(spec.task, reader.getTask());
  if (!reader.hasPipeline() && !model_of(spec.task))
    throw Error{ErrorCode::kInvalidValue, "pipeline: is required", "pipeline"};
  spec.device = text(reader.getDevice());
  const auto deadlines = reader.getDeadlines();
  spec.deadlines = {.queue = deadlines.getQueue(), .fetch = deadlines.getFetch(), .run = deadlines.getRun()};
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
