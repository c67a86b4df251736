// What to say about an estimator that there is none of.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kedge::engine {

struct EstimatorName {
  std::string_view name, kind;   // of EstimatorInfo
};

// An estimator of scikit-learn that is not here.
struct SklearnName {
  std::string_view name;
  std::string_view nearest = {};   // which of ours does most nearly the same; empty: none does
  std::string_view instead = {};   // what takes its place where that is no estimator
};

std::span<const SklearnName> sklearn_names();

// "'GausianNB'; did you mean 'GaussianNB'?", to follow "unknown estimator ". Goes by the words in a name and by the kind that it states
// ("Classifier"), and by spelling where a name is only misspelt. For what scikit-learn has, this says that it is not here and names the nearest
// of `here`. Names longer than 256 bytes are near nothing.
std::string unknown_estimator(std::string_view name, std::span<const EstimatorName> here);

}  // namespace kedge::engine
