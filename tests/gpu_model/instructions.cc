// Reads the disassembly line by line: a block begins after a call of __sanitizer_cov_trace_pc and ends before the next
// one.
#include "tests/gpu_model/instructions.h"

#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

extern "C" void __sanitizer_cov_trace_pc();
extern "C" char __executable_start;   // the linker's

namespace kedge::gpu_model {
namespace {

constexpr std::uintptr_t kLowestLoadAddress = std::uintptr_t{1} << 32;

// One line of the disassembly: "  4011d6:\tvmovss 0x8(%rsp),%xmm0". Operands end where the line or a comment does.
struct Line {
  std::uintptr_t address = 0;
  std::string mnemonic, operands;

  static std::optional<Line> read(const char* text) {
    unsigned long address = 0;
    char mnemonic[64] = "";
    int end = 0;
    if (std::sscanf(text, " %lx:\t%63s%n", &address, mnemonic, &end) != 2) return std::nullopt;
    std::string_view rest(text + end);
    rest = rest.substr(0, rest.find_first_of("#\n"));
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    while (rest.ends_with(' ')) rest.remove_suffix(1);
    return Line{address, mnemonic, std::string(rest)};
  }
  bool calls(std::string_view name) const {
    return mnemonic.starts_with("call") && operands.find(fmt::format("<{}", name)) != std::string::npos;
  }
};

// What a GPU does not do: it has registers for what this processor keeps on the stack, above all around the counting
// calls, one file of them for numbers of all kinds, and instructions that name where their result goes.
bool is_only_here(const Line& line) {
  const std::string_view name = line.mnemonic, operands = line.operands;
  if (name.starts_with("nop") || name.starts_with("push") || name.starts_with("pop") || name == "xchg" ||
      name == "endbr64" || name == "data16" || name == "cs")
    return true;
  const bool extends = name.starts_with("movs") && !name.starts_with("movss") && !name.starts_with("movsd");
  if (!(name.starts_with("mov") || name.starts_with("vmov")) || extends || name.starts_with("movz")) return false;
  const bool has_memory = operands.find('(') != std::string_view::npos;
  // An index into the stack is one into an array, which a GPU has in memory, too.
  return has_memory ? operands.find("(%rsp)") != std::string_view::npos : operands.starts_with('%');
}

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

// The cost of a block, instruction by instruction. An address that is computed for a counting call is computed by the
// access itself.
class BlockReader {
 public:
  void read(const Line& line) {
    if (line.calls("__tsan_")) {
      if (last_is_address_) cost_.all -= 1;
      last_is_address_ = false;
      return;
    }
    if (is_only_here(line)) return;
    add(line.mnemonic, cost_);
    last_is_address_ = line.operands.ends_with(",%rdi");
  }
  const BlockCost& cost() const { return cost_; }

 private:
  BlockCost cost_;
  bool last_is_address_ = false;
};

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
  BlockReader block;
  const auto close = [&] {
    if (begins) table[begins] = block.cost();
    begins = 0;
  };
  char text[512];
  while (std::fgets(text, sizeof text, pipe.get())) {
    const std::optional<Line> line = Line::read(text);
    if (!line) {   // a function's name, or nothing
      close();
      opens = false;
      continue;
    }
    if (opens) begins = line->address + base, block = {}, opens = false;
    if (line->calls("__sanitizer_cov_trace_pc")) {
      close();
      opens = true;
    } else if (begins) {
      block.read(*line);
    }
  }
  if (table.empty()) throw std::runtime_error("objdump shows no kernel in this program: is binutils installed?");
  return table;
}

}   // namespace kedge::gpu_model
