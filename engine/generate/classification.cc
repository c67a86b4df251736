// sklearn.datasets.make_classification. Source: Guyon, "Design of experiments for the NIPS 2003 variable selection
// benchmark", 2003; the order of the draws is scikit-learn's.
#include <algorithm>
#include <cmath>

#include "engine/core/stop.h"
#include "engine/generate/generators.h"

namespace kedge::engine::generate {
namespace {

constexpr const char* kName = "make_classification";

struct Params {
  std::int64_t n_samples = 100, n_features = 20, n_informative = 2, n_redundant = 2, n_repeated = 0, n_classes = 2,
               n_clusters_per_class = 2, random_state = 0;
  schema::Value weights = {};   // a list, or null
  double flip_y = 0.01, class_sep = 1;
  bool hypercube = true, shuffle = true;
  std::optional<double> shift = 0.0, scale = 1.0;

  std::int64_t n_clusters() const { return n_classes * n_clusters_per_class; }
  std::int64_t n_random() const { return n_features - n_informative - n_redundant - n_repeated; }
};

const ParamSet<Params>& param_set() {
  static const ParamSet<Params> set = [] {
    ParamSet<Params> made(kName);
    add_common(made)
        .add("n_features", &Params::n_features, at_least(1), "Columns.")
        .add("n_informative", &Params::n_informative, at_least(1), "Columns that the classes depend on.")
        .add("n_redundant", &Params::n_redundant, at_least(0), "Columns that are combinations of informative ones.")
        .add("n_repeated", &Params::n_repeated, at_least(0), "Columns that are copies.")
        .add("n_classes", &Params::n_classes, between(1, 10000), "Classes.")
        .add("n_clusters_per_class", &Params::n_clusters_per_class, between(1, 10000), "Clusters of a class.")
        .any("weights", &Params::weights, {array_form(), null_form()}, "Share of each class; null: all the same.")
        .add("flip_y", &Params::flip_y, between(0, 1), "Share of the rows whose class is drawn at random.")
        .add("class_sep", &Params::class_sep, at_least(0), "Distance of the clusters from the middle.")
        .add("hypercube", &Params::hypercube, "Whether the clusters lie on the corners of a cube.")
        .add("shift", &Params::shift, {}, "Added to every cell; null: drawn for each column.")
        .add("scale", &Params::scale, {}, "Factor of every cell after that; null: drawn for each column.")
        .add("shuffle", &Params::shuffle, "Whether rows and columns are shuffled.");
    return made;
  }();
  return set;
}

std::vector<double> shares(const Params& p) {
  if (p.weights.is_null())
    return std::vector<double>(static_cast<std::size_t>(p.n_classes), 1.0 / static_cast<double>(p.n_classes));
  std::vector<double> weights = numbers_of(p.weights).value();
  double sum = 0;
  for (const double weight : weights) sum += weight;
  if (static_cast<std::int64_t>(weights.size()) == p.n_classes - 1) weights.push_back(1.0 - sum);
  return weights;
}

// Centres, and the matrices that mix columns. Factors are bounded first, so that no product overflows.
void check_held(const Params& p) {
  constexpr std::int64_t kMostClusters = 100'000, kMostInformative = 3'000;
  if (p.n_informative > kMostInformative) refuse_param(kName, "n_informative", p.n_informative, "must be at most 3000");
  if (p.n_clusters() > kMostClusters)
    refuse_param(kName, "n_classes", p.n_classes, "times n_clusters_per_class must be at most 100000");
  if (p.n_clusters() * p.n_informative > kMostHeld)
    refuse_param(kName, "n_informative", p.n_informative, "times the clusters must be at most 10000000");
  if (p.n_redundant > kMostHeld / p.n_informative)
    refuse_param(kName, "n_redundant", p.n_redundant, "times n_informative must be at most 10000000");
}

void check(const Params& p) {
  check_held(p);
  if (p.n_informative + p.n_redundant + p.n_repeated > p.n_features)
    refuse_param(kName, "n_features", p.n_features, "must be at least n_informative + n_redundant + n_repeated");
  if (static_cast<double>(p.n_informative) < std::log2(static_cast<double>(p.n_clusters())))
    refuse_param(kName, "n_classes", p.n_classes,
                 "times n_clusters_per_class must be at most 2 to the power of n_informative");
  if (p.weights.is_null()) return;
  const std::vector<double> given = numbers_of(p.weights).value(), all = shares(p);
  const auto n = static_cast<std::int64_t>(given.size());
  const bool are_shares = std::ranges::all_of(given, [](double w) { return w >= 0 && w <= 1; });
  double sum = 0;
  for (const double weight : all) sum += weight;
  constexpr double kRounding = 1e-9;
  if ((n != p.n_classes && n != p.n_classes - 1) || !are_shares || all.back() < 0 || sum > 1 + kRounding)
    refuse_param(kName, "weights", p.weights,
                 "must have a share from 0 to 1 for each class, or for all but the last, at most 1 in all");
}

std::vector<std::int64_t> cluster_sizes(const Params& p) {
  const std::vector<double> weights = shares(p);
  std::vector<std::int64_t> sizes;
  std::int64_t left = p.n_samples;
  for (std::int64_t k = 0; k < p.n_clusters(); ++k) {
    const double share = static_cast<double>(p.n_samples) * weights[static_cast<std::size_t>(k % p.n_classes)];
    sizes.push_back(static_cast<std::int64_t>(share / static_cast<double>(p.n_clusters_per_class)));
    left -= sizes.back();
  }
  for (std::int64_t i = 0; i < left; ++i) ++sizes[static_cast<std::size_t>(i % p.n_clusters())];
  return sizes;
}

// A matrix by rows.
struct Block {
  std::int64_t cols;
  std::vector<double> values;
  double& at(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i * cols + j)]; }
};

