// Prices where a provider gives none: a dated list in the source, and what the user knows better.
#pragma once

#include <map>
#include <string>

namespace kedge::provisioning {

struct Price {
  double usd_per_hour = 0;
  std::string source;
};

class ListPrices {
 public:
  // "g6.xlarge=0.81,g2-standard-4:spot=0.25": USD an hour by the offer's id. schema::Error for what cannot be read.
  explicit ListPrices(const std::string& overrides = {});
  Price of(const std::string& id, double listed, const char* list) const;

 private:
  std::map<std::string, double> prices_;
};

}   // namespace kedge::provisioning
