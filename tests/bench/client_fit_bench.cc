// What a C++ program waits for when its data is sent and fitted: run by client_fit.py.
#include <kedge/client.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

// Reads names of .npz files on stdin, a line each. For each: upload, LinearRegression on the server's CPU, the model
// back; writes the seconds of all three.
int main() try {
  const auto session = kedge::connect();
  for (std::string file; std::getline(std::cin, file);) {
    const auto begun = std::chrono::steady_clock::now();
    session.upload("table", file, "npz");
    const auto fitted =
        session.submit(kedge::stored("table"), kedge::pipeline(kedge::LinearRegression{}), kedge::fit{}, "cpu")
            .result();
    const std::string model = session.model(fitted.model).download();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun;
    if (model.empty()) throw std::runtime_error("an empty model");
    std::printf("%.6f\n", passed.count());
    std::fflush(stdout);
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
