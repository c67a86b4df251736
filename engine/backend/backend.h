// The closed set of numerical operations, by family. Estimators are written on these alone; each family has a CPU and a
// CUDA body.
#pragma once

#include <memory>

#include "engine/backend/ops/bayes.h"
#include "engine/backend/ops/categories.h"
#include "engine/backend/ops/clusters.h"
#include "engine/backend/ops/columns.h"
#include "engine/backend/ops/convex.h"
#include "engine/backend/ops/design.h"
#include "engine/backend/ops/distances.h"
#include "engine/backend/ops/factorise.h"
#include "engine/backend/ops/linear.h"
#include "engine/backend/ops/logistic.h"
#include "engine/backend/ops/maps.h"
#include "engine/backend/ops/neighbours.h"
#include "engine/backend/ops/network.h"
#include "engine/backend/ops/rows.h"
#include "engine/backend/ops/sparse.h"
#include "engine/backend/ops/tables.h"
#include "engine/backend/ops/trees.h"
#include "engine/core/array.h"
#include "engine/core/device.h"

namespace kedge::engine {

// The operations of one device for T = float or double. Every view is device memory of that device, unless its name has
// `_host` at its end. `rows` names rows of X by index; an empty view means all rows in order. Sums are in double over
// fixed tiles, so a result does not depend on the number of threads. Thread safety: one caller at a time.
template <class T>
struct Backend {
  std::unique_ptr<TableOps<T>> tables;
  std::unique_ptr<LinearOps<T>> linear;
  std::unique_ptr<FactoriseOps<T>> factorise;
  std::unique_ptr<DesignOps<T>> design;
  std::unique_ptr<RowOps<T>> rows;
  std::unique_ptr<LogisticOps<T>> logistic;
  std::unique_ptr<NeighbourOps<T>> neighbours;
  std::unique_ptr<DistanceOps<T>> distances;
  std::unique_ptr<BayesOps<T>> bayes;
  std::unique_ptr<ColumnOps<T>> columns;
  std::unique_ptr<CategoryOps<T>> categories;
  std::unique_ptr<MapOps<T>> maps;
  std::unique_ptr<ClusterOps<T>> clusters;
  std::unique_ptr<SparseOps<T>> sparse;
  std::unique_ptr<ConvexOps<T>> convex;
  std::unique_ptr<NetworkOps<T>> network;
};

// One device with everything that runs on it. A resource: made once per process by engine/backend/loader.h.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual DeviceTraits traits() const { return {}; }   // memory of its own, one fit at a time
  virtual Memory& memory() = 0;
  virtual Backend<float>& f32() = 0;
  virtual Backend<double>& f64() = 0;
  virtual TreeOps& trees() = 0;

  template <class T>
  Backend<T>& ops();
};

template <>
inline Backend<float>& Device::ops<float>() { return f32(); }
template <>
inline Backend<double>& Device::ops<double>() { return f64(); }

}  // namespace kedge::engine
