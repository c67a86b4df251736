// Parity of the layers of neural networks.
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "tests/parity/probe.h"

namespace kedge::parity {
namespace {

using engine::Activation;
using engine::OutputLoss;

template <class T>
constexpr double kFormula = 16 * std::numeric_limits<T>::epsilon();

double activated(Activation f, double x) {
  switch (f) {
    case Activation::kLogistic:
      return 1 / (1 + std::exp(-x));
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kExp:
      return std::exp(x);
    case Activation::kLeakyRelu:
      return x < 0 ? 0.01 * x : x;
    case Activation::kElu:
      return x < 0 ? std::expm1(x) : x;
    case Activation::kGelu:
      return x * std::erfc(-x / std::sqrt(2.0)) / 2;
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kIdentity:
      break;
  }
  return x;
}

double slope(Activation f, double a) {
  if (f == Activation::kLogistic) return a * (1 - a);
  if (f == Activation::kTanh) return 1 - a * a;
  return f == Activation::kRelu && a == 0 ? 0 : 1;
}

double sum_of(const Array<double>& places) {
  const auto host = places.to_host();
  return std::accumulate(host.begin(), host.end(), 0.0);
}

template <class T>
void check_activate(Probe<T>& probe) {
  const auto [n, k, unused] = probe.shape();
  const Table z = probe.numbers(n, k, 1), b = probe.numbers(1, k, 2);
  const auto bias = probe.upload(std::vector<T>(b.values.begin(), b.values.end()));
  for (const Activation f :
       {Activation::kIdentity, Activation::kLogistic, Activation::kTanh, Activation::kRelu, Activation::kExp,
        Activation::kLeakyRelu, Activation::kElu, Activation::kGelu, Activation::kSilu}) {
    Padded<T> got(probe.memory(), z);
    probe.ops().network->activate(f, bias.view(), got.view());
    Table expected = z;
    double most = 1;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < k; ++j)
        most = std::max(most, expected.at(i, j) = activated(f, z.at(i, j) + b.at(0, j)));
    }
    probe.expect_near(got.to_table(), expected, most, "activation " + std::to_string(static_cast<int>(f)));
  }
}

template <class T>
void check_backward(Probe<T>& probe) {
  const auto [n, k, unused] = probe.shape();
  const Table z = probe.numbers(n, k, 1), d = probe.numbers(n, k, 2);
  for (const Activation f : {Activation::kIdentity, Activation::kLogistic, Activation::kTanh, Activation::kRelu}) {
    Table a = z, expected = d;
    std::vector<double> sums(static_cast<std::size_t>(k), 0.0);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < k; ++j) {
        a.at(i, j) = static_cast<double>(static_cast<T>(activated(f, z.at(i, j))));
        expected.at(i, j) *= slope(f, a.at(i, j));
        sums[static_cast<std::size_t>(j)] += 0.25 * expected.at(i, j);
      }
    }
    Padded<T> got(probe.memory(), d);
    Array<T> gradient(probe.memory(), k);
    probe.ops().network->backward(f, Padded<T>(probe.memory(), a).view(), 0.25, got.view(), gradient.view());
    probe.expect_near(got.to_table(), expected, 8, "slopes");
    probe.expect_near(gradient, sums, 8 * static_cast<double>(n + 1), "sums");
  }
}

