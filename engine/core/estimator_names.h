// The message for an estimator that does not exist.
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
  std::string_view nearest = {};   // the one of ours that is most like it; empty: none is
  std::string_view instead = {};   // what to use in its place, if that is not an estimator
  std::string_view later = {};     // a sentence on why it was left for later, if it was
};

std::span<const SklearnName> sklearn_names();

// An estimator of another library, and the one of ours that does its work.
struct PeerName {
  std::string_view name, library, ours;
};

std::span<const PeerName> peer_names();

// "'GausianNB'; did you mean 'GaussianNB'?", to follow "unknown estimator ". Compares the words of the names, the kinds
// that they state ("Classifier") and the spelling. An estimator of scikit-learn is said to be not here, with the
// nearest of `here`. A name longer than 256 bytes is near none.
std::string unknown_estimator(std::string_view name, std::span<const EstimatorName> here);

}  // namespace kedge::engine
