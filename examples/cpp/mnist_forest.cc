// The job of examples/mnist_forest.json in C++: five-fold cross-validation of a random forest on MNIST. An argument names
// another data set inside the server, for example mnist_10k.
#include <kedge/client.h>

#include <iomanip>
#include <iostream>

int main(int argc, char** argv) try {
  auto session = kedge::connect();   // KEDGE_URL, or http://127.0.0.1:5334
  auto data = argc > 1 ? kedge::builtin(argv[1]) : kedge::openml("mnist_784", 1).rows(52667);
  auto job = session.submit(
      data.dtype("float32").scale(1 / 255.0),
      kedge::pipeline(kedge::StandardScaler{}, kedge::RandomForestClassifier{.n_estimators = 200, .random_state = 42}),
      kedge::cross_validate{.cv = 5, .scoring = {"accuracy"}});
  for (const auto& event : job.events()) std::cout << event << '\n';   // resumes by itself
  std::cout << "mean accuracy " << std::setprecision(17) << job.result().mean("accuracy") << '\n';
} catch (const kedge::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
