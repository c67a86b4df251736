// Counts labels by column or by row, and divides.
#include "engine/metrics/multilabel.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/metrics/class_counts.h"
#include "engine/metrics/probability.h"
#include "engine/metrics/ranking.h"
#include "engine/metrics/sums.h"

namespace kedge::engine {
namespace {

// Cells that have the label, that were said to, and both.
struct Counts {
  double actual = 0, predicted = 0, hit = 0;

  void operator+=(const Counts& other) { actual += other.actual, predicted += other.predicted, hit += other.hit; }
  double whole(LabelShare share) const {
    switch (share) {
      case LabelShare::kPrecision:
        return predicted;
      case LabelShare::kRecall:
        return actual;
      case LabelShare::kF1:
        return actual + predicted;
      case LabelShare::kJaccard:
        return actual + predicted - hit;
    }
    return 0;
  }
  double value(LabelShare share) const {
    const double all = whole(share);
    return all == 0 ? 0.0 : (share == LabelShare::kF1 ? 2 * hit : hit) / all;
  }
};

Counts of_column(const LabelView& column) {
  const ClassCounts counts = count_classes(column);
  return {counts.actual[1], counts.predicted[1], counts.hit[1]};
}

Counts of_row(std::span<const LabelView> columns, std::size_t row) {
  Counts counts;
  for (const LabelView& column : columns) {
    const bool is_true = column.y_true[row] == 1, is_said = column.y_pred[row] == 1;
    counts += {is_true ? 1.0 : 0.0, is_said ? 1.0 : 0.0, is_true && is_said ? 1.0 : 0.0};
  }
  return counts;
}

Counts of_all(std::span<const LabelView> columns) {
  Counts counts;
  for (const LabelView& column : columns) counts += of_column(column);
  return counts;
}

double mean_over_rows(std::span<const LabelView> columns, LabelShare share) {
  const auto n = static_cast<std::int64_t>(columns[0].y_true.size());
  return row_sum(n, [&](std::int64_t i) { return of_row(columns, static_cast<std::size_t>(i)).value(share); }) /
         static_cast<double>(n);
}

double mean_over_columns(std::span<const LabelView> columns, LabelShare share, bool by_weight) {
  double sum = 0, weights = 0, weighted = 0;
  for (const LabelView& column : columns) {
    const Counts counts = of_column(column);
    const double value = counts.value(share);
    sum += value, weights += counts.actual, weighted += counts.actual * value;
  }
  return by_weight && weights != 0 ? weighted / weights : sum / static_cast<double>(columns.size());
}

const char* parts_of(LabelShare share) {
  switch (share) {
    case LabelShare::kPrecision:
      return "predicted";
    case LabelShare::kRecall:
      return "true";
    case LabelShare::kF1:
      return "true nor predicted";
    case LabelShare::kJaccard:
      return "true or predicted";
  }
  return "";
}

double rows_with_label(const ScoreView& column) {
  return static_cast<double>(std::ranges::count(column.y_true, 1));
}

std::int64_t rows_of(std::span<const ScoreView> columns) {
  return static_cast<std::int64_t>(columns[0].y_true.size());
}

double label_probability(const ScoreView& column, std::int64_t row) {
  return column.scores[static_cast<std::size_t>(2 * row + 1)];
}

double log_loss_of_cell(bool has_label, double p) {
  return has_label ? -clipped_log(p) : 0.0;
}

double brier_of_cell(bool has_label, double p) {
  const double distance = (has_label ? 1.0 : 0.0) - p;
  return distance * distance;
}

using CellLoss = double (*)(bool has_label, double p);

// Mean over the rows of the sums over the columns.
double mean_loss(const char* metric, std::span<const ScoreView> columns, CellLoss loss) {
  const std::int64_t n = rows_of(columns);
  double sum = 0;
  for (const ScoreView& column : columns) {
    require_probabilities(metric, column);
    sum += row_sum(n, [&](std::int64_t i) {
      return loss(column.y_true[static_cast<std::size_t>(i)] == 1, label_probability(column, i));
    });
  }
  return sum / static_cast<double>(n);
}

// The same where each row is given the share of rows that have the label.
double mean_loss_of_shares(std::span<const ScoreView> columns, CellLoss loss) {
  double sum = 0;
  for (const ScoreView& column : columns) {
    const double share = rows_with_label(column) / static_cast<double>(column.y_true.size());
    sum += share * loss(true, share) + (1 - share) * loss(false, share);
  }
  return sum;
}

double share_explained(const char* metric, std::span<const ScoreView> columns, CellLoss loss) {
  if (rows_of(columns) < 2) return std::numeric_limits<double>::quiet_NaN();
  return 1 - mean_loss(metric, columns, loss) / mean_loss_of_shares(columns, loss);
}

}   // namespace

double multilabel_score(std::span<const LabelView> columns, LabelShare share, LabelAverage average) {
  if (average == LabelAverage::kMicro) return of_all(columns).value(share);
  if (average == LabelAverage::kSamples) return mean_over_rows(columns, share);
  return mean_over_columns(columns, share, average == LabelAverage::kWeighted);
}

std::string undefined_shares(std::span<const LabelView> columns, LabelShare share, LabelAverage average) {
  const auto lacks_whole = [share](const Counts& counts) { return counts.whole(share) == 0; };
  const std::string parts = parts_of(share);
  if (average == LabelAverage::kMicro) return lacks_whole(of_all(columns)) ? "due to no " + parts + " samples" : "";
  if (average == LabelAverage::kSamples) {
    for (std::size_t i = 0; i < columns[0].y_true.size(); ++i)
      if (lacks_whole(of_row(columns, i))) return "in samples with no " + parts + " labels";
    return "";
  }
  const auto of_none = [&](const LabelView& column) { return lacks_whole(of_column(column)); };
  return std::ranges::any_of(columns, of_none) ? "in labels with no " + parts + " samples" : "";
}

double multilabel_roc_auc(std::span<const ScoreView> columns, bool weighted) {
  double sum = 0, weights = 0;
  for (const ScoreView& column : columns) {
    const double weight = weighted ? rows_with_label(column) : 1;
    if (weight == 0) continue;
    sum += weight * roc_auc_score(column), weights += weight;
  }
  return weights == 0 ? 0.0 : sum / weights;
}

double multilabel_average_precision(std::span<const ScoreView> columns) {
  double sum = 0;
  for (const ScoreView& column : columns) sum += average_precision_score(column);
  return sum / static_cast<double>(columns.size());
}

double multilabel_log_loss(std::span<const ScoreView> columns) {
  return mean_loss("log_loss", columns, log_loss_of_cell);
}

double multilabel_brier_score_loss(std::span<const ScoreView> columns) {
  return mean_loss("brier_score_loss", columns, brier_of_cell) * (columns.size() < 3 ? 0.5 : 1.0);
}

double multilabel_d2_log_loss(std::span<const ScoreView> columns) {
  const double score = share_explained("d2_log_loss_score", columns, log_loss_of_cell);
  return std::isfinite(score) ? score : std::numeric_limits<double>::quiet_NaN();
}

double multilabel_d2_brier(std::span<const ScoreView> columns) {
  return share_explained("d2_brier_score", columns, brier_of_cell);
}

bool rows_sum_to_other_than_one(std::span<const ScoreView> columns) {
  const double tolerance = std::sqrt(std::numeric_limits<double>::epsilon());
  for (std::int64_t i = 0; i < rows_of(columns); ++i) {
    double sum = 0;
    for (const ScoreView& column : columns) sum += label_probability(column, i);
    if (std::abs(sum - 1) > tolerance) return true;
  }
  return false;
}

}   // namespace kedge::engine
