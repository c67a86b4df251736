// The steps of cuML's Dask guide as jobs of which each is divided among the ranks of the cluster; examples/cluster has
// them as a file and in Python. An argument names another device: cpu.
#include <kedge/client.h>

#include <iostream>
#include <string>
#include <utility>
#include <vector>

int main(int argc, char** argv) try {
  const auto session = kedge::connect();
  const std::string device = argc > 1 ? argv[1] : "cluster";
  const auto data = kedge::generate(
      "make_blobs",
      {{"n_samples", 40000}, {"n_features", 8}, {"centers", 5}, {"cluster_std", 2.0}, {"random_state", 7}});
  const auto scaled = [](auto last) { return kedge::pipeline(kedge::StandardScaler{}, std::move(last)); };
  const kedge::fit_score half{.test_size = 0.5, .random_state = 0};
  std::vector<kedge::Job> jobs{
      session.submit(data, scaled(kedge::KMeans{.n_clusters = 5, .random_state = 0}), kedge::fit{}, device),
      session.submit(data, scaled(kedge::DBSCAN{.eps = 0.5, .min_samples = 20}), kedge::fit{}, device),
      session.submit(data, scaled(kedge::RandomForestClassifier{.n_estimators = 20, .random_state = 0}), half, device),
      session.submit(data, scaled(kedge::LogisticRegression{}), half, device),
      session.submit(data, scaled(kedge::KNeighborsClassifier{}), half, device)};
  for (auto& job : jobs) {
    const auto result = job.result();
    std::cout << result.fitted.back().first << ": " << result.nSamples << " rows";
    if (!result.scores.empty()) std::cout << ", accuracy " << result.mean("accuracy");
    std::cout << '\n';
  }
} catch (const kedge::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
