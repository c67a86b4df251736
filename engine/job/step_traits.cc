// Makes each step once to learn what it is.
#include "engine/job/step_traits.h"

#include <set>
#include <string_view>

#include "engine/estimators/catalogue.h"
#include "engine/estimators/composition/nested.h"
#include "engine/estimators/resampler.h"
#include "engine/estimators/row_scores.h"
#include "engine/estimators/target_count.h"
#include "engine/job/fit_count.h"
#include "engine/job/refuse.h"

namespace kedge::engine {
namespace {

std::unique_ptr<Estimator<double>> make_step(const CatalogueEntry& entry, const schema::Step& step, const std::string& path) {
  try {
    return entry.make_f64(step.params);
  } catch (const schema::Error& error) {
    throw schema::Error(error.code, error.message, error.where.empty() ? path + ".params" : path + "." + error.where);
  }
}

const char* noun(TargetKind kind) { return kind == TargetKind::kClasses ? "classes" : "numbers"; }

}  // namespace

StepTraits traits_of(const schema::Step& step, const std::string& path) {
  const CatalogueEntry& entry = known_estimator(step.estimator, path + ".estimator");
  const auto made = make_step(entry, step, path);
  check_fit_count(step, path);
  const auto* classifier = dynamic_cast<const Classifier<double>*>(made.get());
  const auto* clusterer = dynamic_cast<const Clusterer<double>*>(made.get());
  StepTraits traits{.info = &entry.info,
                    .transforms = dynamic_cast<const Transformer<double>*>(made.get()) != nullptr,
                    .classifies = classifier != nullptr,
                    .regresses = dynamic_cast<const Regressor<double>*>(made.get()) != nullptr,
                    .clusters = clusterer != nullptr,
                    .has_proba = classifier && classifier->has_proba(),
                    .has_decision = classifier && classifier->has_decision(),
                    .takes_weights = made->takes_weights(),
                    .accepts_nan = made->accepts_nan(),
                    .accepts_categories = made->accepts_categories(),
                    .target_kind = made->target_kind()};
  if (const auto* several = dynamic_cast<const MultiOutput<double>*>(made.get())) {
    const bool classifies = made->target_kind() == TargetKind::kClasses;
    traits.fits_targets = true, traits.has_proba = several->has_proba();
    traits.classifies = classifies, traits.regresses = !classifies;
  }
  if (const auto* counted = dynamic_cast<const TargetCount*>(made.get())) traits.n_targets = counted->n_targets();
  if (const auto* resampler = resampler_of(*made))
    traits.resamples = true, traits.drops_weights = !resampler->keeps_weights();
  if (const auto* scorer = dynamic_cast<const RowScorer<double>*>(made.get()))
    traits.row_outputs = scorer->row_outputs();
  const auto* detector = dynamic_cast<const OutlierDetector<double>*>(made.get());
  traits.predicts = traits.classifies || traits.regresses || (clusterer && clusterer->can_predict()) ||
                    (detector && detector->can_predict());
  return traits;
}

void check_order(const std::vector<schema::Step>& steps, const std::vector<StepTraits>& traits, const std::string& path) {
  const std::vector<std::string> names = step_names(steps);
  const TargetKind wanted = target_kind_of(traits);
  const StepTraits& last = traits.back();
  const bool fits_rows =
      last.classifies || (last.transforms && !last.clusters);   // what it says is not of the rows of the fit
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string here = fmt::format("{}[{}]", path, i);
    if (i + 1 < steps.size() && !traits[i].transforms) {
      refuse(here, fmt::format("{} is a {}, only the last step may be one", traits[i].info->name, traits[i].info->kind));
    }
    if (traits[i].resamples && !fits_rows) {
      refuse(here, fmt::format("{} changes the rows of a fit, so the last step must be a classifier; {} is a {}",
                               traits[i].info->name, last.info->name, last.info->kind));
    }
    if (steps[i].name.find("__") != std::string::npos) {
      refuse(here + ".name", fmt::format("name '{}' has '__', which parts the names in parameter paths", steps[i].name));
    }
    if (!seen.insert(names[i]).second) refuse(here + ".name", fmt::format("two steps are named '{}'", names[i]));
    if (traits[i].target_kind != TargetKind::kNone && traits[i].target_kind != wanted) {
      refuse(here, fmt::format("{} reads a target of {}, {} one of {}", traits[i].info->name, noun(traits[i].target_kind),
                               traits.back().info->name, noun(wanted)));
    }
  }
}

TargetKind target_kind_of(const std::vector<StepTraits>& traits) {
  for (auto step = traits.rbegin(); step != traits.rend(); ++step) {
    if (step->target_kind != TargetKind::kNone) return step->target_kind;
  }
  return TargetKind::kNone;
}

}  // namespace kedge::engine
