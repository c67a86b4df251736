// For parse_bench.py: acquires an OpenML data set into an empty directory, parses its text once more, and prints the seconds of both.
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "schemas/error.h"
#include "server/data/dataset_cache.h"
#include "server/data/mapped_text.h"
#include "server/data/parse.h"

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return fmt::print(stderr, "usage: kedge_dataset_bench MIRROR_URL EMPTY_DIRECTORY OPENML_ID [ARFF]\n"), 64;
  try {
    const auto begin = std::chrono::steady_clock::now();
    kedge::server::DatasetCache cache({.directory = argv[2], .openml_url = argv[1]});
    const auto acquired = cache.acquire({kedge::schema::OpenmlRef{.id = std::atoll(argv[3])}}, {}, {});
    const std::chrono::duration<double> total = std::chrono::steady_clock::now() - begin;
    double parse = 0;
    if (argc == 5) {
      const auto start = std::chrono::steady_clock::now();
      const kedge::server::MappedText text(argv[4]);
      kedge::server::parse_arff(text.text(), {.source = argv[4], .output = acquired.path.string() + ".again"});
      parse = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    fmt::print("{:.4f} {:.4f}\n", total.count(), parse);
  } catch (const kedge::schema::Error& error) {
    return fmt::print(stderr, "{}\n", error.message), 1;
  }
}
