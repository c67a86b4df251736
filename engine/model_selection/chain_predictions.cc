// Predictions at once or in blocks of rows, which ranks divide.
#include "engine/model_selection/chain_predictions.h"

#include <algorithm>
#include <numeric>

#include "engine/comm/dealt_blocks.h"
#include "engine/estimators/dealt_lines.h"

namespace kedge::engine {
namespace {

bool any(const std::vector<const Scorer*>& scorers, bool Scorer::* need) {
  return std::any_of(scorers.begin(), scorers.end(), [need](const Scorer* s) { return s->*need; });
}

template <class T>
Predicted predict(const Context& ctx, const Classifier<T>& classifier, const Samples<T>& X,
                  const std::vector<const Scorer*>& scorers) {
  Predicted out;
  const std::int64_t n_classes = classifier.n_classes();
  if (any(scorers, &Scorer::needs_labels)) out.labels = classifier.predict(ctx, X);
  const bool wants_decision = any(scorers, &Scorer::needs_decision) && classifier.has_decision();
  if (wants_decision) {
    Matrix<double> decision(ctx.memory(), X.n_rows(), n_classes == 2 ? 1 : n_classes);
    classifier.decision_function(ctx, X, decision.view());
    out.decision = decision.to_host();
  }
  if (any(scorers, &Scorer::needs_proba) || (any(scorers, &Scorer::needs_decision) && !wants_decision)) {
    Matrix<double> proba(ctx.memory(), X.n_rows(), n_classes);
    classifier.predict_proba(ctx, X, proba.view());
    out.proba = proba.to_host();
  }
  return out;
}

template <class T>
Predicted predict(const Context& ctx, const MultiOutput<T>& several, const Samples<T>& X,
                  const std::vector<const Scorer*>& scorers) {
  const auto reads_proba = [](const Scorer* scorer) { return scorer->needs_proba || scorer->needs_decision; };
  const auto n_proba = std::ranges::count_if(scorers, reads_proba);
  Predicted made;
  if (n_proba > 0) made.output_proba = several.predict_proba(ctx, X);
  if (n_proba < std::ssize(scorers)) made.outputs = several.predict(ctx, X);
  return made;
}

template <class T>
Predicted predict(const Context& ctx, const Estimator<T>& last, const Samples<T>& X,
                  const std::vector<const Scorer*>& scorers) {
  if (const auto* several = dynamic_cast<const MultiOutput<T>*>(&last)) return predict(ctx, *several, X, scorers);
  if (const auto* classifier = dynamic_cast<const Classifier<T>*>(&last)) return predict(ctx, *classifier, X, scorers);
  if (const auto* regressor = dynamic_cast<const Regressor<T>*>(&last)) return {.values = regressor->predict(ctx, X)};
  return {.labels = dynamic_cast<const Clusterer<T>&>(last).predict(ctx, X)};
}

template <class T>
void append(const std::vector<T>& more, std::vector<T>& to) {
  to.insert(to.end(), more.begin(), more.end());
}

// Column by column.
void append(const std::vector<std::vector<double>>& more, std::vector<std::vector<double>>& to) {
  to.resize(std::max(to.size(), more.size()));
  for (std::size_t k = 0; k < more.size(); ++k) append(more[k], to[k]);
}

void append(const Predicted& more, Predicted& all) {
  append(more.labels, all.labels), append(more.values, all.values);
  append(more.proba, all.proba), append(more.decision, all.decision);
  append(more.outputs, all.outputs), append(more.output_proba, all.output_proba);
}

void write(const Predicted& said, ByteWriter& out) {
  out.numbers(said.labels), out.numbers(said.proba), out.numbers(said.decision), out.numbers(said.values);
  for (const auto* columns : {&said.outputs, &said.output_proba}) {
    out.number<std::uint64_t>(columns->size());
    for (const std::vector<double>& column : *columns) out.numbers(column);
  }
}

Predicted read(ByteReader& in) {
  Predicted said;
  said.labels = in.numbers<std::int32_t>();
  said.proba = in.numbers<double>(), said.decision = in.numbers<double>(), said.values = in.numbers<double>();
  for (auto* columns : {&said.outputs, &said.output_proba})
    for (auto left = in.number<std::uint64_t>(); left > 0; --left) columns->push_back(in.numbers<double>());
  return said;
}

// Rows begin .. end - 1 of the samples.
template <class T>
Samples<T> rows_of(const Context& ctx, const Samples<T>& X, const std::vector<std::int32_t>& rows, std::int64_t begin,
                   std::int64_t end) {
  std::vector<std::int32_t> own(static_cast<std::size_t>(end - begin));
  if (rows.empty()) std::iota(own.begin(), own.end(), static_cast<std::int32_t>(begin));
  else std::copy(rows.begin() + begin, rows.begin() + end, own.begin());
  Samples<T> block = X;
  block.rows = std::make_shared<const Array<std::int32_t>>(ctx.memory(), own);
  return block;
}

}   // namespace

bool deals_predictions(const Context& ctx, std::int64_t n_rows) {
  return n_rows >= kLeastDealtRows && ctx.device.traits().uses_host_memory;
}

template <class T>
Predicted predicted_rows(const Context& ctx, const Estimator<T>& last, const Samples<T>& X,
                         const std::vector<const Scorer*>& scorers) {
  const bool is_shared = ctx.work && !X.content.empty();
  const std::int64_t n = X.n_rows();
  if (is_shared || !deals_predictions(ctx, n)) return predict(ctx, last, X, scorers);
  const std::int64_t size = block_rows(n), n_blocks = (n + size - 1) / size;
  const std::vector<std::int32_t> rows = X.rows ? X.rows->to_host() : std::vector<std::int32_t>();
  const auto predict_blocks = [&](const Context& own_ctx, Part blocks) {
    Predicted all;
    for (std::int64_t b = blocks.begin; b < blocks.end; ++b) {
      own_ctx.check_stop();
      append(predict(own_ctx, last, rows_of(own_ctx, X, rows, b * size, std::min(n, (b + 1) * size)), scorers), all);
    }
    return all;
  };
  Ranks* const ranks = ranks_of_job();
  if (!ranks) return predict_blocks(ctx, {0, n_blocks});
  const PartedBytes shares = ranks->gather([&] {
    KeptLines lines(ctx);
    const Predicted said = predict_blocks(lines.context(), own_part(ranks, n_blocks));
    ByteWriter out;
    lines.write(out);
    write(said, out);
    return out.take();
  });
  Predicted all;
  for (int from = 0; from < shares.size() && ranks->is_first(); ++from) {
    ByteReader in(shares.part(from));
    tell_lines(ctx, in);
    append(read(in), all);
  }
  return all;
}

template Predicted predicted_rows(const Context&, const Estimator<float>&, const Samples<float>&,
                                  const std::vector<const Scorer*>&);
template Predicted predicted_rows(const Context&, const Estimator<double>&, const Samples<double>&,
                                  const std::vector<const Scorer*>&);

}   // namespace kedge::engine
