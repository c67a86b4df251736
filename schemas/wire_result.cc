// Results of jobs to and from Cap'n Proto.
#include "schemas/wire.h"

namespace kedge::schema {

static void store(const Score& score, wire::Score::Builder builder) {
  store(score.perFold, builder.initPerFold(score.perFold.size()));
  builder.setMean(score.mean);
  builder.setStd(score.std);
}

static void load(Score& score, wire::Score::Reader reader) {
  load(score.perFold, reader.getPerFold());
  score.mean = reader.getMean();
  score.std = reader.getStd();
}

static void store(const FoldTimings& fold, wire::FoldTimings::Builder builder) {
  builder.setFit(fold.fit);
  builder.setTransform(fold.transform);
  builder.setPredict(fold.predict);
  builder.setScore(fold.score);
}

static void load(FoldTimings& fold, wire::FoldTimings::Reader reader) {
  fold = {.fit = reader.getFit(),
          .transform = reader.getTransform(),
          .predict = reader.getPredict(),
          .score = reader.getScore()};
}

static void store(const StepTiming& step, wire::StepTiming::Builder builder) {
  builder.setName(Utf8(step.name));
  builder.setSeconds(step.seconds);
}

static void load(StepTiming& step, wire::StepTiming::Reader reader) {
  step = {.name = text(reader.getName()), .seconds = reader.getSeconds()};
}

static void store(const Timings& timings, wire::Timings::Builder builder) {
  builder.setQueued(timings.queued);
  builder.setDownload(timings.download);
  builder.setParse(timings.parse);
  builder.setLoad(timings.load);
  builder.setToDevice(timings.toDevice);
  builder.setPrepare(timings.prepare);
  builder.setFit(timings.fit);
  builder.setTransform(timings.transform);
  builder.setPredict(timings.predict);
  builder.setScore(timings.score);
  builder.setTotal(timings.total);
  store_list(timings.folds, builder.initFolds(timings.folds.size()));
  store_list(timings.steps, builder.initSteps(timings.steps.size()));
  builder.setCold(timings.cold);
}

static void load(Timings& timings, wire::Timings::Reader reader) {
  timings = {.queued = reader.getQueued(),
             .download = reader.getDownload(),
             .parse = reader.getParse(),
             .load = reader.getLoad(),
             .toDevice = reader.getToDevice(),
             .prepare = reader.getPrepare(),
             .fit = reader.getFit(),
             .transform = reader.getTransform(),
             .predict = reader.getPredict(),
             .score = reader.getScore(),
             .total = reader.getTotal(),
             .cold = reader.getCold()};
  load_list(timings.folds, reader.getFolds());
  load_list(timings.steps, reader.getSteps());
}

static void store(const DeviceReport& device, wire::DeviceReport::Builder builder) {
  builder.setKind(Utf8(device.kind));
  builder.setName(Utf8(device.name));
  builder.setDriver(Utf8(device.driver));
  builder.setThreads(device.threads);
}

static void load(DeviceReport& device, wire::DeviceReport::Reader reader) {
  device = {.kind = text(reader.getKind()),
            .name = text(reader.getName()),
            .driver = text(reader.getDriver()),
            .threads = reader.getThreads()};
}

static void store(const std::pair<std::string, Score>& score, wire::NamedScore::Builder builder) {
  builder.setName(Utf8(score.first));
  store(score.second, builder.initValue());
}

static void load(std::pair<std::string, Score>& score, wire::NamedScore::Reader reader) {
  score.first = text(reader.getName());
  load(score.second, reader.getValue());
}

static void store(const std::pair<std::string, ValueMap>& fitted, wire::NamedValueMap::Builder builder) {
  builder.setName(Utf8(fitted.first));
  store(fitted.second, builder.initValue(fitted.second.size()));
}

static void load(std::pair<std::string, ValueMap>& fitted, wire::NamedValueMap::Reader reader) {
  fitted.first = text(reader.getName());
  load(fitted.second, reader.getValue());
}

static void store(const SearchResult& search, wire::SearchResult::Builder builder) {
  builder.setBestIndex(search.bestIndex);
  store(search.bestParams, builder.initBestParams(search.bestParams.size()));
  builder.setBestScore(search.bestScore);
  builder.setRefit(search.refit);
  store(search.cvResults, builder.initCvResults(search.cvResults.size()));
}

static void load(SearchResult& search, wire::SearchResult::Reader reader) {
  search.bestIndex = reader.getBestIndex();
  load(search.bestParams, reader.getBestParams());
  search.bestScore = reader.getBestScore();
  search.refit = reader.getRefit();
  load(search.cvResults, reader.getCvResults());
}

static void store(const Artifact& artifact, wire::Artifact::Builder builder) {
  builder.setName(Utf8(artifact.name));
  builder.setBytes(artifact.bytes);
}

static void load(Artifact& artifact, wire::Artifact::Reader reader) {
  artifact = {.name = text(reader.getName()), .bytes = reader.getBytes()};
}

static void store(const MemoryReport& memory, wire::MemoryReport::Builder builder) {
  builder.setNeededBytes(memory.neededBytes);
  builder.setPredictedBytes(memory.predictedBytes);
  builder.setPeakBytes(memory.peakBytes);
}

static void load(MemoryReport& memory, wire::MemoryReport::Reader reader) {
  memory = {.neededBytes = reader.getNeededBytes(),
            .predictedBytes = reader.getPredictedBytes(),
            .peakBytes = reader.getPeakBytes()};
}

void store(const Result& result, wire::Result::Builder builder) {
  store_list(result.scores, builder.initScores(result.scores.size()));
  store_list(result.fitted, builder.initFitted(result.fitted.size()));
  store(result.classes, builder.initClasses(result.classes.size()));
  builder.setNSamples(result.nSamples);
  builder.setNFeatures(result.nFeatures);
  builder.setDtype(Utf8(result.dtype));
  store(result.timings, builder.initTimings());
  store(result.device, builder.initDevice());
  store(result.warnings, builder.initWarnings(result.warnings.size()));
  builder.setSeed(result.seed);
  builder.setVersion(Utf8(result.version));
  if (result.search) store(*result.search, builder.initSearch());
  if (!result.model.empty()) builder.setModel(Utf8(result.model));
  if (!result.artifacts.empty()) store_list(result.artifacts, builder.initArtifacts(result.artifacts.size()));
  if (!result.evaluation.empty()) store(result.evaluation, builder.initEvaluation(result.evaluation.size()));
  if (result.memory) store(*result.memory, builder.initMemory());
  if (!result.target.empty()) builder.setTarget(Utf8(result.target));
}

void load(Result& result, wire::Result::Reader reader) {
  load_list(result.scores, reader.getScores());
  load_list(result.fitted, reader.getFitted());
  load(result.classes, reader.getClasses());
  result.nSamples = reader.getNSamples();
  result.nFeatures = reader.getNFeatures();
  result.dtype = text(reader.getDtype());
  load(result.timings, reader.getTimings());
  load(result.device, reader.getDevice());
  load(result.warnings, reader.getWarnings());
  result.seed = reader.getSeed();
  result.version = text(reader.getVersion());
  if (reader.hasSearch()) load(result.search.emplace(), reader.getSearch());
  result.model = text(reader.getModel());
  load_list(result.artifacts, reader.getArtifacts());
  load(result.evaluation, reader.getEvaluation());
  if (reader.hasMemory()) load(result.memory.emplace(), reader.getMemory());
  result.target = text(reader.getTarget());
}

}  // namespace kedge::schema
