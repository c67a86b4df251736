// Who makes which fit, and how what it leaves comes to the others.
#include "engine/estimators/meta/dealt_fits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/comm/ranks.h"
#include "engine/core/params.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/dealt_lines.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::Value;
using schema::ValueList;
using schema::ValueMap;

void write(const Error& error, ByteWriter& out) {
  out.number(error.code);
  out.text(error.message);
  out.text(error.where);
}

Error read_error(ByteReader& in) {
  const auto code = in.number<ErrorCode>();
  std::string message = in.text();
  return {code, std::move(message), in.text()};
}

// One fit of this rank: what it says, then what it leaves or why it failed. False: it failed.
bool write_fit(const Context& ctx, const InnerFits& fits, std::size_t i, ByteWriter& out) {
  KeptLines lines(ctx);
  ctx.check_stop();
  std::optional<Error> failure;
  try {
    fits.fit(lines.context(), i);
  } catch (const Error& error) {
    if (error.code == ErrorCode::kCancelled) throw;
    failure = error;
  }
  lines.write(out);
  out.number(failure.has_value());
  if (failure) write(*failure, out);
  else fits.write(i, out);
  return !failure;
}

// Those of this rank, up to one that fails: no fit behind it is asked for.
std::vector<std::byte> own_fits(const Context& ctx, const InnerFits& fits, const std::vector<int>& made_by, int rank) {
  const auto n_own = std::ranges::count(made_by, rank);
  std::int64_t made = 0;
  ByteWriter out;
  for (std::size_t i = 0; i < made_by.size(); ++i) {
    if (made_by[i] != rank) continue;
    if (!write_fit(ctx, fits, i, out)) break;
    const std::int64_t n = std::ssize(made_by);
    ++made;
    if (fits.things) ctx.progress(fits.things, made * n / n_own, n, fits.things);
  }
  return out.take();
}

void fit_on_ranks(const Context& ctx, Ranks& ranks, const InnerFits& fits) {
  const std::vector<int> made_by = ranks_of_fits(fits.planned, ranks.size());
  PartedBytes shares;
  if (std::ranges::any_of(made_by, [](int rank) { return rank != kEveryRank; }))
    shares = ranks.share([&] { return own_fits(ctx, fits, made_by, ranks.rank()); });
  std::vector<ByteReader> readers;
  for (int r = 0; r < shares.size(); ++r) readers.emplace_back(shares.part(r));
  for (std::size_t i = 0; i < made_by.size(); ++i) {
    if (made_by[i] == kEveryRank) {
      const RanksScope scope(fits.planned[i].divides ? &ranks : nullptr);
      ctx.check_stop();
      fits.fit(ctx, i);
    } else {
      ByteReader& in = readers[static_cast<std::size_t>(made_by[i])];
      tell_lines(ctx, in);
      if (in.number<bool>()) throw read_error(in);
      fits.read(i, in);
    }
    if (fits.done) fits.done(i);
  }
}

}   // namespace

std::vector<int> ranks_of_fits(const std::vector<PlannedFit>& planned, int n_ranks) {
  const double total = std::accumulate(planned.begin(), planned.end(), 0.0,
                                       [](double sum, const PlannedFit& one) { return sum + one.cost; });
  std::vector<int> made_by(planned.size(), kEveryRank);
  std::vector<std::size_t> dealt;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const bool by_all = planned[i].divides && planned[i].cost > total / n_ranks;
    if (!by_all && !planned[i].is_large) dealt.push_back(i);
  }
  std::ranges::stable_sort(dealt, std::ranges::greater(), [&](std::size_t i) { return planned[i].cost; });
  std::vector<double> load(static_cast<std::size_t>(n_ranks));
  for (const std::size_t i : dealt) {
    const auto least = std::ranges::min_element(load);   // of equals the lowest rank
    *least += planned[i].cost;
    made_by[i] = static_cast<int>(least - load.begin());
  }
  return made_by;
}

