// What the rows of a Samples are to be mapped to, in host memory, and on each device whose fits ask for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/core/context.h"
#include "engine/core/view.h"

namespace kedge::engine {

struct Target;

// What fits ask of a Target again and again, kept with it: its arrays on devices, and what was computed from them. A
// copy of a Target starts without, because copies are made to be changed.
class TargetOnDevices {
 public:
  TargetOnDevices();
  TargetOnDevices(const TargetOnDevices&);
  TargetOnDevices& operator=(const TargetOnDevices&);
  ~TargetOnDevices();

 private:
  friend struct Target;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// One of several target columns; host memory, one entry a row.
struct TargetOutput {
  std::string name;
  std::vector<std::int32_t> codes = {};    // of classes
  std::vector<std::string> classes = {};   // names, in code order
  std::vector<double> values = {};         // what a regressor fits; all finite

  std::int32_t n_classes() const { return static_cast<std::int32_t>(classes.size()); }
};

// The same columns with some of their rows, or with none where they have none.
std::vector<TargetOutput> rows_at(const std::vector<TargetOutput>& outputs, const std::vector<std::int32_t>& rows);

// What the rows are to be mapped to, and what they weigh, in their order. By the estimator's target_kind() either the
// class members or `values` are filled, or for a MultiOutput `outputs` in their place; host memory. Nothing of it changes after the first call of a member function.
struct Target {
  std::vector<std::int32_t> codes;    // class codes, one per row
  std::vector<std::string> classes;   // names, in code order; all classes of the data set
  std::vector<double> values;         // what a regressor fits, one per row; all finite
  std::vector<double> weights;        // sample weights, one per row, finite and >= 0; empty: all weigh 1
  std::vector<TargetOutput> outputs = {};   // the columns of a MultiOutput
  TargetOnDevices on_devices = {};

  std::int32_t n_classes() const { return static_cast<std::int32_t>(classes.size()); }

  // The same on the device of `ctx`: the members above where it uses the host's memory, elsewhere copies that the first
  // call makes. Valid as long as the Target, which the device must outlive. Any number of threads may call.
  VectorView<const std::int32_t> device_codes(const Context& ctx) const;
  MatrixView<const double> device_values(const Context& ctx) const;   // one column
  VectorView<const double> device_weights(const Context& ctx) const;
  // How many rows each class has, by code, and the largest magnitude of `values`, 0 for no rows: found on the device by
  // the first call.
  const std::vector<std::int64_t>& class_counts(const Context& ctx) const;
  double largest_value(const Context& ctx) const;
};

// The sum of weights (device).
double weight_sum(const Context& ctx, VectorView<const double> weights);

}   // namespace kedge::engine