// Corners of a cube of so many dimensions, all different: 0 or 1.
void draw_corners(Block& corners, std::int64_t samples, std::int64_t dimensions, Draws& draws) {
  constexpr std::int64_t kMostDrawn = 30;
  const std::int64_t first = corners.cols - dimensions, drawn = std::min(dimensions, kMostDrawn);
  if (dimensions > kMostDrawn) {
    for (std::int64_t i = 0; i < samples; ++i)
      for (std::int64_t j = 0; j < dimensions - kMostDrawn; ++j)
        corners.at(i, first + j) = static_cast<double>(draws.below(2));
    return draw_corners(corners, samples, dimensions - (dimensions - kMostDrawn), draws);
  }
  const std::vector<std::int64_t> codes = legacy_sample(draws.random(), std::int64_t{1} << drawn, samples);
  for (std::int64_t i = 0; i < samples; ++i)
    for (std::int64_t j = 0; j < drawn; ++j)
      corners.at(i, first + j) = static_cast<double>(codes[static_cast<std::size_t>(i)] >> (drawn - 1 - j) & 1);
}

Block centroids(const Params& p, Draws& draws) {
  Block made{p.n_informative, std::vector<double>(static_cast<std::size_t>(p.n_clusters() * p.n_informative))};
  draw_corners(made, p.n_clusters(), p.n_informative, draws);
  for (double& value : made.values) value = value * (2 * p.class_sep) - p.class_sep;
  if (p.hypercube) return made;
  const std::vector<double> of_cluster = draws.uniforms(p.n_clusters()), of_column = draws.uniforms(p.n_informative);
  for (std::int64_t k = 0; k < p.n_clusters(); ++k)
    for (std::int64_t j = 0; j < p.n_informative; ++j)
      made.at(k, j) = made.at(k, j) * of_cluster[static_cast<std::size_t>(k)] * of_column[static_cast<std::size_t>(j)];
  return made;
}

Block mixing(std::int64_t rows, std::int64_t cols, Draws& draws) {   // 2 * uniform - 1
  Block made{cols, draws.uniforms(rows * cols)};
  for (double& value : made.values) value = 2 * value - 1;
  return made;
}

