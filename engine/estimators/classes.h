// Classes as classifiers need them: which are present, what they weigh, and probabilities spread over all of them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

// The classes that the fitted rows have. A fold can lack one; scikit-learn then fits without it, and so do we.
struct PresentClasses {
  std::vector<std::int32_t> codes;       // ascending, as in Target
  std::vector<std::int64_t> counts;      // rows of each
  std::vector<std::int32_t> positions;   // by code: position in `codes`, or -1
  std::vector<std::string> names;

  explicit PresentClasses(const Target& y);              // counts on the host
  PresentClasses(const Context& ctx, const Target& y);   // on the device, once for all fits of this target
  PresentClasses() = default;
  std::int32_t size() const { return static_cast<std::int32_t>(codes.size()); }
  std::int32_t n_all() const { return static_cast<std::int32_t>(positions.size()); }
  void state(StateArchive& archive);   // at least one class
  schema::Value names_value() const { return schema::ValueList(names.begin(), names.end()); }

 private:
  PresentClasses(const Target& y, const std::vector<std::int64_t>& all_counts);
};

// Sum of the sample weights of each present class; its rows where there are none.
std::vector<double> class_totals(const PresentClasses& present, const Target& y);

// Positions in `present` of the rows' classes, on the device: the codes of the target, which it borrows, where no class
// is missing.
class DevicePositions {
 public:
  DevicePositions(const Context& ctx, const PresentClasses& present, const Target& y);
  VectorView<const std::int32_t> view() const { return view_; }

 private:
  Array<std::int32_t> own_;
  VectorView<const std::int32_t> view_;
};

// Sample weight times class weight (`by_class`, of each present class; empty: 1) of each row, on the device; empty if
// all weigh 1. Borrows the target.
class RowWeights {
 public:
  RowWeights(const Context& ctx, const std::vector<double>& by_class, const PresentClasses& present, const Target& y);
  VectorView<const double> view() const { return view_; }

 private:
  Array<double> own_;
  VectorView<const double> view_;
};

// out[i, :] = rows[position of the class of row i, :], on the device; `rows` (host, row-major) has one for each present
// class.
void put_rows_by_class(const Context& ctx, const PresentClasses& present, const Target& y,
                       const std::vector<double>& rows, MatrixView<double> out);

// The forms of class_weight: "balanced", {class: weight} or null.
std::vector<schema::ParamForm> class_weight_forms();
// Refuses an object whose values are not numbers of at least 0; throws as check_param does.
void check_class_weight(std::string_view owner, const schema::Value& class_weight);
// The weight of each present class; empty if all weigh 1. "balanced": n_rows / (n_classes * rows of the class), where rows
// count as often as their sample weights say.
// Errors: kInvalidValue for a class that the data set does not have.
std::vector<double> class_weights(std::string_view owner, const schema::Value& class_weight, const PresentClasses& present,
                                  const Target& y);

// Scores of the present classes (rows x present, device) as a double matrix over all classes (rows x n_all, device);
// an absent class gets `absent`.
template <class T>
void spread_scores(const Context& ctx, const PresentClasses& present, MatrixView<const T> scores, double absent,
                   MatrixView<double> out);

// The same scores as a decision function (Classifier::decision_function): with two classes in the data set one column,
// score of the second less score of the first; otherwise one for each class, an absent one -infinity.
template <class T>
void spread_decision(const Context& ctx, const PresentClasses& present, MatrixView<const T> scores, MatrixView<double> out);

// Code of the class with the first largest score in each row.
template <class T>
std::vector<std::int32_t> best_codes(const Context& ctx, const PresentClasses& present, MatrixView<const T> scores);

}  // namespace kedge::engine
