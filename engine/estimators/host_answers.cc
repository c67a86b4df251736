// One entry for each estimator whose answers a GPU does not finish. sync_budget_test.cc finds those that are missing by
// what they fetch.
#include "engine/estimators/host_answers.h"

#include <algorithm>
#include <array>

namespace kedge::engine {
namespace {

struct Entry {
  std::string_view estimator, part;
};

constexpr std::string_view kTerms = "the terms of texts, of which it gets the finished rows",
                           kCells = "which column each cell is, of which it gets the finished rows",
                           kVotes = "the votes of the neighbours", kMeans = "the means of the neighbours",
                           kPairs = "the votes between pairs of classes",
                           kAdded = "what its estimators answer for each row, added up",
                           kOne = "what its estimator answers for each row";

constexpr std::array kEntries{
    Entry{"CountVectorizer", kTerms},
    Entry{"TfidfVectorizer", kTerms},
    Entry{"HashingVectorizer", kTerms},
    Entry{"DictVectorizer", kCells},
    Entry{"FeatureHasher", kCells},
    Entry{"TfidfTransformer", "the weights of terms, of which it gets the finished rows"},
    Entry{"KNNImputer", "the choice of neighbours, and the means of their values"},
    Entry{"IterativeImputer", "which rows have a column"},
    Entry{"KNeighborsClassifier", kVotes},
    Entry{"RadiusNeighborsClassifier", kVotes},
    Entry{"KNeighborsRegressor", kMeans},
    Entry{"RadiusNeighborsRegressor", kMeans},
    Entry{"BisectingKMeans", "the rows of each node of its tree"},
    Entry{"UMAP", "all but the search for neighbours"},
    Entry{"SVC", kPairs},
    Entry{"NuSVC", kPairs},
    Entry{"QuadraticDiscriminantAnalysis", "the scores of the classes"},
    Entry{"HistGradientBoostingClassifier", "the link of its answers"},
    Entry{"HistGradientBoostingRegressor", "the link of its answers"},
    Entry{"VotingClassifier", kAdded},
    Entry{"VotingRegressor", kAdded},
    Entry{"StackingClassifier", kAdded},
    Entry{"StackingRegressor", kAdded},
    Entry{"BaggingClassifier", kAdded},
    Entry{"BaggingRegressor", kAdded},
    Entry{"AdaBoostClassifier", kAdded},
    Entry{"AdaBoostRegressor", kAdded},
    Entry{"OneVsRestClassifier", kAdded},
    Entry{"OneVsOneClassifier", kAdded},
    Entry{"ClassifierChain", kAdded},
    Entry{"RegressorChain", kAdded},
    Entry{"CalibratedClassifierCV", kAdded},
    Entry{"FixedThresholdClassifier", kOne},
    Entry{"TunedThresholdClassifierCV", kOne},
    Entry{"TransformedTargetRegressor", "functions of the target"},
};

}   // namespace

std::string_view host_answer(std::string_view estimator) {
  const auto* found = std::ranges::find(kEntries, estimator, &Entry::estimator);
  return found == kEntries.end() ? std::string_view() : found->part;
}

std::vector<std::string_view> estimators_with_host_answers() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kEntries) names.push_back(entry.estimator);
  return names;
}

}   // namespace kedge::engine