template <class T>
void check_output(
    Probe<T>& probe) {   // shape: a batch of n of n + 5 rows, k classes; one column: values, or two classes
  const auto [n, k, unused] = probe.shape();
  const Table z = probe.numbers(n, k, 1), b = probe.numbers(1, k, 2);
  Table y = probe.numbers(n + 5, 1, 3);
  for (double& value : y.values) value = std::abs(value);
  const auto batch = probe.codes(n, static_cast<int>(n + 5), 4),
             codes = probe.codes(n + 5, k > 1 ? static_cast<int>(k) : 2, 5);
  const auto weights = probe.weights(n + 5);
  const auto rows = probe.upload(batch), own = probe.upload(codes);
  const auto values = probe.upload(std::vector<T>(y.values.begin(), y.values.end()));
  const auto shares = probe.upload(weights);
  const auto bias = probe.upload(std::vector<T>(b.values.begin(), b.values.end()));
  const engine::Goals<T> goals{rows.view(), values.view(), own.view(), shares.view()};
  const auto kinds =
      k == 1 ? std::vector{OutputLoss::kSquared, OutputLoss::kPoisson, OutputLoss::kBinary, OutputLoss::kMisses}
             : std::vector{OutputLoss::kClasses, OutputLoss::kMisses};
  for (const OutputLoss kind : kinds) {
    Padded<T> got(probe.memory(), z);
    Array<double> sums(probe.memory(), engine::kLossSums);
    sums.zero();
    probe.ops().network->output(kind, bias.view(), goals, 0.5, got.view(), sums.view());
    Table expected(n, k);
    double loss = 0, most = 1;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto goal = static_cast<std::size_t>(batch[static_cast<std::size_t>(i)]);
      const double w = weights[goal], v = y.values[goal];
      std::vector<double> p(static_cast<std::size_t>(k));
      double top = -1e300, sum = 0;
      for (std::int64_t j = 0; j < k; ++j)
        top = std::max(top, p[static_cast<std::size_t>(j)] = z.at(i, j) + b.at(0, j));
      const auto best = static_cast<std::int32_t>(std::ranges::max_element(p) - p.begin());
      const double x = p[0];
      const double eps = static_cast<double>(std::numeric_limits<T>::epsilon());
      const auto clipped = [&](double share) { return std::log(std::clamp(share, eps, 1 - eps)); };
      if (kind == OutputLoss::kSquared) expected.at(i, 0) = w * (x - v), loss += w * (x - v) * (x - v) / 2;
      if (kind == OutputLoss::kPoisson) {
        expected.at(i, 0) = w * (std::exp(x) - v);
        loss += w * ((v > 0 ? v * std::log(v / std::exp(x)) : 0) - v + std::exp(x));
      }
      if (kind == OutputLoss::kBinary) {
        const double share = 1 / (1 + std::exp(-x));
        expected.at(i, 0) = w * (share - codes[goal]), loss -= w * clipped(codes[goal] ? share : 1 - share);
      }
      if (kind == OutputLoss::kClasses) {
        for (double& value : p) sum += value = std::exp(value - top);
        for (std::int64_t j = 0; j < k; ++j)
          expected.at(i, j) = w * (p[static_cast<std::size_t>(j)] / sum - (j == codes[goal] ? 1 : 0));
        loss -= w * clipped(p[static_cast<std::size_t>(codes[goal])] / sum);
      }
      if (kind == OutputLoss::kMisses) loss += w * ((k == 1 ? (x > 0 ? 1 : 0) : best) != codes[goal] ? 1 : 0);
      for (std::int64_t j = 0; j < k; ++j) most = std::max(most, std::abs(expected.at(i, j)));
    }
    const std::string name = "loss " + std::to_string(static_cast<int>(kind));
    if (kind != OutputLoss::kMisses) probe.expect_near(got.to_table(), expected, 4 * most, name + ": slopes");
    probe.expect_near(sum_of(sums), 0.5 * loss, 32 * most * static_cast<double>(n + 1), name);
  }
}

