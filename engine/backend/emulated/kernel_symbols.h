// What the symbol table of this program says of a kernel: its name, and the variables that it shares within a block.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace kedge::engine::emulated {

struct SharedVariable {
  void* at;
  std::size_t bytes;
};

struct KernelSymbols {
  std::string name;   // "score_columns<CountedKind>": without namespaces of the project and without parameters
  std::vector<SharedVariable>
      shared;   // __shared__ variables of the kernel itself, which are its static variables here
  std::size_t shared_bytes() const;
};

// Reads the program or shared library that holds the kernel, once for each kernel. Empty where its symbols are
// stripped. Thread safe.
const KernelSymbols& symbols_of(const void* kernel);

// "void kedge::engine::(anonymous namespace)::f<kedge::engine::K>(int)" is "f<K>".
std::string short_kernel_name(std::string demangled);

}   // namespace kedge::engine::emulated
