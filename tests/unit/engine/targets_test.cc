// Jobs with several target columns through Pipeline::run(): scikit-learn's numbers, stored models, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "engine/model/stored_model.h"
#include "engine/pipeline.h"
#include "engine/table/preview.h"
#include "schemas/codec.h"
#include "tests/unit/engine/builtin_data.h"
#include "tests/unit/engine/golden_cases.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::JobSpec;
using schema::Value;
using schema::ValueList;
using schema::ValueMap;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Opens anew each time; nothing is fetched.
DatasetFile dataset(const schema::DatasetRef& ref) {
  static const TemporaryFolder folder;
  static server::DatasetCache cache({.directory = folder.path()});
  return DatasetFile(cache.acquire(ref, [](schema::EventBody) {}, {}).path);
}

schema::Result run(const JobSpec& spec, RunFiles* files = nullptr) {
  return Pipeline::build(spec).run({.device = cpu()}, dataset(spec.dataset), {}, files);
}

std::vector<double> numbers_of(const Value& list) {
  if (const auto* flat = std::get_if<std::vector<double>>(&list.data)) return *flat;
  std::vector<double> numbers;
  for (const Value& item : std::get<ValueList>(list.data)) numbers.push_back(number(item));
  return numbers;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-9 * std::max(1.0, std::abs(expected[i]))) << what << ", fold " << i;
}

const Value* find(const ValueMap& map, std::string_view key) {
  for (const auto& [name, value] : map)
    if (name == key) return &value;
  return nullptr;
}

const ValueMap& map_at(const ValueMap& map, std::string_view key) {
  return std::get<ValueMap>(at(map, key).data);
}

class GoldenTargets : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenTargets, AgreesWithScikitLearn) {
  const ValueMap& golden = GetParam().values;
  const schema::Result result = run(schema::from_json<JobSpec>(schema::value_to_json(at(golden, "spec"))));
  EXPECT_EQ(result.targets.size(),
            std::get<ValueList>(at(map_at(map_at(golden, "spec"), "select"), "targets").data).size());
  EXPECT_EQ(result.target, "");
  if (const Value* scores = find(golden, "scores")) {
    for (const auto& [name, expected] : std::get<ValueMap>(scores->data)) {
      const auto found = std::ranges::find(result.scores, name, &std::pair<std::string, schema::Score>::first);
      ASSERT_NE(found, result.scores.end()) << name;
      expect_near(found->second.perFold, numbers_of(expected), name);
    }
    for (const auto& [target, by_scorer] : map_at(golden, "outputs"))
      for (const auto& [name, expected] : std::get<ValueMap>(by_scorer.data))
        expect_near(numbers_of(at(map_at(map_at(map_at(result.evaluation, "outputs"), target), name), "perFold")),
                    numbers_of(expected), target + ": " + name);
  }
  if (const Value* best = find(golden, "best")) {
    EXPECT_EQ(result.search.value().bestParams, std::get<ValueMap>(best->data));
    EXPECT_NEAR(result.search->bestScore, number(at(golden, "bestScore")), 1e-9);
  }
  if (const Value* evaluation = find(golden, "evaluation")) {
    const ValueMap& expected = map_at(std::get<ValueMap>(evaluation->data), "learning_curve");
    const ValueMap& found = map_at(result.evaluation, "learning_curve");
    const auto& theirs = std::get<ValueList>(at(map_at(expected, "test_scores"), "r2").data);
    const auto& ours = std::get<ValueList>(at(map_at(found, "test_scores"), "r2").data);
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < theirs.size(); ++i) expect_near(numbers_of(ours[i]), numbers_of(theirs[i]), "r2");
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenTargets,
                         ::testing::ValuesIn(golden_cases(KEDGE_SOURCE_FOLDER "/targets_golden.json")),
                         [](const auto& info) { return info.param.name; });

constexpr const char* kTable =
    "a,b,kind,big,size,weight\n0,1,0,no,1.5,1\n0.2,1.1,0,no,1.6,1\n0.1,3,0,yes,5.5,2\n5,1,1,no,2.5,1\n5.1,3,1,yes,6.5,1\n"
    "5.2,3.1,1,yes,6.6,2\n9,1,2,no,3.5,1\n9.1,3,2,yes,7.5,1\n9.2,1.2,2,no,3.6,1\n";