template <class T>
void check_descend(Probe<T>& probe) {   // shape: rows parameters, of which cols are weights
  const auto [n, n_weights, unused] = probe.shape();
  const Table p = probe.numbers(n, 1, 1), g = probe.numbers(n, 1, 2), m = probe.numbers(n, 1, 3);
  for (const bool is_adam : {true, false}) {
    for (const bool is_nesterov : {true, false}) {
      const engine::DescentStep step{.is_adam = is_adam,
                                     .is_nesterov = is_nesterov,
                                     .rate = 0.125,
                                     .first_decay = 0.75,
                                     .second_decay = 0.5,
                                     .epsilon = 0.25,
                                     .n_weights = n_weights,
                                     .penalty = 0.5,
                                     .loss_scale = 4};
      std::vector<double> expected, first, second;
      double squares = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const double x = p.at(i, 0), d = g.at(i, 0) + (i < n_weights ? 0.5 * x : 0), before = m.at(i, 0);
        squares += i < n_weights ? x * x : 0;
        first.push_back(is_adam ? 0.75 * before + 0.25 * d : 0.75 * before - 0.125 * d);
        second.push_back(0.5 * std::abs(before) + 0.5 * d * d);
        const double plain = is_nesterov ? 0.75 * first.back() - 0.125 * d : first.back();
        expected.push_back(x + (is_adam ? -0.125 * first.back() / (std::sqrt(second.back()) + 0.25) : plain));
      }
      auto parameters = probe.upload(std::vector<T>(p.values.begin(), p.values.end()));
      auto means = probe.upload(std::vector<T>(m.values.begin(), m.values.end()));
      std::vector<T> old(m.values.begin(), m.values.end());
      for (T& value : old) value = std::abs(value);
      auto squared = probe.upload(old);
      Array<double> sums(probe.memory(), engine::kLossSums);
      sums.zero();
      probe.ops().network->descend(step, probe.upload(std::vector<T>(g.values.begin(), g.values.end())).view(),
                                   parameters.view(), means.view(), squared.view(), sums.view());
      probe.expect_near(parameters, expected, 32, "parameters");
      probe.expect_near(means, first, 32, "first");
      if (is_adam) probe.expect_near(squared, second, 512, "second");
      probe.expect_near(sum_of(sums), squares, 64 * static_cast<double>(n + 1), "penalty");
    }
  }
}

template <class T>
void check_drop(Probe<T>& probe) {   // the same cells at each call, about as many as asked for
  const auto [n, k, unused] = probe.shape();
  Table ones(n, k);
  for (double& value : ones.values) value = 1;
  Padded<T> got(probe.memory(), ones);
  probe.ops().network->drop(0.25, 5, 77, got.view());
  const Table once = got.to_table();
  Table expected(n, k);
  std::int64_t dropped = 0;
  for (std::int64_t cell = 0; cell < n * k; ++cell) {
    const engine::PhiloxBlock block = engine::philox(5, 77, static_cast<std::uint64_t>(cell / 4));
    const bool is_dropped = block.word[cell % 4] < 0x40000000u;
    expected.values[static_cast<std::size_t>(cell)] = is_dropped ? 0 : 1 / 0.75;
    dropped += is_dropped;
  }
  probe.expect_near(once, expected, 2, "kept cells");
  EXPECT_NEAR(static_cast<double>(dropped), 0.25 * static_cast<double>(n * k),
              4 * std::sqrt(static_cast<double>(n * k)));
}

