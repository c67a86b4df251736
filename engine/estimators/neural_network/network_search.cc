// The networks that a search announced, and what became of them.
#include "engine/estimators/neural_network/network_search.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

#include "engine/backend/host/side_by_side.h"
#include "engine/estimators/neural_network/network_start.h"

namespace kedge::engine {
namespace {

using Announced = std::map<std::string, MlpParams>;   // by key

// What a fit has said and left; one of fit and error.
template <class T>
struct Told {
  std::optional<MlpFit<T>> fit;
  std::optional<schema::Error> error;
  std::vector<schema::EventBody> events;
};
template <class T>
using Fits = std::map<std::string, Told<T>>;

std::string content_key(const std::string& content, TargetKind kind) {
  return content + (kind == TargetKind::kClasses ? " classes" : " values");
}

Announced& announced(WorkCache& work, const std::string& key) {
  return *work.get<Announced>("announced networks", key, [] { return Announced(); });
}

// What does not fit the table has no step.
bool is_small(const MlpParams& params, std::int64_t n_rows, std::int64_t n_cols, std::int64_t n_outputs) {
  const NetworkShape shape = shape_of(params, n_cols, n_outputs);
  if (shape.find_missing_column()) return true;
  const std::int64_t batch = params.solver == "lbfgs" ? n_rows : std::min(params.batch().value_or(200), n_rows);
  return shape.n_parameters() <= kSmallPass / std::max<std::int64_t>(1, batch);
}

template <class T>
Fits<T> all_fits(const Context& ctx, const Announced& networks, const Samples<T>& X, const MlpTarget& target) {
  std::vector<const Announced::value_type*> small;
  for (const auto& network : networks)
    if (is_small(network.second, X.n_rows(), X.n_cols(), target.n_outputs)) small.push_back(&network);
  Matrix<T> scratch;   // the rows are gathered once
  X.values(ctx, scratch);
  const Samples<T> rows = scratch.rows() > 0 ? samples_of(std::move(scratch)) : X;
  std::vector<Told<T>> told(small.size());
  std::mutex telling;
  std::int64_t done = 0;
  side_by_side(static_cast<std::int64_t>(small.size()), [&](std::int64_t i) {
    Told<T>& own = told[static_cast<std::size_t>(i)];
    Context alone = ctx;
    alone.work = nullptr;
    alone.emit = [&own](schema::EventBody event) { own.events.push_back(std::move(event)); };
    try {
      own.fit = fit_mlp(alone, small[static_cast<std::size_t>(i)]->second, rows, target);
    } catch (const schema::Error& error) {
      if (error.code == schema::ErrorCode::kCancelled) throw;
      own.error = error;
    }
    const std::lock_guard lock(telling);
    ctx.progress("fits", ++done, std::ssize(small), "fits");
  });
  Fits<T> fits;
  for (std::size_t i = 0; i < small.size(); ++i) fits.emplace(small[i]->first, std::move(told[i]));
  return fits;
}

}   // namespace

void announce_network(WorkCache& plan, const std::string& content, TargetKind kind, const std::string& key,
                      const MlpParams& params) {
  if (!content.empty()) announced(plan, content_key(content, kind)).try_emplace(key, params);
}

template <class T>
MlpFit<T> fit_of_search(const Context& ctx, const MlpParams& params, const std::string& key, const Samples<T>& X,
                        const MlpTarget& target) {
  const auto alone = [&] { return fit_mlp(ctx, params, X, target); };
  if (!ctx.work || X.content.empty() || ctx.device.traits().concurrent_fits < 2 ||
      !is_small(params, X.n_rows(), X.n_cols(), target.n_outputs))
    return alone();
  const std::string of_content =
      content_key(X.content, target.has_classes() ? TargetKind::kClasses : TargetKind::kValues);
  const Announced& networks = announced(*ctx.work, of_content);
  if (networks.size() < 2 || !networks.contains(key)) return alone();
  const auto fits =
      ctx.work->get<Fits<T>>("network fits", of_content, [&] { return all_fits(ctx, networks, X, target); });
  const Told<T>& own = fits->at(key);
  if (ctx.emit)
    for (const schema::EventBody& event : own.events) ctx.emit(event);
  if (own.error) throw schema::Error(*own.error);
  return *own.fit;
}

template MlpFit<float> fit_of_search(const Context&, const MlpParams&, const std::string&, const Samples<float>&,
                                     const MlpTarget&);
template MlpFit<double> fit_of_search(const Context&, const MlpParams&, const std::string&, const Samples<double>&,
                                      const MlpTarget&);

}   // namespace kedge::engine