JobSpec spec(std::vector<std::string> targets, const std::string& estimator, schema::Task task = schema::Fit{}) {
  return {.dataset = {schema::InlineRef{.csv = kTable}},
          .select = {.columns = {"a", "b"}, .targets = std::move(targets)},
          .pipeline = {{"StandardScaler", {}}, {estimator, {}}},
          .task = std::move(task)};
}

JobSpec classes(schema::Task task = schema::Fit{}) {
  JobSpec job = spec({"kind", "big"}, "MultiOutputClassifier", std::move(task));
  job.pipeline[1].params = {{"estimator", ValueMap{{"estimator", "GaussianNB"}}}};
  return job;
}

JobSpec values(schema::Task task = schema::Fit{}) {
  return spec({"size", "weight"}, "MultiOutputRegressor", std::move(task));
}

// The positions in the order of select.targets are 1, 0.
JobSpec chained(const std::string& kind, schema::Task task = schema::Fit{}) {
  JobSpec job = kind == "Classifier" ? classes(std::move(task)) : values(std::move(task));
  job.pipeline[1].estimator = kind + "Chain";
  job.pipeline[1].params.emplace_back("order", ValueList{1, 0});
  return job;
}

// A model of the job.
struct Fitted {
  explicit Fitted(const JobSpec& job) : files{.model_file = folder.path() / "model.kedge"} {
    result = run(job, &files);
    model = StoredModel::load(ctx, files.model_file);
  }
  std::string said(const std::string& body, std::string_view output = "predict", std::string_view accept = "text/csv") {
    const ModelRows rows = rows_of_body(model->info(), "text/csv", body);
    return encoded_answer(model->answer(ctx, rows, output), accept);
  }
  Context ctx{.device = cpu()};
  TemporaryFolder folder;
  RunFiles files;
  schema::Result result;
  std::unique_ptr<StoredModel> model;
};

TEST(Targets, NameColumnsAndClassesOfResultAndModel) {
  const Fitted fitted(classes());
  const std::vector<schema::TargetColumn> expected{{"kind", {"0", "1", "2"}}, {"big", {"no", "yes"}}};
  EXPECT_EQ(fitted.result.targets, expected);
  EXPECT_EQ(fitted.model->info().targets, expected);
  EXPECT_TRUE(fitted.result.classes.empty() && fitted.model->info().classes.empty());
  EXPECT_EQ(fitted.model->info().target, "");
  EXPECT_EQ(fitted.model->info().columns.size(), 2u);
  EXPECT_THAT(fitted.model->info().outputs, ElementsAre("predict", "predict_proba"));
}

TEST(Targets, AreAnsweredInEveryForm) {
  Fitted fitted(classes());
  const std::string rows = "a,b\n0,1\n9,3\n";
  EXPECT_EQ(fitted.said(rows), "kind,big\n0,no\n2,yes\n");
  EXPECT_EQ(fitted.said(rows, "predict", "application/json"),
            "{\"columns\":[\"kind\",\"big\"],\"values\":[[\"0\",\"no\"],[\"2\",\"yes\"]]}\n");
  EXPECT_THAT(fitted.said(rows, "predict", "application/x-npy"), HasSubstr("'shape': (2,2)"));
  EXPECT_THAT(fitted.said(rows, "predict_proba"), HasSubstr("kind:0,kind:1,kind:2,big:no,big:yes\n"));
}

TEST(Targets, OfWholeNumbersAreAnsweredAsNumbers) {
  JobSpec job = classes();
  job.select.targets = {"kind", "weight"};
  Fitted fitted(job);
  EXPECT_THAT(fitted.said("a,b\n9,1\n", "predict", "application/json"), HasSubstr("\"values\":[[2,"));
}

TEST(Targets, OfNumbersAreAnsweredAsColumns) {
  Fitted fitted(values());
  EXPECT_THAT(fitted.said("a,b\n0,1\n"), ::testing::StartsWith("size,weight\n1."));
  EXPECT_THAT(fitted.model->info().outputs, ElementsAre("predict"));
}