template <class T>
void check_normalize(Probe<T>& probe) {
  const auto [n, k, unused] = probe.shape();
  const Table z = probe.numbers(n, k, 1), d = probe.numbers(n, k, 2), s = probe.numbers(2, k, 3);
  const auto part = [&](std::int64_t row) {
    return std::vector<T>(s.values.begin() + row * k, s.values.begin() + (row + 1) * k);
  };
  const auto scale = probe.upload(part(0)), shift = probe.upload(part(1));
  for (const engine::NormOver over : {engine::NormOver::kBatch, engine::NormOver::kRow}) {
    const bool by_rows = over == engine::NormOver::kRow;
    const std::int64_t groups = by_rows ? n : k, length = by_rows ? k : n;
    const auto cell = [&](std::int64_t group, std::int64_t at) { return by_rows ? group * k + at : at * k + group; };
    Padded<T> got(probe.memory(), z), kept(probe.memory(), n, k), slopes(probe.memory(), d);
    Array<double> spread(probe.memory(), groups);
    std::vector<double> seen(static_cast<std::size_t>(by_rows ? 0 : 2 * k), 0.5);
    Array<double> moving(probe.memory(), std::span<const double>(seen));
    Array<T> scale_gradient(probe.memory(), k), shift_gradient(probe.memory(), k);
    probe.ops().network->normalize(over, 1e-3, scale.view(), shift.view(), got.view(), kept.view(), spread.view(), 0.25,
                                   moving.view());
    probe.ops().network->normalize_backward(over, scale.view(), std::as_const(kept).view(),
                                            std::as_const(spread).view(), 0.5, slopes.view(), scale_gradient.view(),
                                            shift_gradient.view());
    Table h(n, k), y(n, k), back(n, k);
    std::vector<double> by_scale(static_cast<std::size_t>(k)), by_shift(static_cast<std::size_t>(k));
    for (std::int64_t g = 0; g < groups; ++g) {
      double mean = 0, variance = 0, sum = 0, products = 0;
      const auto count = static_cast<double>(length);
      for (std::int64_t i = 0; i < length; ++i) mean += z.values[static_cast<std::size_t>(cell(g, i))] / count;
      for (std::int64_t i = 0; i < length; ++i)
        variance += std::pow(z.values[static_cast<std::size_t>(cell(g, i))] - mean, 2) / count;
      const double own = 1 / std::sqrt(variance + 1e-3);
      for (std::int64_t i = 0; i < length; ++i) {
        const auto c = static_cast<std::size_t>(cell(g, i));
        const std::int64_t j = by_rows ? i : g;
        h.values[c] = (z.values[c] - mean) * own;
        y.values[c] = s.at(0, j) * h.values[c] + s.at(1, j);
        sum += s.at(0, j) * d.values[c], products += s.at(0, j) * d.values[c] * h.values[c];
        by_shift[static_cast<std::size_t>(j)] += 0.5 * d.values[c],
            by_scale[static_cast<std::size_t>(j)] += 0.5 * d.values[c] * h.values[c];
      }
      for (std::int64_t i = 0; i < length; ++i) {
        const auto c = static_cast<std::size_t>(cell(g, i));
        back.values[c] = own * (s.at(0, by_rows ? i : g) * d.values[c] - sum / count - h.values[c] * products / count);
      }
      if (by_rows || n == 0) continue;
      seen[static_cast<std::size_t>(g)] += 0.25 * (mean - 0.5);
      seen[static_cast<std::size_t>(k + g)] += 0.25 * (variance * (n > 1 ? count / (count - 1) : 1) - 0.5);
    }
    if (n == 0) continue;
    const std::string name = by_rows ? "rows: " : "batch: ";
    probe.expect_near(kept.to_table(), h, 256, name + "h");
    probe.expect_near(got.to_table(), y, 2048, name + "values");
    probe.expect_near(slopes.to_table(), back, 65536, name + "slopes");   // the spread of near equal values is up to 30
    probe.expect_near(scale_gradient, by_scale, 512 * static_cast<double>(n + 1), name + "scale");
    probe.expect_near(shift_gradient, by_shift, 64 * static_cast<double>(n + 1), name + "shift");
    if (by_rows) continue;
    probe.expect_near(moving, seen, 256, "moving");
    Padded<T> later(probe.memory(), z);
    probe.ops().network->normalize_as_seen(1e-3, scale.view(), shift.view(), std::as_const(moving).view(),
                                           later.view());
    Table by_seen(n, k);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < k; ++j)
        by_seen.at(i, j) = s.at(0, j) * (z.at(i, j) - seen[static_cast<std::size_t>(j)]) /
                               std::sqrt(seen[static_cast<std::size_t>(k + j)] + 1e-3) +
                           s.at(1, j);
    probe.expect_near(later.to_table(), by_seen, 2048, "as seen");
  }
}

template <class T>
void check_clip(Probe<T>& probe) {
  const auto [n, unused, unused2] = probe.shape();
  const Table g = probe.numbers(n, 1, 1);
  double squares = 0;
  for (const double value : g.values) squares += value * value;
  for (const double most : {0.5, 1e9}) {
    auto got = probe.upload(std::vector<T>(g.values.begin(), g.values.end()));
    Array<double> places(probe.memory(), engine::kLossSums);
    probe.ops().network->clip_norm(most, got.view(), places.view());
    std::vector<double> expected = g.values;
    for (double& value : expected) value *= std::min(1.0, most / (std::sqrt(squares) + 1e-6));
    probe.expect_near(got, expected, 8, "clipped");
  }
}

