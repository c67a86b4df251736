// DictVectorizer and FeatureHasher: rows as dictionaries of their columns, and these as sparse rows.
#pragma once

#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"
#include "engine/estimators/text/documents.h"

namespace kedge::engine {

// A row is the dictionary {column: cell}. A number is the feature "column" with the number as its value; a category or
// text is the feature "column=text" with the value 1; a missing cell is no key. Both run on the host.

struct DictVectorizerParams {
  std::string separator = "=";
  bool sparse = true, sort = true;
};

// The features of the fitted rows become columns, by name; others are left out later. O(cells log columns).
// Errors: kBadData if no cell has a value.
template <class T>
class DictVectorizer final : public Transformer<T>, public NamesOutputs {
 public:
  explicit DictVectorizer(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;
  std::vector<std::string> output_names() const override { return names_; }

 private:
  DictVectorizerParams params_;
  std::vector<std::string> names_;
  std::int64_t n_features_ = 0;
};

struct FeatureHasherParams {
  std::int64_t n_features = std::int64_t{1} << 20;
  std::string input_type = "dict";
  bool alternate_sign = true;
};

// Nothing is learnt: a hash of a feature's name is its column. Features of one column are added up.
template <class T>
class FeatureHasher final : public Transformer<T> {
 public:
  explicit FeatureHasher(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override { return {}; }
  void state(StateArchive& archive) override;

 private:
  FeatureHasherParams params_;
  std::int64_t n_features_in_ = 0;
};

}   // namespace kedge::engine