TEST(Chains, AnswerByTargetWhateverTheirOrder) {
  Fitted fitted(chained("Classifier"));
  const std::vector<schema::TargetColumn> expected{{"kind", {"0", "1", "2"}}, {"big", {"no", "yes"}}};
  EXPECT_EQ(fitted.model->info().targets, expected);
  EXPECT_EQ(fitted.said("a,b\n0,1\n9,3\n"), "kind,big\n0,no\n2,yes\n");
  EXPECT_THAT(fitted.said("a,b\n0,1\n", "predict_proba"), HasSubstr("kind:0,kind:1,kind:2,big:no,big:yes\n"));
  const ValueMap& attributes = fitted.result.fitted.back().second;
  EXPECT_EQ(at(attributes, "order_"), Value(ValueList{1, 0}));
  EXPECT_EQ(at(attributes, "chain_method_"), Value("predict"));
  EXPECT_EQ(at(attributes, "classes_"), Value(ValueList{ValueList{"no", "yes"}, ValueList{"0", "1", "2"}}));
}

// The first link reads the two features alone, the second one what the first passes on, too.
TEST(Chains, ReadTheTargetsBeforeTheirOwn) {
  const schema::Result result = run(chained("Regressor"));
  const auto& links = std::get<ValueList>(at(result.fitted.back().second, "estimators_").data);
  EXPECT_EQ(numbers_of(at(std::get<ValueMap>(links[0].data), "coef_")).size(), 2u);
  EXPECT_EQ(numbers_of(at(std::get<ValueMap>(links[1].data), "coef_")).size(), 3u);
}

TEST(Chains, DrawTheirOrderByTheSeed) {
  const auto drawn = [](const ValueMap& more) {
    JobSpec job = spec({"kind", "big", "weight"}, "ClassifierChain");
    job.pipeline[1].params = {{"order", "random"}, {"estimator", ValueMap{{"estimator", "GaussianNB"}}}};
    for (const auto& param : more) job.pipeline[1].params.push_back(param);
    const schema::Result result = run(job);
    return std::pair(numbers_of(at(result.fitted.back().second, "order_")), result.seed);
  };
  // numpy.random.RandomState(seed).permutation(3)
  EXPECT_THAT(drawn({{"random_state", 0}}).first, ElementsAre(2, 1, 0));
  EXPECT_THAT(drawn({{"random_state", 1}}).first, ElementsAre(0, 2, 1));
  const auto [order, seed] = drawn({});   // that of the job
  EXPECT_EQ(drawn({{"random_state", seed & 0xffffffff}}).first, order);
}

TEST(Chains, OfASpoiledModelAreRefused) {
  const Fitted fitted(chained("Classifier"));
  const ModelFile whole(fitted.files.model_file);
  std::string tensors(reinterpret_cast<const char*>(whole.tensors().data()), whole.tensors().size());
  const std::string order("\1\0\0\0\0\0\0\0", 8);
  const std::size_t place = tensors.find(order);
  ASSERT_NE(place, std::string::npos);
  for (const auto& [first, words] :
       std::vector<std::pair<char, const char*>>{{0, "'order' has a position twice"}, {2, "'order'"}}) {
    tensors[place] = first;
    const std::filesystem::path path = fitted.folder.path() / "spoiled.kedge";
    ModelFileWriter writer(path);
    writer.state() = std::string(reinterpret_cast<const char*>(whole.state().data()), whole.state().size());
    writer.add_tensor(std::as_bytes(std::span(tensors)));
    writer.finish(whole.info());
    try {
      StoredModel::load(fitted.ctx, path);
      ADD_FAILURE() << "it was loaded";
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::kModelCorrupt);
      EXPECT_THAT(error.message, HasSubstr(words));
    }
  }
}

