// Spectral embeddings and clusters of graphs that hardly have an edge: they end soon, are finite, and say what to
// change.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/core/params.h"
#include "engine/core/rng.h"
#include "fitted_with_warnings.h"

namespace kedge::engine {
namespace {

using schema::Value;
using testing::Data;
using testing::fitted;
using testing::FittedWithWarnings;

// Normal draws: rows far apart from each other, all about equally.
Data scattered(std::int64_t n_rows) {
  constexpr std::int64_t kColumns = 30;
  Data data{.n_rows = n_rows, .n_cols = kColumns, .X = {}, .y = {}, .classes = {"0"}};
  PhiloxStream random(7, 0);
  for (std::int64_t e = 0; e < n_rows * kColumns; ++e) {
    double sum = -6;   // of twelve: close enough to a normal draw
    for (int i = 0; i < 12; ++i) sum += random.uniform();
    data.X.push_back(sum);
  }
  data.y.assign(static_cast<std::size_t>(n_rows), 0);
  return data;
}

bool is_finite(const Value& value) {
  if (const auto* numbers = std::get_if<std::vector<double>>(&value.data))
    return std::ranges::all_of(*numbers, [](double x) { return std::isfinite(x); });
  const auto* rows = std::get_if<schema::ValueList>(&value.data);
  return rows && std::ranges::all_of(*rows, is_finite);
}

// gamma: rows hardly see each other (3), by numbers near the least there are (10), or most not at all (30).
class NearlyNoEdges : public ::testing::TestWithParam<double> {};

template <class T>
void expect_a_warning(double gamma, std::int64_t n_rows) {
  const Data data = scattered(n_rows);
  const FittedWithWarnings clusters = fitted<T>("SpectralClustering", {{"n_clusters", 3}, {"gamma", gamma}}, data),
                           places = fitted<T>("SpectralEmbedding", {{"affinity", "rbf"}, {"gamma", gamma}}, data);
  EXPECT_TRUE(is_finite(*find_value(clusters.attributes, "labels_")));
  EXPECT_TRUE(is_finite(*find_value(places.attributes, "embedding_")));
  for (const FittedWithWarnings* found : {&clusters, &places}) {
    ASSERT_EQ(found->warnings.size(), 1U);
    EXPECT_NE(found->warnings[0].find("the graph of the rows is not connected"), std::string::npos);
    EXPECT_NE(found->warnings[0].find(fmt::format("lower gamma, which is {}", gamma)), std::string::npos)
        << found->warnings[0];
  }
}

TEST_P(NearlyNoEdges, EndSoonAndNameGamma) {
  for (const std::int64_t n_rows : {300, 700}) {   // decomposed at once, or after steps of Lanczos
    expect_a_warning<double>(GetParam(), n_rows);
    expect_a_warning<float>(GetParam(), n_rows);
  }
}

INSTANTIATE_TEST_SUITE_P(Gammas, NearlyNoEdges, ::testing::Values(3, 10, 30));

TEST(SpectralClustering, LabelsPlacesWhoseSquaresAreNoNumbers) {
  for (const char* labels : {"kmeans", "discretize", "cluster_qr"}) {
    const FittedWithWarnings found = fitted<double>(
        "SpectralClustering", {{"gamma", 30.0}, {"n_clusters", 3}, {"assign_labels", labels}}, scattered(120));
    EXPECT_TRUE(is_finite(*find_value(found.attributes, "labels_"))) << labels;
  }
}

TEST(SpectralEmbedding, SaysWhatToChangeForNeighbours) {
  Data data = scattered(60);
  for (std::size_t e = 30 * 30; e < data.X.size(); ++e) data.X[e] += 1000;   // two heaps far apart
  const FittedWithWarnings found = fitted<double>("SpectralEmbedding", {{"n_neighbors", 5}}, data);
  ASSERT_EQ(found.warnings.size(), 1U);
  EXPECT_NE(found.warnings[0].find("raise n_neighbors"), std::string::npos) << found.warnings[0];
}

TEST(SpectralEmbedding, SaysWhereEigenvaluesDoNotDiffer) {
  const std::int64_t n = 12;   // a ring
  Data ring{
      .n_rows = n, .n_cols = n, .X = std::vector<double>(n * n), .y = std::vector<std::int32_t>(n), .classes = {"0"}};
  for (std::int64_t i = 0; i < n; ++i)
    for (const std::int64_t j : {(i + 1) % n, (i + n - 1) % n}) ring.X[static_cast<std::size_t>(i * n + j)] = 1;
  const FittedWithWarnings found = fitted<double>("SpectralEmbedding", {{"affinity", "precomputed"}}, ring);
  ASSERT_EQ(found.warnings.size(), 1U);
  EXPECT_NE(found.warnings[0].find("eigenvalues 2 and 3 of the graph do not differ"), std::string::npos)
      << found.warnings[0];
}

}   // namespace
}   // namespace kedge::engine
