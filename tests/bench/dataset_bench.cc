// For parse_bench.py: acquires an OpenML data set into an empty directory and prints how long download and parsing took.
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "server/data/dataset_cache.h"
#include "schemas/error.h"

int main(int argc, char** argv) {
  if (argc != 4) return fmt::print(stderr, "usage: kedge_dataset_bench MIRROR_URL EMPTY_DIRECTORY OPENML_ID\n"), 64;
  try {
    const auto begin = std::chrono::steady_clock::now();
    kedge::server::DatasetCache cache({.directory = argv[2], .openml_url = argv[1]});
    const auto acquired = cache.acquire({kedge::schema::OpenmlRef{.id = std::atoll(argv[3])}}, {}, {});
    const std::chrono::duration<double> total = std::chrono::steady_clock::now() - begin;
    fmt::print("{:.4f} {:.4f} {:.4f}\n", acquired.download_seconds, acquired.parse_seconds, total.count());
  } catch (const kedge::schema::Error& error) {
    return fmt::print(stderr, "{}\n", error.message), 1;
  }
}