TEST(Targets, OfAModelThatDoesNotFitThemAreRefused) {
  const Fitted fitted(classes());
  for (const auto& spoil : std::vector<std::function<void(schema::ModelInfo&)>>{
           [](schema::ModelInfo& info) { info.targets.clear(); },
           [](schema::ModelInfo& info) { info.targets.pop_back(); },
           [](schema::ModelInfo& info) { info.targets[1].classes.pop_back(); },
           [](schema::ModelInfo& info) { info.targets[0].classes.clear(); }}) {
    const ModelFile whole(fitted.files.model_file);
    schema::ModelInfo info = whole.info();
    spoil(info);
    const std::filesystem::path path = fitted.folder.path() / "spoiled.kedge";
    ModelFileWriter writer(path);
    writer.state() = std::string(reinterpret_cast<const char*>(whole.state().data()), whole.state().size());
    writer.add_tensor(whole.tensors());
    writer.finish(info);
    try {
      StoredModel::load(fitted.ctx, path);
      ADD_FAILURE() << "it was loaded";
    } catch (const Error& error) {
      EXPECT_EQ(error.code, ErrorCode::kModelCorrupt);
      EXPECT_THAT(error.message, HasSubstr("targets"));
    }
  }
}

TEST(Targets, AreNoFeaturesAndHaveTheirRoleInAPreview) {
  JobSpec job = values();
  job.select.columns.clear(), job.select.types = {{"kind", "drop"}, {"big", "drop"}};
  EXPECT_EQ(run(job).nFeatures, 2);
  const schema::DatasetPreview preview =
      preview_of({.dataset = job.dataset, .select = job.select}, dataset(job.dataset), 2);
  std::vector<std::string> roles;
  for (const schema::PreviewColumn& column : preview.columns) roles.push_back(column.role);
  EXPECT_THAT(roles, ElementsAre("feature", "feature", "leftOut", "leftOut", "target", "target"));
}

TEST(Chains, TakeWeights) {
  JobSpec job = chained("Regressor");
  job.select.targets = {"size", "kind"}, job.select.weights = "weight";
  const schema::Result weighted = run(job);
  job.select.weights.reset();
  EXPECT_NE(weighted.fitted.back().second, run(job).fitted.back().second);
}

// The classes are known when the data are.
TEST(Targets, OfThreeClassesHaveNoScoresOfLabels) {
  try {
    run(classes(schema::CrossValidate{.cv = 2, .scoring = {"accuracy", "f1_macro"}}));
    ADD_FAILURE() << "it ran";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
    EXPECT_EQ(error.where, "task");
    EXPECT_THAT(error.message, HasSubstr("'f1_macro' of several targets takes two classes of each, 'kind' has 3"));
  }
}

TEST(Targets, OfLabelsWarnOfSharesOfNothing) {
  JobSpec job = classes(schema::FitScore{.testSize = 2, .shuffle = false, .scoring = {"precision_macro", "roc_auc"}});
  job.dataset = {
      schema::InlineRef{.csv = "a,b,kind,big\n0,1,x,no\n5,2,x,yes\n1,1,y,no\n6,2,y,yes\n0,2,x,no\n1,1,x,no\n"}};
  EXPECT_THAT(run(job).warnings, ::testing::IsSupersetOf({"precision_macro: is 0 in labels with no predicted samples",
                                                          "roc_auc: the area of a column with one class is NaN"}));
}

TEST(Targets, TakeWeights) {
  JobSpec job = spec({"size", "kind"}, "MultiOutputRegressor");
  job.select.weights = "weight";
  const schema::Result weighted = run(job);
  job.select.weights.reset();
  EXPECT_NE(weighted.fitted.back().second, run(job).fitted.back().second);
}

struct Refused {
  std::string name;
  std::function<JobSpec()> job;
  std::string where, words;
  friend void PrintTo(const Refused& c, std::ostream* out) { *out << c.name; }
};

JobSpec changed(JobSpec job, const std::function<void(JobSpec&)>& change) {
  change(job);
  return job;
}

