// The rows that a concentration step of FastMCD reads: few on the host, many on the device.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {

class McdRows {
 public:
  virtual ~McdRows() = default;
  virtual std::int64_t n() const = 0;
  virtual std::int64_t d() const = 0;
  // |F (x - location)|^2 of each row; F is d x d, host.
  virtual std::vector<double> distances(const std::vector<double>& location, const std::vector<double>& F) const = 0;
  // Mean and covariance (their count in the denominator) of some rows, d and d x d.
  virtual void moments(const std::vector<std::int32_t>& rows, std::vector<double>& location,
                       std::vector<double>& covariance) const = 0;
};

class HostMcdRows final : public McdRows {
 public:
  HostMcdRows(std::vector<double> X, std::int64_t d) : X_(std::move(X)), d_(d) {}
  std::int64_t n() const override { return static_cast<std::int64_t>(X_.size()) / d_; }
  std::int64_t d() const override { return d_; }
  const std::vector<double>& values() const { return X_; }
  std::vector<double> distances(const std::vector<double>& location, const std::vector<double>& F) const override;
  void moments(const std::vector<std::int32_t>& rows, std::vector<double>& location,
               std::vector<double>& covariance) const override;

 private:
  std::vector<double> X_;
  std::int64_t d_;
};

// Borrows the rows, which have no padding.
class DeviceMcdRows final : public McdRows {
 public:
  DeviceMcdRows(const Context& ctx, MatrixView<const double> X) : ctx_(ctx), X_(X) {}
  std::int64_t n() const override { return X_.rows; }
  std::int64_t d() const override { return X_.cols; }
  std::vector<double> distances(const std::vector<double>& location, const std::vector<double>& F) const override;
  void moments(const std::vector<std::int32_t>& rows, std::vector<double>& location,
               std::vector<double>& covariance) const override;
  // Some rows, on the host.
  HostMcdRows taken(const std::vector<std::int32_t>& rows) const;

 private:
  const Context& ctx_;
  MatrixView<const double> X_;
};

}   // namespace kedge::engine
