// Steps of networks by a queue of batches, one by one and recorded, give the bits of those whose numbers the host
// gives.
#include "tests/parity/batch_rows.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "engine/backend/ops/batch_steps.h"
#include "engine/backend/recorded_steps.h"
#include "tests/parity/probe.h"

namespace kedge::parity {
namespace {

constexpr std::int64_t kBatches = 3;
constexpr double kDropped = 0.25;
constexpr std::uint64_t kSeed = 5, kLayer = 258;

// What batches change, from the same start each time. The gradient is what dropout left of the batch's rows.
template <class T>
class Descent {
 public:
  Descent(engine::Device& device, const Shape& shape)
      : device_(device),
        probe_(device, shape, 0, no_watch_),
        n_(shape.rows),
        k_(shape.cols),
        X_(upload(probe_, probe_.numbers(kBatches * n_, k_ + shape.k, 1))),
        rows_(probe_.memory(), n_),
        taken_(probe_.memory(), n_, k_),
        order_(probe_.upload(probe_.codes(kBatches * n_, static_cast<int>(kBatches * n_), 2))),
        sums_(probe_.memory(), engine::kLossSums) {
    for (std::int64_t b = 0; b < kBatches; ++b) {   // neither the order nor the numbers follow from the place
      const auto x = static_cast<double>(b);
      numbers_.push_back(
          {.first = (kBatches - 1 - b) * n_, .step = 7 + 2 * b, .rate = 0.125 / (x + 1), .shrinkage = 0.0625 * x});
    }
    const Table start = probe_.numbers(n_ * k_, 1, 3);
    const std::vector<T> values(start.values.begin(), start.values.end());
    std::vector<T> squares = values;
    for (T& value : squares) value = std::abs(value);
    parameters_ = probe_.upload(values), first_ = probe_.upload(values), second_ = probe_.upload(squares);
    sums_.zero();
  }

  void by_host(const engine::DescentStep& like) {
    for (const engine::BatchNumbers& own : numbers_) {
      const auto rows = std::as_const(order_).view().slice(own.first, n_);
      probe_.ops().tables->gather(X(), rows, {}, {}, taken_.view());
      network().drop(kDropped, kSeed, engine::dropout_stream(own.step, kLayer), taken_.view());
      engine::DescentStep step = like;
      step.rate = own.rate, step.shrinkage = own.shrinkage;
      network().descend(step, gradient(), parameters_.view(), first_.view(), second_.view(), sums_.view());
    }
  }
  void in_queue(const engine::DescentStep& like, bool is_recorded) {
    const Array<engine::BatchNumbers> all = probe_.upload(numbers_);
    Array<std::int64_t> next = probe_.upload(std::vector<std::int64_t>{0});
    Array<engine::BatchNumbers> now(probe_.memory(), 1);
    const engine::BatchQueue queue{all.view(), next.view(), now.view()};
    engine::BatchOps<T>& ops = *engine::batch_ops(network());
    const auto step = [&] {
      ops.take_batch(queue, X(), std::as_const(order_).view(), rows_.view(), taken_.view());
      ops.drop_in_batch(queue, kDropped, kSeed, kLayer, taken_.view());
      ops.descend_in_batch(queue, like, gradient(), parameters_.view(), first_.view(), second_.view(), sums_.view());
    };
    if (!is_recorded) {
      for (std::int64_t b = 0; b < kBatches; ++b) step();
      return;
    }
    const auto steps = engine::step_recorder(device_)->record(step);
    ASSERT_TRUE(steps != nullptr);
    for (std::int64_t b = 0; b < kBatches; ++b) steps->run();
    std::vector<std::int32_t> last = order_.to_host();   // the last batch has the order's first rows
    last.resize(static_cast<std::size_t>(n_));
    EXPECT_TRUE(rows_.to_host() == last);
  }

  // All that batches have changed.
  std::vector<double> state() const {
    std::vector<double> all = sums_.to_host();
    for (const Array<T>* part : {&parameters_, &first_, &second_}) {
      const std::vector<T> host = part->to_host();
      all.insert(all.end(), host.begin(), host.end());
    }
    return all;
  }

 private:
  static Matrix<T> upload(Probe<T>& probe, const Table& table) {
    return {probe.memory(), table.rows, table.cols, std::vector<T>(table.values.begin(), table.values.end())};
  }
  MatrixView<const T> X() const { return {X_.data(), X_.rows(), k_, X_.cols()}; }   // shape.k more lie between rows
  engine::NetworkOps<T>& network() { return *probe_.ops().network; }
  VectorView<const T> gradient() const { return {taken_.data(), n_ * k_}; }

  const LaunchWatch no_watch_;
  engine::Device& device_;
  Probe<T> probe_;
  std::int64_t n_, k_;
  Matrix<T> X_;
  Array<std::int32_t> rows_;
  Matrix<T> taken_;
  Array<std::int32_t> order_;
  Array<double> sums_;
  std::vector<engine::BatchNumbers> numbers_;
  Array<T> parameters_, first_, second_;
};

template <class T>
void check(engine::Device& device, const Shape& shape) {
  if (!engine::batch_ops(*device.ops<T>().network)) return;   // a device that records nothing
  engine::DescentStep like{.epsilon = 0.25, .n_weights = shape.rows * shape.cols / 2, .penalty = 0.5, .loss_scale = 4};
  for (const bool is_adam : {true, false}) {
    like.is_adam = is_adam, like.is_rmsprop = !is_adam;
    Descent<T> host(device, shape), queued(device, shape), recorded(device, shape);
    host.by_host(like);
    queued.in_queue(like, false);
    EXPECT_TRUE(queued.state() == host.state()) << "one by one, other bits than by the host's numbers";
    if (!engine::step_recorder(device)) continue;
    recorded.in_queue(like, true);
    EXPECT_TRUE(recorded.state() == host.state()) << "recorded, other bits than by the host's numbers";
  }
}

}   // namespace

std::vector<Case> batch_cases() {
  std::vector<Case> cases;
  const auto add = [&](const char* dtype, auto check_shape) {
    for (const Shape& shape : {Shape{1, 1, 0}, Shape{200, 8, 0}, Shape{40, 8, 4}, Shape{33, 7, 3}, Shape{300, 130, 0}})
      cases.push_back({"network_batches", dtype, shape, [=](engine::Device& device, const LaunchWatch&) {
                         Findings findings;
                         check_shape(device, shape);
                         return findings.take();
                       }});
  };
  add("float32", &check<float>);
  add("float64", &check<double>);
  return cases;
}

}   // namespace kedge::parity
