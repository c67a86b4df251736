// SVC and NuSVC: a support vector machine for each pair of classes.
#pragma once

#include <optional>
#include <vector>

#include "engine/estimators/classes.h"
#include "engine/estimators/memory_need.h"
#include "engine/estimators/svm/platt.h"
#include "engine/estimators/svm/shared_kernel.h"
#include "engine/estimators/svm/svm_model.h"
#include "engine/estimators/svm/svm_params.h"

namespace kedge::engine {

struct SvmClassifierParams : SvmParams {
  bool break_ties = false;
  schema::Value class_weight, probability = std::string("deprecated");
  bool has_proba() const { return probability == schema::Value(true); }
  std::string decision_function_shape = "ovr";
  std::optional<std::int64_t> random_state;
};

// Rows are put in the order of their classes, so that the rows of a pair are two ranges. Where the whole kernel matrix
// fits into the cache it is computed once, and the pairs are solved side by side on it; otherwise each pair has kernel
// rows of its own. Candidates of a search share the matrix, or the rows of the only pair. Cost: n_samples^2 *
// n_features, or the support vectors' share of it; and a few n_samples a step. Errors: kBadData for fewer than two
// classes, and for a nu that is too large for a pair. Sources: smo_block.h, platt.h.
template <class T>
class SvmClassifier : public Classifier<T> {
 public:
  Squares squares() const override { return Squares::kRows; }
  bool takes_weights() const override { return true; }
  void announce(WorkCache& plan, const std::string& content) const override {
    announce_kernel(plan, content, name_, params_);
  }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::int32_t n_classes() const override { return present_.n_all(); }
  bool has_proba() const override { return params_.has_proba(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  bool has_decision() const override { return true; }
  void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const override;
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 protected:
  SvmClassifier(const char* name, bool is_nu, SvmClassifierParams params);
  static std::vector<std::string> attribute_names();

 private:
  struct Sorted {                             // the rows that count, by class
    std::vector<std::int64_t> order, first;   // of X; where each class begins, and the end
    std::vector<double> C;                    // upper bounds
  };
  struct Pair {
    std::size_t a, b;
    std::int64_t first_a, n_a, first_b, n_b;   // ranges of the sorted rows
    std::int64_t size() const { return n_a + n_b; }
  };
  Sorted sorted(const Target& y) const;
  std::vector<Pair> pairs(const Sorted& rows) const;
  void check_nu(const Target& y, const Sorted& rows) const;
  SmoProblem problem(const Sorted& rows, const Pair& pair, std::int64_t first_a, std::int64_t first_b) const;
  template <class Kernel>   // KernelRows or DeviceRows
  SmoResult solved(Kernel& kernel, SmoProblem& problem) const;
  template <class Kernel>
  Sigmoid calibrated(Kernel& kernel, const SmoProblem& problem, std::uint32_t seed) const;
  void keep(const Context& ctx, const Samples<T>& X, const Sorted& rows, const std::vector<Pair>& pairs,
            const std::vector<SmoResult>& results);
  // take(row, decisions of the pairs): positive for the first class of each.
  template <class Take>
  void visit(const Context& ctx, const Samples<T>& X, const Take& take) const;
  std::vector<double> one_a_class(const std::vector<double>& decisions) const;

  const char* name_;
  bool is_nu_;
  SvmClassifierParams params_;
  PresentClasses present_;
  std::vector<double> class_weight_, n_support_, probA_, probB_;
  SvmModel<T> model_;
};

template <class T>
class SVC final : public SvmClassifier<T> {
 public:
  explicit SVC(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};

template <class T>
class NuSVC final : public SvmClassifier<T> {
 public:
  explicit NuSVC(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};

}   // namespace kedge::engine
