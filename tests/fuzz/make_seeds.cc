// Writes the seed corpora: one file for each sample of each type, in a folder per fuzzer. Run again when the
// schema grows.
#include <filesystem>
#include <fstream>

#include "tests/unit/schemas/samples.h"

namespace {

using namespace kedge::schema;

class SeedFolder {
 public:
  explicit SeedFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
  }

  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(folder_ / name, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  void write(const std::string& name, std::span<const std::byte> bytes) const {
    write(name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

 private:
  std::filesystem::path folder_;
};

template <class T>
void write_binary(const SeedFolder& folder, const std::string& name, const std::vector<T>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    folder.write(name + std::to_string(i), to_binary(values[i]));
}

template <class T>
void write_json(const SeedFolder& folder, const std::string& name, const std::vector<T>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    folder.write(name + std::to_string(i) + ".json", to_json(values[i]));
}

template <class T>
void write_both(const SeedFolder& json, const SeedFolder& binary, const std::string& name,
                const std::vector<T>& values) {
  write_json(json, name, values);
  write_binary(binary, name, values);
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path root = argc > 1 ? argv[1] : "tests/fuzz/seeds";
  const SeedFolder json(root / "json_codec"), binary(root / "binary_codec");
  write_both(json, binary, "spec", samples::specs());
  write_both(json, binary, "job", samples::jobs());
  write_both(json, binary, "event", samples::events());
  write_both<Catalogue>(json, binary, "catalogue", {{{samples::estimator()}}});
  write_both<ServerInfo>(json, binary, "server", {samples::server()});
  write_binary<WorkerCommand>(binary, "command", samples::commands());
  write_binary<WorkerReport>(binary, "report", samples::reports());
  json.write("value.json", value_to_json(samples::values()));
}
