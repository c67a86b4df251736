// Fits an estimator of the catalogue on the CPU and keeps what it warned of.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "engine/estimators/catalogue.h"
#include "fixture.h"

namespace kedge::engine::testing {

struct FittedWithWarnings {
  schema::ValueMap attributes;
  std::vector<std::string> warnings;
};

template <class T>
FittedWithWarnings fitted(const char* name, const schema::ValueMap& params, const Data& data,
                          const char* device_name = "cpu") {
  Device& device = device_named(device_name);
  const Loaded<T> loaded(device, data);
  FittedWithWarnings found;
  Context ctx{.device = device};
  ctx.emit = [&](schema::EventBody event) {
    if (const auto* log = std::get_if<schema::LogEvent>(&event)) found.warnings.push_back(log->message);
  };
  const CatalogueEntry* const entry = find_estimator(name);
  std::unique_ptr<Estimator<T>> estimator;
  if constexpr (std::is_same_v<T, float>) estimator = entry->make_f32(params);
  else estimator = entry->make_f64(params);
  estimator->fit(ctx, loaded.all(), loaded.target());
  found.attributes = estimator->attributes();
  return found;
}

}   // namespace kedge::engine::testing