// to[j] = sum of from[i] * by[i, j]
void multiply(std::span<const double> from, Block& by, std::span<double> to) {
  std::ranges::fill(to, 0.0);
  for (std::size_t i = 0; i < from.size(); ++i)
    for (std::size_t j = 0; j < to.size(); ++j)
      to[j] += from[i] * by.at(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
}

void place_clusters(const Params& p, const Rows& rows, Draws& draws) {
  Block centres = centroids(p, draws);
  rows.fill(0, p.n_informative, [&] { return draws.normal(); });
  const std::vector<std::int64_t> sizes = cluster_sizes(p);
  const auto informative = static_cast<std::size_t>(p.n_informative);
  std::vector<double> drawn(informative);
  std::int64_t row = 0;
  for (std::int64_t k = 0; k < p.n_clusters(); ++k) {
    Block spread = mixing(p.n_informative, p.n_informative, draws);
    for (const std::int64_t stop = row + sizes[static_cast<std::size_t>(k)]; row < stop; ++row) {
      check_job_stop();
      const std::span<double> cells = rows.row(row).first(informative);
      std::ranges::copy(cells, drawn.begin());
      multiply(drawn, spread, cells);
      for (std::int64_t j = 0; j < p.n_informative; ++j) cells[static_cast<std::size_t>(j)] += centres.at(k, j);
      rows.y(row) = static_cast<double>(k % p.n_classes);
    }
  }
}

void add_columns(const Params& p, const Rows& rows, Draws& draws) {
  const auto informative = static_cast<std::size_t>(p.n_informative),
             redundant = static_cast<std::size_t>(p.n_redundant);
  if (redundant > 0) {
    Block by = mixing(p.n_informative, p.n_redundant, draws);
    for (std::int64_t i = 0; i < rows.n(); ++i) {
      check_job_stop();
      multiply(rows.row(i).first(informative), by, rows.row(i).subspan(informative, redundant));
    }
  }
  const std::int64_t made = p.n_informative + p.n_redundant;
  if (p.n_repeated > 0) {
    std::vector<std::int64_t> sources;
    for (const double draw : draws.uniforms(p.n_repeated))
      sources.push_back(static_cast<std::int64_t>(static_cast<double>(made - 1) * draw + 0.5));
    for (std::int64_t i = 0; i < rows.n(); ++i)
      for (std::int64_t j = 0; j < p.n_repeated; ++j)
        rows.x(i, made + j) = rows.x(i, sources[static_cast<std::size_t>(j)]);
  }
  rows.fill(p.n_features - p.n_random(), p.n_random(), [&] { return draws.normal(); });
}

void flip_classes(const Params& p, const Rows& rows, Draws& draws) {
  std::vector<std::int64_t> flipped;
  for (std::int64_t i = 0; i < rows.n(); ++i)
    if (draws.uniform() < p.flip_y) flipped.push_back(i);
  for (const std::int64_t i : flipped) rows.y(i) = static_cast<double>(draws.below(p.n_classes));
}

void shift_and_scale(const Params& p, const Rows& rows, Draws& draws) {
  const auto n = static_cast<std::size_t>(p.n_features);
  std::vector<double> shift(n, p.shift.value_or(0)), scale(n, p.scale.value_or(1));
  if (!p.shift)
    for (double& value : shift) value = (2 * draws.uniform() - 1) * p.class_sep;
  if (!p.scale)
    for (double& value : scale) value = 1 + 100 * draws.uniform();
  for (std::int64_t i = 0; i < rows.n(); ++i)
    for (std::size_t j = 0; j < n; ++j) rows.row(i)[j] = (rows.row(i)[j] + shift[j]) * scale[j];
}

Table plan(const Params& p) {
  check(p);
  return {.n_features = p.n_features, .n_classes = p.n_classes, .fill = [p](const Rows& rows, Draws& draws) {
            place_clusters(p, rows, draws);
            add_columns(p, rows, draws);
            flip_classes(p, rows, draws);
            shift_and_scale(p, rows, draws);
            if (!p.shuffle) return;
            rows.shuffle_rows(draws);
            rows.shuffle_columns(draws);
          }};
}

}   // namespace

Generator classification() {
  return made("Classes as clusters of normal numbers on the corners of a cube, with columns that tell nothing.",
              param_set(), &plan);
}

}   // namespace kedge::engine::generate
