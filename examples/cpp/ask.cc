// Asks a stored model about the rows of a CSV file, and prints its answers: ask MODEL ROWS.csv [OUTPUT]
#include <kedge/client.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>

int main(int argc, char** argv) try {
  if (argc < 3) throw std::runtime_error("usage: ask MODEL ROWS.csv [OUTPUT]");
  std::ifstream file(argv[2], std::ios::binary);
  if (!file) throw std::runtime_error(std::string("cannot read ") + argv[2]);
  const std::string rows{std::istreambuf_iterator<char>(file), {}};
  const kedge::Session session = kedge::connect();
  std::cout << session.model(argv[1]).predict(rows,
                                              argc > 3 ? argv[3] : "predict");   // an id, or a name of the registry
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
