// FunctionTransformer: a named function of each cell, or formulas over the columns.
#pragma once

#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"
#include "engine/estimators/preprocessing/formula.h"

namespace kedge::engine {

struct FunctionTransformerParams {
  schema::Value func, inverse_func;
  bool check_inverse = true;
};

// What `func` or `inverse_func` says: nothing (the cells themselves), one formula of each cell, or a formula for each
// column that comes out.
struct Function {
  std::vector<Formula> formulas;
  std::vector<std::string> names;   // of the columns that come out; empty: one formula, of each cell
  bool is_identity() const { return formulas.empty(); }
  bool is_of_cells() const { return names.empty(); }
};

// Learns nothing but which columns its formulas name. Computed on the device in blocks of rows; every operation of a
// formula rounds to the job's precision. Errors: kInvalidValue for what is not in the language, with the character;
// kBadData for a name that no column has.
template <class T>
class FunctionTransformer final : public Transformer<T> {
 public:
  explicit FunctionTransformer(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  bool accepts_nan() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  using Places = std::vector<std::vector<std::int32_t>>;   // by formula: the columns that it names
  Places places_of(const char* param, const Function& function, const std::vector<Feature>& features) const;
  Samples<T> applied(const Context& ctx, const Function& function, const Places& places, const Samples<T>& X) const;
  void compare_inverse(const Context& ctx, const Samples<T>& X) const;

  FunctionTransformerParams params_;
  Function func_, inverse_;
  Places places_;
  std::int64_t n_features_ = 0;
  schema::Value feature_names_in_;
};

}   // namespace kedge::engine