template <class T>
void check_embed(Probe<T>& probe) {   // shape: n rows of two columns of codes between two others, k codes, vectors of w
  const auto [n, k, w] = probe.shape();
  const std::vector<std::int32_t> columns{3, 1};
  const auto codes = probe.codes(2 * n, static_cast<int>(k), 1);
  Table x = probe.numbers(n, 5, 2, -100);   // the others are no codes
  const auto code_at = [&](std::int64_t i, std::int64_t c) { return codes[static_cast<std::size_t>(2 * i + c)]; };
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t c = 0; c < 2; ++c) x.at(i, columns[static_cast<std::size_t>(c)]) = code_at(i, c);
  const Table table = probe.numbers(k, w, 3), d = probe.numbers(n, 2 * w, 4);
  Table expected(n, 2 * w), gradient(k, w);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t c = 0; c < 2; ++c) {
      for (std::int64_t j = 0; j < w; ++j) {
        expected.at(i, c * w + j) = table.at(code_at(i, c), j);
        gradient.at(code_at(i, c), j) += d.at(i, c * w + j);
      }
    }
  }
  for (double& value : gradient.values) value *= 0.25;
  const auto named = probe.upload(columns);
  Padded<T> X(probe.memory(), x), vectors(probe.memory(), n, 2 * w), back(probe.memory(), k, w);
  engine::NetworkOps<T>& ops = *probe.ops().network;
  EXPECT_FALSE(ops.find_no_code(std::as_const(X).view(), named.view(), k));
  ops.embed(std::as_const(X).view(), named.view(), Padded<T>(probe.memory(), table).view(), vectors.view());
  probe.expect_near(vectors.to_table(), expected, 0, "vectors");
  ops.embed_backward(std::as_const(X).view(), named.view(), 0.25, Padded<T>(probe.memory(), d).view(), back.view());
  probe.expect_near(back.to_table(), gradient, 0, "gradient");   // sums of eighths, which are exact
  for (const double wrong : {-1.0, static_cast<double>(k), 0.5, std::numeric_limits<double>::quiet_NaN()}) {
    if (n == 0) break;
    Table bad = x;
    bad.at(n - 1, 3) = bad.at(n / 2, 1) = bad.at(n / 2, 3) = wrong;
    const auto cell = ops.find_no_code(Padded<T>(probe.memory(), bad).view(), named.view(), k);
    ASSERT_TRUE(cell) << wrong;
    EXPECT_EQ(cell->row, n / 2) << wrong;
    EXPECT_EQ(cell->col, 1) << wrong;
  }
}

}   // namespace

template <class T>
std::vector<Row<T>> network_rows() {
  return {
      {"network_activate",
       kFormula<T>,
       &check_activate<T>,
       {{1, 1, 0}, {200, 100, 0}, {33, 7, 0}, {0, 5, 0}, {3000, 3, 0}}},
      {"network_backward",
       kFormula<T>,
       &check_backward<T>,
       {{1, 1, 0}, {200, 100, 0}, {300, 33, 0}, {0, 5, 0}, {3000, 3, 0}}},
      {"network_output",
       kFormula<T>,
       &check_output<T>,
       {{1, 1, 0}, {200, 1, 0}, {200, 10, 0}, {300, 3, 0}, {0, 2, 0}, {40000, 1, 0}}},
      {"network_descend", kFormula<T>, &check_descend<T>, {{1, 1, 0}, {500, 400, 0}, {300, 0, 0}, {50000, 49000, 0}}},
      {"network_drop", kFormula<T>, &check_drop<T>, {{1, 1, 0}, {200, 100, 0}, {0, 5, 0}, {3000, 3, 0}}},
      {"network_normalize",
       kFormula<T>,
       &check_normalize<T>,
       {{1, 2, 0}, {200, 100, 0}, {300, 33, 0}, {0, 5, 0}, {3000, 3, 0}}},
      {"network_embed",
       kFormula<T>,
       &check_embed<T>,
       {{1, 1, 1}, {200, 40, 8}, {300, 7, 33}, {0, 5, 2}, {3000, 1000, 3}, {500, 1, 16}}},
      {"network_clip", kFormula<T>, &check_clip<T>, {{1, 0, 0}, {500, 0, 0}, {50000, 0, 0}}},
  };
}
template std::vector<Row<float>> network_rows<float>();
template std::vector<Row<double>> network_rows<double>();

}   // namespace kedge::parity
