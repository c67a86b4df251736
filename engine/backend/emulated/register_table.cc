// See register_table.h.
#include "engine/backend/emulated/register_table.h"

#include <algorithm>
#include <array>
#include <span>

namespace kedge::engine::emulated {
namespace {

constexpr std::array kCapabilities{75, 80, 89, 90, 100};

struct KernelRegisters {
  std::string_view kernel;
  std::array<short, kCapabilities.size()> registers;   // by capability
};

// Sorted by name.
constexpr KernelRegisters kTable[] = {
#include "engine/backend/emulated/register_table.inc"
};

}   // namespace

int registers_of_a_thread(std::string_view kernel, int capability) {
  const std::span<const KernelRegisters> table(kTable);
  const auto row = std::ranges::lower_bound(table, kernel, {}, &KernelRegisters::kernel);
  const auto column = std::ranges::find(kCapabilities, capability);
  if (row == table.end() || row->kernel != kernel || column == kCapabilities.end()) return 0;
  return row->registers[static_cast<std::size_t>(column - kCapabilities.begin())];
}

}   // namespace kedge::engine::emulated
