// Agreement of two labellings of the same rows, as the functions of the same names in sklearn.metrics (1.9); natural
// logarithms. Labels are any integers; only which rows share a label counts. n >= 1 rows. Cost: see contingency.h;
// integers are exact up to 2^31 rows.
#pragma once

#include <cstdint>
#include <span>

namespace kedge::engine {

// True labels, predicted labels; n each.
struct LabelPair {
  std::span<const std::int32_t> labels_true, labels_pred;
};

// Share of the pairs of rows on which both agree; 1 for one row.
double rand_score(const LabelPair& labels);
// The same, 0 for what chance gives (Hubert, Arabie, "Comparing partitions", 1985).
double adjusted_rand_score(const LabelPair& labels);
// Geometric mean of pairwise precision and recall (Fowlkes, Mallows, 1983); 0 if no pair is together in both.
double fowlkes_mallows_score(const LabelPair& labels);

// In nats; 0 if either has one label only.
double mutual_info_score(const LabelPair& labels);
// By the mean of both entropies.
double normalized_mutual_info_score(const LabelPair& labels);
// The same, 0 for what chance gives (Vinh, Epps, Bailey, JMLR 11, 2010); 1 if both have one label only, 0 if one of them has.
double adjusted_mutual_info_score(const LabelPair& labels);

// Mutual information by the entropy of the true (homogeneity) or the predicted labels (completeness), 1 where that is 0; the V measure
// is their harmonic mean.
struct HomogeneityCompleteness {
  double homogeneity, completeness, v_measure;
};
HomogeneityCompleteness homogeneity_completeness_v_measure(const LabelPair& labels);

}  // namespace kedge::engine
