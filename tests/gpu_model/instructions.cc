// Reads the disassembly line by line: a block begins after a call of __sanitizer_cov_trace_pc and ends before the next
// one.
#include "tests/gpu_model/instructions.h"

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string_view>

extern "C" void __sanitizer_cov_trace_pc();
extern "C" char __executable_start;   // the linker's

namespace kedge::gpu_model {
namespace {

constexpr std::uintptr_t kLowestLoadAddress = std::uintptr_t{1} << 32;

// "addss", "vfmadd213sd": what it computes on scalars; moves, conversions and comparisons count as instructions alone.
// A fused multiply-add is one operation: it takes the time of one addition.
void add(std::string_view mnemonic, BlockCost& cost) {
  cost.all += 1;
  if (mnemonic.size() < 5 || (!mnemonic.ends_with("ss") && !mnemonic.ends_with("sd"))) return;
  const bool is_double = mnemonic.ends_with("sd");
  if (mnemonic[0] == 'v') mnemonic.remove_prefix(1);
  const auto is = [&](std::string_view name) { return mnemonic.starts_with(name); };
  if (is("div") || is("sqrt")) cost.special += 1;
  else if (is("fm") || is("fnm") || is("add") || is("sub") || is("mul") || is("min") || is("max"))
    (is_double ? cost.f64 : cost.f32) += 1;
}

}   // namespace

InstructionTable read_own_instructions() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
      popen("objdump --disassemble --no-show-raw-insn /proc/$PPID/exe 2>/dev/null", "r"), &pclose);
  if (!pipe) throw std::runtime_error("cannot start objdump");
  auto base = reinterpret_cast<std::uintptr_t>(&__executable_start);
  if (base < kLowestLoadAddress) base = 0;   // linked to stay where it is: its addresses are those of the file
  InstructionTable table;
  std::uintptr_t begins = 0;
  bool opens = false;
  BlockCost cost;
  char line[512];
  while (std::fgets(line, sizeof line, pipe.get())) {
    unsigned long address = 0;
    char mnemonic[64] = "";
    if (std::sscanf(line, " %lx:\t%63s", &address, mnemonic) != 2) {   // a function's name, or nothing
      if (begins) table[begins] = cost;
      begins = 0, opens = false;
      continue;
    }
    if (opens) begins = address + base, cost = {}, opens = false;
    const std::string_view text(line);
    if (text.find("call") != std::string_view::npos &&
        text.find("<__sanitizer_cov_trace_pc") != std::string_view::npos) {
      if (begins) table[begins] = cost;
      begins = 0, opens = true;
    } else if (begins && text.find("<__tsan_") == std::string_view::npos) {
      add(mnemonic, cost);
    }
  }
  if (table.empty()) throw std::runtime_error("objdump shows no kernel in this program: is binutils installed?");
  return table;
}

}   // namespace kedge::gpu_model