const std::vector<Refused> kRefused = {
    {"One", [] { return spec({"kind"}, "MultiOutputClassifier"); }, "select.targets", "must have at least 2"},
    {"Twice", [] { return spec({"kind", "kind"}, "MultiOutputClassifier"); }, "select.targets[1]",
     "'kind' is named twice"},
    {"WithTarget", [] { return changed(classes(), [](JobSpec& s) { s.select.target = "size"; }); }, "select.targets",
     "target and targets are both given"},
    {"AsFeature", [] { return changed(classes(), [](JobSpec& s) { s.select.columns = {"a", "big"}; }); },
     "select.targets[1]", "select.columns names it"},
    {"AsWeights", [] { return changed(values(), [](JobSpec& s) { s.select.weights = "weight"; }); },
     "select.targets[1]", "select.weights names it"},
    {"OfOneTarget", [] { return spec({"kind", "big"}, "GaussianNB"); }, "select.targets",
     "select.targets names 2 columns, GaussianNB fits one: MultiOutputClassifier"},
    {"OfNoTarget", [] { return spec({"kind", "big"}, "PCA"); }, "select.targets", "PCA fits none"},
    {"NotNamed", [] { return spec({}, "MultiOutputRegressor"); }, "select.targets",
     "MultiOutputRegressor fits several target columns: name them in select.targets"},
    {"StepThatReadsOne", [] { return changed(classes(), [](JobSpec& s) { s.pipeline[0] = {"SelectKBest", {}}; }); },
     "select.targets", "SelectKBest reads one"},
    {"Scorer", [] { return classes(schema::FitScore{.scoring = {"f1"}}); }, "task.fitScore.scoring[0]",
     "'f1' scores one target, select.targets names several: take accuracy, f1_macro, f1_micro, f1_samples"},
    {"ScorerOfLabelsOfOneTarget",
     [] {
       return changed(spec({}, "GaussianNB", schema::FitScore{.scoring = {"f1_samples"}}),
                      [](JobSpec& s) { s.select.target = "kind"; });
     },
     "task.fitScore.scoring[0]", "'f1_samples' scores several columns of labels, GaussianNB has one target"},
    {"ScorerOfProbabilities",
     [] {
       return changed(classes(schema::FitScore{.scoring = {"roc_auc"}}),
                      [](JobSpec& s) { s.pipeline[1].params = {{"estimator", ValueMap{{"estimator", "LinearSVC"}}}}; });
     },
     "task.fitScore.scoring[0]",
     "'roc_auc' needs a decision function or probabilities, MultiOutputClassifier has neither"},
    {"ScorerOfNumbers", [] { return values(schema::CrossValidate{.scoring = {"r2", "neg_max_error"}}); },
     "task.crossValidate.scoring[1]", "take d2_absolute_error_score, explained_variance"},
    {"Stratify", [] { return classes(schema::FitScore{.stratify = true}); }, "task.fitScore.stratify",
     "select.targets"},
    {"Splitter", [] { return classes(schema::CrossValidate{.splitter = "StratifiedKFold"}); }, "select.targets",
     "'StratifiedKFold'"},
    {"ConfusionMatrix", [] { return classes(schema::CrossValidate{.confusionMatrix = true}); },
     "task.crossValidate.confusionMatrix", "select.targets"},
    {"Curves", [] { return classes(schema::FitScore{.curves = true}); }, "task.fitScore.curves", "select.targets"},
    {"PermutationTest", [] { return values(schema::PermutationTestScore{}); }, "select.targets",
     "permutationTestScore takes one"},
    {"Importance", [] { return values(schema::PermutationImportance{}); }, "select.targets",
     "permutationImportance takes one"},
    {"Dependence", [] { return values(schema::PartialDependence{.features = {0}}); }, "select.targets",
     "partialDependence takes one"},
    {"Halving",
     [] {
       return values(schema::HalvingGridSearch{.paramGrid = ValueMap{{"standardscaler__with_mean", ValueList{true}}}});
     },
     "select.targets", "halvingGridSearch takes one"},
    {"Candidate",
     [] {
       return values(schema::GridSearch{
           .paramGrid = ValueMap{{"multioutputregressor", ValueList{ValueMap{{"estimator", "Ridge"}}}}}});
     },
     "task.gridSearch.paramGrid", "select.targets names 2 columns, Ridge fits one: MultiOutputRegressor"},
    {"StoredModel",
     [] {
       JobSpec job = values(schema::Predict{.model = "mdl_1"});
       job.pipeline.clear(), job.select.columns.clear();
       return job;
     },
     "select.targets", "select.targets is the model's own"},
    {"ChainNotNamed", [] { return spec({}, "ClassifierChain"); }, "select.targets",
     "ClassifierChain fits several target columns: name them in select.targets"},
    {"OrderOfOthers",
     [] {
       return changed(chained("Regressor"), [](JobSpec& s) { s.pipeline[1].params = {{"order", ValueList{2, 0, 1}}}; });
     },
     "select.targets", "select.targets names 2 columns, order of RegressorChain has 3"},
    {"OrderTwice",
     [] {
       return changed(chained("Regressor"), [](JobSpec& s) { s.pipeline[1].params = {{"order", ValueList{1, 1}}}; });
     },
     "pipeline[1].params.order", "RegressorChain: order is [1,1], must have each of 0 to 1 once"},
    {"OrderOfACandidate",
     [] {
       return chained("Regressor",
                      schema::GridSearch{.paramGrid = ValueMap{{"regressorchain__order",
                                                                ValueList{ValueList{0, 1}, ValueList{0, 2, 1}}}}});
     },
     "task.gridSearch.paramGrid", "order of RegressorChain has 3"},
    {"FoldsOfAChain",
     [] { return changed(chained("Regressor"), [](JobSpec& s) { s.pipeline[1].params = {{"cv", 1}}; }); },
     "pipeline[1].params.cv", "cv is 1, must be an integer at least 2 or null"},
    {"ChainMethod",
     [] {
       return changed(chained("Classifier"),
                      [](JobSpec& s) { s.pipeline[1].params.emplace_back("chain_method", "decision_function"); });
     },
     "pipeline[1].params.chain_method", "chain_method is \"decision_function\", but GaussianNB has none"},
    {"ChainMethods",
     [] {
       return changed(chained("Classifier"), [](JobSpec& s) {
         s.pipeline[1].params = {{"chain_method", ValueList{"predict_proba", "predict_log_proba"}},
                                 {"estimator", ValueMap{{"estimator", "LinearSVC"}}}};
       });
     },
     "pipeline[1].params.chain_method", "but LinearSVC has none"},
    {"ChainInAChain",
     [] {
       return changed(chained("Regressor"), [](JobSpec& s) {
         s.pipeline[1].params = {{"estimator", ValueMap{{"estimator", "RegressorChain"}}}};
       });
     },
     "pipeline[1].params.estimator", "is a regressor of several targets, must be a regressor"},
    {"Nested",
     [] {
       return changed(classes(), [](JobSpec& s) {
         s.pipeline[1].params = {{"estimator", ValueMap{{"estimator", "MultiOutputClassifier"}}}};
       });
     },
     "pipeline[1].params.estimator", "is a classifier of several targets, must be a classifier"}};

