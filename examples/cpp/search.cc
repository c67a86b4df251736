// Searches: a grid of one parameter, grids of several, and draws from distributions. A step is called by its estimator in lower case, as in
// make_pipeline. An argument names another data set inside the server.
#include <kedge/client.h>

#include <iostream>

namespace {

void print(const char* name, const kedge::Result& result) {
  std::cout << name << ": " << result.search->bestScore << " with";
  for (const auto& [path, value] : result.search->bestParams) std::cout << ' ' << path << '=' << kedge::schema::to_string(value);
  std::cout << '\n';
}

}  // namespace

int main(int argc, char** argv) try {
  auto session = kedge::connect();
  const auto data = kedge::builtin(argc > 1 ? argv[1] : "iris");
  const auto steps = kedge::pipeline(kedge::StandardScaler{}, kedge::LogisticRegression{});

  auto grid = session.submit(data, steps, kedge::grid_search{.param_grid = {{"logisticregression__C", {0.1, 1.0, 10.0}}}});
  print("one parameter", grid.result());

  auto several = session.submit(data, steps, kedge::grid_search{.param_grid = kedge::grids({
      {{"logisticregression__C", {0.1, 1.0}}, {"standardscaler__with_mean", {true, false}}},
      {{"logisticregression", {kedge::candidate(kedge::KNeighborsClassifier{})}}, {"logisticregression__n_neighbors", {3, 5}}},
  })});
  print("several grids", several.result());

  auto draws = session.submit(data, steps, kedge::randomized_search{
      .param_distributions = {{"logisticregression__C", kedge::loguniform(1e-3, 1e3)}}, .n_iter = 5, .random_state = 0});
  print("draws", draws.result());
} catch (const kedge::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
