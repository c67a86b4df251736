// Which offers to try, in which order, and why the others are not tried: a pure function.
#pragma once

#include <string>
#include <vector>

#include "provisioning/offer.h"

namespace kedge::provisioning {

struct Refused {
  Offer offer;
  std::string reason;  // "1.21 USD/h is above the cap of 1.00"
};

struct Selection {
  std::vector<Offer> order;      // cheapest first; with spot before on-demand, all spot first
  std::vector<Refused> refused;  // cheapest first
  std::string advice;            // when order is empty: what to change
};

// Ties are broken by provider, region and id, so that equal input gives equal output.
Selection select(const Wish& wish, std::vector<Offer> offers);

}  // namespace kedge::provisioning