class RefusedTargets : public ::testing::TestWithParam<Refused> {};

// Without data.
TEST_P(RefusedTargets, SayWhereAndWhy) {
  try {
    Pipeline::build(GetParam().job());
    ADD_FAILURE() << "it was built";
  } catch (const Error& error) {
    EXPECT_EQ(error.where, GetParam().where);
    EXPECT_THAT(error.message, HasSubstr(GetParam().words));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, RefusedTargets, ::testing::ValuesIn(kRefused),
                         [](const auto& info) { return info.param.name; });

JobSpec with_params(JobSpec job, ValueMap params) {
  job.pipeline[1].params = std::move(params);
  return job;
}

TEST(Targets, ThatTheDataLackOrDoNotFitAreNamed) {
  const std::vector<std::pair<JobSpec, std::string>> cases{
      {spec({"kind", "bigg"}, "MultiOutputClassifier"), "did you mean 'big'"},
      {spec({"kind", "size"}, "MultiOutputClassifier"), "y is continuous: target 'size' is 1.5"},
      {spec({"size", "big"}, "MultiOutputRegressor"), "target 'big' is nominal, MultiOutputRegressor needs numbers"},
      {with_params(chained("Regressor"), {{"cv", 10}}), "target 'size': cv is 10, but there are only 9 rows"},
      {with_params(chained("Classifier"), {{"cv", 4}}), "target 'kind': cv is 4, but no class has more than 3 rows"},
      {with_params(chained("Classifier"), {{"chain_method", "predict_proba"}}),
       "chain_method is predict_proba, which passes on one of two classes; target 'kind' has 3"}};
  for (const auto& [job, words] : cases) {
    try {
      run(job);
      ADD_FAILURE() << words;
    } catch (const Error& error) {
      EXPECT_THAT(error.message, HasSubstr(words));
    }
  }
}

}   // namespace
}   // namespace kedge::engine
