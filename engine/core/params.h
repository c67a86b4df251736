// Declares the parameters of an estimator once: name, type, default, bounds and a sentence, next to the struct that holds them.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/catalogue.h"
#include "schemas/value.h"

namespace kedge::engine {

// Limits of a number; the default has none.
struct Bounds {
  std::optional<double> minimum, maximum;
  bool exclusive_minimum = false, exclusive_maximum = false;
};
inline Bounds at_least(double low) { return {.minimum = low}; }
inline Bounds above(double low) { return {.minimum = low, .exclusive_minimum = true}; }
inline Bounds between(double low, double high) { return {.minimum = low, .maximum = high}; }
inline Bounds above_up_to(double low, double high) {   // (low, high]
  return {.minimum = low, .maximum = high, .exclusive_minimum = true};
}
inline Bounds inside(double low, double high) {   // (low, high)
  return {.minimum = low, .maximum = high, .exclusive_minimum = true, .exclusive_maximum = true};
}

// The forms that a value may take; a parameter has one or more.
schema::ParamForm null_form();
schema::ParamForm boolean_form();
schema::ParamForm integer_form(Bounds bounds = {});
schema::ParamForm number_form(Bounds bounds = {});
schema::ParamForm string_form(std::vector<std::string> choices = {});
schema::ParamForm nan_form();         // NaN, whose JSON is the string "NaN"; held as that string
schema::ParamForm object_form(std::vector<schema::ParamInfo> fields = {});   // fields: for the documentation, not checked
schema::ParamForm array_form();       // a list of numbers
schema::ParamForm array_form(std::vector<schema::ParamForm> items);   // a list of what has one of these forms

// The value in the form that it matches: an integer form turns 200.0 into the integer 200, a number form turns 1 into 1.0.
// Where both are allowed, 1 is an integer and 1.0 a number. Errors: Error{kWrongType or kInvalidValue} with a message such as
// "RandomForestClassifier: n_estimators is 0, must be at least 1" and where = "params.n_estimators".
schema::Value check_param(std::string_view owner, const schema::ParamInfo& info, const schema::Value& value);

// Throws Error{kInvalidValue}, "OWNER: NAME is VALUE, PROBLEM", where = "params.NAME"; for rules that bounds cannot say.
[[noreturn]] void refuse_param(std::string_view owner, std::string_view name, const schema::Value& value,
                               std::string_view problem);

// The value under a key, or null.
const schema::Value* find_value(const schema::ValueMap& map, std::string_view key);

// A list of numbers, however it is held; nothing if the value is not one.
std::optional<std::vector<double>> numbers_of(const schema::Value& value);

// A list of rows, each a list of as many numbers, at least one; nothing if the value is not that.
std::optional<std::vector<std::vector<double>>> rows_of(const schema::Value& value);

// The parameters of an estimator as JSON Schema (draft 2020-12): what GET /v1/estimators/NAME shows.
schema::Value json_schema(const schema::EstimatorInfo& info);

// Throws Error{kUnknownParameter} that suggests the nearest of `infos`.
[[noreturn]] void refuse_unknown_param(std::string_view owner, std::string_view name, const std::vector<schema::ParamInfo>& infos);

template <class M>
void assign_param(M& member, const schema::Value& v) { member = std::get<M>(v.data); }
template <class M>
void assign_param(std::optional<M>& member, const schema::Value& v) {
  if (v.is_null()) member.reset(); else member = std::get<M>(v.data);
}
template <>
inline void assign_param(schema::Value& member, const schema::Value& v) { member = v; }

template <class M>
schema::Value param_value(const M& member) { return member; }
template <class M>
schema::Value param_value(const std::optional<M>& member) { return member ? schema::Value(*member) : schema::Value(); }

// The parameters of one estimator, held in the plain struct P. A value; made once per estimator:
//   static const ParamSet<PcaParams> set = ParamSet<PcaParams>("PCA").add("whiten", &PcaParams::whiten, "Scale ...");
// The default of a parameter is the member's initialiser; its type follows from the member's.
template <class P>
class ParamSet {
 public:
  explicit ParamSet(std::string owner) : owner_(std::move(owner)) {}

  ParamSet& add(std::string name, bool P::*member, std::string doc) { return any(name, member, {boolean_form()}, doc); }
  ParamSet& add(std::string name, std::int64_t P::*member, Bounds bounds, std::string doc) {
    return any(name, member, {integer_form(bounds)}, doc);
  }
  ParamSet& add(std::string name, double P::*member, Bounds bounds, std::string doc) {
    return any(name, member, {number_form(bounds)}, doc);
  }
  ParamSet& add(std::string name, std::optional<std::int64_t> P::*member, Bounds bounds, std::string doc) {
    return any(name, member, {integer_form(bounds), null_form()}, doc);
  }
  ParamSet& add(std::string name, std::optional<double> P::*member, Bounds bounds, std::string doc) {
    return any(name, member, {number_form(bounds), null_form()}, doc);
  }
  ParamSet& add(std::string name, std::string P::*member, std::vector<std::string> choices, std::string doc) {
    return any(name, member, {string_form(std::move(choices))}, doc);
  }
  // A union of forms, held as a Value (or as any member type that all the forms convert to).
  template <class M>
  ParamSet& any(std::string name, M P::*member, std::vector<schema::ParamForm> forms, std::string doc) {
    infos_.push_back({std::move(name), std::move(doc), param_value(P{}.*member), std::move(forms)});
    assign_.push_back([member](P& params, const schema::Value& v) { assign_param(params.*member, v); });
    return *this;
  }
  // Checked and then ignored: it only means something inside a local Python process.
  ParamSet& ignore(std::string name, schema::Value default_value, std::vector<schema::ParamForm> forms) {
    infos_.push_back({std::move(name), "Accepted for compatibility and ignored.", std::move(default_value), std::move(forms)});
    assign_.push_back([](P&, const schema::Value&) {});
    return *this;
  }
  // scikit-learn's random_state; null means the seed of the job.
  ParamSet& random_state(std::optional<std::int64_t> P::*member) {
    return add("random_state", member, between(0, 4294967295.0), "Seed of the random numbers; null takes the seed of the job.");
  }

  // Only what the user set is in `values`; the rest keeps its default. Errors: kUnknownParameter, kWrongType, kInvalidValue.
  P parse(const schema::ValueMap& values) const {
    P params;
    for (const auto& [name, value] : values) {
      const std::size_t i = index_of(name);
      assign_[i](params, check_param(owner_, infos_[i], value));
    }
    return params;
  }
  const std::vector<schema::ParamInfo>& infos() const { return infos_; }
  const std::string& owner() const { return owner_; }

 private:
  std::size_t index_of(std::string_view name) const {
    for (std::size_t i = 0; i < infos_.size(); ++i)
      if (infos_[i].name == name) return i;
    refuse_unknown_param(owner_, name, infos_);
  }
  std::string owner_;
  std::vector<schema::ParamInfo> infos_;
  std::vector<std::function<void(P&, const schema::Value&)>> assign_;
};

}  // namespace kedge::engine
