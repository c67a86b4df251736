// Scores, failures and warnings as bytes and back.
#include "engine/model_selection/dealt_scores.h"

#include <array>
#include <string_view>

namespace kedge::engine {
namespace {

void write(const FoldScores& found, ByteWriter& out) {
  out.numbers(found.test), out.numbers(found.train), out.numbers(found.steps);
  out.number(found.prepare);
  out.number(found.timings.fit), out.number(found.timings.transform), out.number(found.timings.predict),
      out.number(found.timings.score);
}

FoldScores read_scores(ByteReader& in) {
  FoldScores found;
  found.test = in.numbers<double>(), found.train = in.numbers<double>(), found.steps = in.numbers<double>();
  found.prepare = in.number<double>();
  found.timings.fit = in.number<double>(), found.timings.transform = in.number<double>();
  found.timings.predict = in.number<double>(), found.timings.score = in.number<double>();
  return found;
}

void write(const ScoredRows& rows, ByteWriter& out) {
  out.numbers(rows.y_true), out.numbers(rows.y_pred), out.numbers(rows.scores);
  out.numbers(rows.output_scores);
}

ScoredRows read_rows(ByteReader& in) {
  ScoredRows rows;
  rows.y_true = in.numbers<std::int32_t>(), rows.y_pred = in.numbers<std::int32_t>(),
  rows.scores = in.numbers<double>();
  rows.output_scores = in.numbers<double>();
  return rows;
}

template <class T>
void append(const std::vector<T>& more, std::vector<T>& to) {
  to.insert(to.end(), more.begin(), more.end());
}

}   // namespace

void DealtWriter::add(const DealtScore& score) {
  lines_.write(out_);
  write(score.scores, out_);
  write(score.rows, out_);
  out_.number(score.failure.has_value());
  if (!score.failure) return;
  out_.number(score.failure->code);
  out_.text(score.failure->message);
  out_.text(score.failure->where);
}

std::vector<DealtScore> dealt_scores(const Context& ctx, std::span<const std::byte> share) {
  std::vector<DealtScore> scores;
  for (ByteReader in(share); !in.at_end();) {
    tell_lines(ctx, in);
    DealtScore& score = scores.emplace_back();
    score.scores = read_scores(in);
    score.rows = read_rows(in);
    if (!in.number<bool>()) continue;
    const auto code = in.number<schema::ErrorCode>();
    std::string message = in.text();
    score.failure = schema::Error(code, std::move(message), in.text());
  }
  return scores;
}

void append_rows(const ScoredRows& more, ScoredRows& rows) {
  append(more.y_true, rows.y_true), append(more.y_pred, rows.y_pred), append(more.scores, rows.scores);
  append(more.output_scores, rows.output_scores);
}

double predicted_cost(const SharedSteps& steps, const Split& split) {
  // Parameters that a fit's time is proportional to, with a usual value where a step leaves them out.
  constexpr std::array<std::pair<std::string_view, double>, 2> kProportional{{{"n_estimators", 100}, {"n_init", 1}}};
  double cost = static_cast<double>(split.train.size() + split.test.size() / 4);
  for (const auto& step : steps) {
    for (const auto& [name, usual] : kProportional) {
      double times = usual;
      for (const auto& [key, value] : step->params)
        if (const auto* number = std::get_if<std::int64_t>(&value.data); number && key == name)
          times = static_cast<double>(*number);
      cost *= times;
    }
  }
  return cost;
}

}   // namespace kedge::engine
