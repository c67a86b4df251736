// Reads the user's prices.
#include "provisioning/providers/list_prices.h"

#include <fmt/core.h>

#include <cstdlib>
#include <sstream>

#include "schemas/error.h"

namespace kedge::provisioning {

ListPrices::ListPrices(const std::string& overrides) {
  std::istringstream entries(overrides);
  for (std::string entry; std::getline(entries, entry, ',');) {
    const std::size_t equals = entry.find('=');
    char* end = nullptr;
    const double price = equals == std::string::npos ? 0 : std::strtod(entry.c_str() + equals + 1, &end);
    if (!(price > 0) || *end != 0)
      throw schema::Error(schema::ErrorCode::kInvalidValue,
                          fmt::format("a price is '{}', must be OFFER=USD-AN-HOUR and above 0", entry));
    prices_[entry.substr(0, equals)] = price;
  }
}

Price ListPrices::of(const std::string& id, double listed, const char* list) const {
  const auto found = prices_.find(id);
  return found == prices_.end() ? Price{listed, list} : Price{found->second, "yours"};
}

}   // namespace kedge::provisioning