void deal_fits(const Context& ctx, const InnerFits& fits) {
  const auto n = std::ssize(fits.planned);
  Ranks* const ranks = ranks_of_job();
  if (ranks && n > 0) return fit_on_ranks(ctx, *ranks, fits);
  for (std::int64_t i = 0; i < n; ++i) {
    ctx.check_stop();
    fits.fit(ctx, static_cast<std::size_t>(i));
    if (fits.done) fits.done(static_cast<std::size_t>(i));
    if (fits.things) ctx.progress(fits.things, i + 1, n, fits.things);
  }
}

std::vector<std::vector<double>> numbers_of_fits(
    const Context& ctx, const std::vector<PlannedFit>& planned,
    const std::function<std::vector<double>(const Context&, std::size_t i)>& fit) {
  std::vector<std::vector<double>> left(planned.size());
  deal_fits(ctx, {.planned = planned,
                  .fit = [&](const Context& inner, std::size_t i) { left[i] = fit(inner, i); },
                  .write = [&](std::size_t i, ByteWriter& out) { out.numbers(left[i]); },
                  .read = [&](std::size_t i, ByteReader& in) { left[i] = in.numbers<double>(); },
                  .things = nullptr});
  return left;
}

namespace {

// Passes over the cells that a usual fit takes, by family; of a forest or of boosting those of one tree.
double usual_passes(std::string_view family, double n_rows) {
  constexpr std::array<std::pair<std::string_view, double>, 6> kPasses{{{"dummy", 0.1},
                                                                        {"neighbors", 1},
                                                                        {"naive_bayes", 1},
                                                                        {"preprocessing", 1},
                                                                        {"neural_network", 1000},
                                                                        {"ensemble", 5}}};
  if (family == "svm") return 10 + n_rows / 10;   // kernels of pairs of rows
  const auto found = std::ranges::find(kPasses, family, &std::pair<std::string_view, double>::first);
  return found == kPasses.end() ? 10 : found->second;
}

// A whole number among the parameters, or its default; `otherwise` where it is none.
double count_in(const CatalogueEntry& entry, const ValueMap* params, std::string_view name, double otherwise) {
  const auto known = std::ranges::find(entry.info.params, name, &schema::ParamInfo::name);
  if (known == entry.info.params.end()) return 1;
  const Value* const given = params ? find_value(*params, name) : nullptr;
  const auto* const number = std::get_if<std::int64_t>(&(given ? *given : known->defaultValue).data);
  return number ? static_cast<double>(*number) : otherwise;
}

double cost_of_step(const CatalogueEntry& entry, const ValueMap* params, std::int64_t n_rows, std::int64_t n_cols) {
  double cost = 0;
  for (std::size_t i = 0; params && i < params->size(); ++i) cost += cost_of_fit((*params)[i].second, n_rows, n_cols);
  const bool is_composed = cost > 0;
  const double cells = static_cast<double>(n_rows) * static_cast<double>(n_cols);
  if (!is_composed) cost = usual_passes(entry.info.family, static_cast<double>(n_rows)) * cells;
  cost *= count_in(entry, params, "n_estimators", 100);
  if (is_composed) return cost * count_in(entry, params, "cv", 5);
  return entry.info.family == "ensemble" ? cost * count_in(entry, params, "max_iter", 100) : cost;
}

}   // namespace

// A step is {"estimator": NAME, "params": {...}}; around it may be lists, {"name": ..., "estimator": STEP} and
// [name, STEP].
double cost_of_fit(const Value& steps, std::int64_t n_rows, std::int64_t n_cols) {
  double cost = 0;
  if (const auto* const list = std::get_if<ValueList>(&steps.data))
    for (const Value& one : *list) cost += cost_of_fit(one, n_rows, n_cols);
  const auto* const map = std::get_if<ValueMap>(&steps.data);
  if (!map) return cost;
  const Value* inside = find_value(*map, "estimator");
  if (!inside) inside = find_value(*map, "transformer");
  if (!inside) return cost;
  const auto* const name = std::get_if<std::string>(&inside->data);
  if (!name) return cost_of_fit(*inside, n_rows, n_cols);
  const CatalogueEntry* const entry = find_estimator(*name);
  const Value* const params = find_value(*map, "params");
  return entry ? cost_of_step(*entry, params ? std::get_if<ValueMap>(&params->data) : nullptr, n_rows, n_cols) : 0;
}

}   // namespace kedge::engine
