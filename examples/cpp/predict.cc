// A model that the server fits and keeps, a job that asks it about the rows of a data set, and its answer saved as a file.
#include <kedge/client.h>

#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

int main(int argc, char** argv) try {
  const std::string path = argc > 1 ? argv[1] : "probabilities.csv";
  auto session = kedge::connect();
  const auto fitted =
      session.submit(kedge::builtin("iris"), kedge::pipeline(kedge::StandardScaler{}, kedge::LogisticRegression{}), kedge::fit{}).result();
  auto job = session.submit(kedge::builtin("iris"),
                            kedge::predict{.model = fitted.model, .output = "predict_proba", .format = "csv"});
  std::ofstream file(path, std::ios::binary);
  for (const auto& artifact : job.result().artifacts) {   // predictions.csv
    job.download(artifact.name, [&](std::string_view piece) { file << piece; });
    std::cout << artifact.name << ": " << artifact.bytes << " bytes in " << path << '\n';
  }
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
