// Reads ELF symbol tables: see kernel_symbols.h.
#include "engine/backend/emulated/kernel_symbols.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <string_view>
#include <unordered_map>

namespace kedge::engine::emulated {
namespace {

// The symbols of one loaded object that matter here, with their addresses in this process.
class ObjectSymbols {
 public:
  ObjectSymbols(const char* file, std::uintptr_t load_address) {
    const int fd = ::open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat info{};
    if (::fstat(fd, &info) == 0) read(fd, static_cast<std::size_t>(info.st_size), load_address);
    ::close(fd);
  }

  std::string_view function_at(const void* place) const {
    const auto found = functions_.find(reinterpret_cast<std::uintptr_t>(place));
    return found == functions_.end() ? std::string_view{} : found->second;
  }
  // The static variables of a function, by its mangled name.
  std::vector<SharedVariable> variables_of(std::string_view function) const {
    const std::string prefix = "_ZZ" + std::string(function.substr(2)) + "E";
    std::vector<SharedVariable> found;
    for (auto at = variables_.lower_bound(prefix); at != variables_.end() && at->first.starts_with(prefix); ++at)
      found.push_back(at->second);
    return found;
  }

 private:
  void read(int fd, std::size_t bytes, std::uintptr_t load_address) {
    void* const file = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED) return;
    const char* const base = static_cast<const char*>(file);
    const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(base);
    const std::span sections(reinterpret_cast<const Elf64_Shdr*>(base + header.e_shoff), header.e_shnum);
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type != SHT_SYMTAB) continue;
      const char* const names = base + sections[section.sh_link].sh_offset;
      for (const Elf64_Sym& symbol :
           std::span(reinterpret_cast<const Elf64_Sym*>(base + section.sh_offset), section.sh_size / sizeof(Elf64_Sym)))
        take(symbol, names + symbol.st_name, load_address, sections);
    }
    ::munmap(file, bytes);
  }

  // Shared variables are never initialised, so they lie in .bss.
  void take(const Elf64_Sym& symbol, const char* name, std::uintptr_t load_address,
            std::span<const Elf64_Shdr> sections) {
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections.size()) return;
    const std::uintptr_t place = load_address + symbol.st_value;
    const auto type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_FUNC && std::strncmp(name, "_Z", 2) == 0) functions_.emplace(place, name);
    if (type == STT_OBJECT && std::strncmp(name, "_ZZ", 3) == 0 && sections[symbol.st_shndx].sh_type == SHT_NOBITS)
      variables_[name] = {reinterpret_cast<void*>(place), symbol.st_size};
  }

  std::unordered_map<std::uintptr_t, std::string> functions_;
  std::map<std::string, SharedVariable, std::less<>> variables_;
};

const ObjectSymbols& object_of(const void* place) {
  static std::map<std::string, std::unique_ptr<const ObjectSymbols>> objects;   // by file
  Dl_info info{};
  const link_map* object = nullptr;
  if (::dladdr1(place, &info, reinterpret_cast<void**>(const_cast<link_map**>(&object)), RTLD_DL_LINKMAP) == 0)
    std::abort();
  const std::string file = *object->l_name ? object->l_name : "/proc/self/exe";
  std::unique_ptr<const ObjectSymbols>& symbols = objects[file];
  if (!symbols) symbols = std::make_unique<const ObjectSymbols>(file.c_str(), object->l_addr);
  return *symbols;
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : name;
}

void erase_all(std::string& text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) text.erase(at, part.size());
}

}   // namespace

std::size_t KernelSymbols::shared_bytes() const {
  return std::accumulate(shared.begin(), shared.end(), std::size_t{0},
                         [](std::size_t sum, const SharedVariable& v) { return sum + v.bytes; });
}

std::string short_kernel_name(std::string name) {
  for (const char* part : {"(anonymous namespace)::", "kedge::engine::"}) erase_all(name, part);
  int depth = 0;   // of template arguments, which may hold brackets and spaces of their own
  std::size_t begin = 0, end = name.size();
  for (std::size_t i = 0; i < end; ++i) {
    depth += (name[i] == '<') - (name[i] == '>');
    if (depth == 0 && name[i] == ' ') begin = i + 1;
    if (depth == 0 && name[i] == '(') end = i;
  }
  return name.substr(begin, end - begin);
}

const KernelSymbols& symbols_of(const void* kernel) {
  static std::mutex guard;
  static std::unordered_map<const void*, KernelSymbols> known;
  const std::lock_guard lock(guard);
  const auto [found, is_new] = known.try_emplace(kernel);
  if (!is_new) return found->second;
  const ObjectSymbols& object = object_of(kernel);
  const std::string name(object.function_at(kernel));
  if (!name.empty()) found->second = {short_kernel_name(demangled(name)), object.variables_of(name)};
  return found->second;
}

}   // namespace kedge::engine::emulated
