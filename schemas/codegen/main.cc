// Plugin of the Cap'n Proto compiler: writes what follows from the schema into the current folder. Runs at build time only.
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "schemas/codegen/generators.h"

namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

}   // namespace

int main() {
  using namespace kedge::codegen;
  try {
    const Contract contract = read_contract();
    write("schemas/wire_structs.h", wire_header(contract));
    write("schemas/wire_structs.cc", wire_source(contract));
    write("schemas/documents.inc", documents(contract));
    write("schemas/components.json.part", components(contract));
    write("kedge/tasks.h", tasks(contract));
    write("kedge/select_calls.h", select_calls(contract));
  } catch (const std::exception& e) {
    std::cerr << "kedge_contract: " << e.what() << '\n';
    return 1;
  }
}
