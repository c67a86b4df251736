// sklearn.datasets.make_blobs, make_moons, make_circles, make_swiss_roll and make_s_curve.
#include <cmath>
#include <numbers>

#include "engine/generate/generators.h"

namespace kedge::engine::generate {
namespace {

constexpr double kPi = std::numbers::pi;

struct Blobs {
  std::int64_t n_samples = 100, n_features = 2, centers = 3, random_state = 0;
  double cluster_std = 1;
  schema::Value center_box = std::vector<double>{-10, 10};
  bool shuffle = true;
};

struct Rings {   // moons and circles
  std::int64_t n_samples = 100, random_state = 0;
  std::optional<double> noise = {};
  double factor = 0.8;
  bool shuffle = true;
};

struct Curve {
  std::int64_t n_samples = 100, random_state = 0;
  double noise = 0;
};

const ParamSet<Blobs>& blob_params() {
  static const ParamSet<Blobs> set = [] {
    ParamSet<Blobs> made("make_blobs");
    add_common(made)
        .add("n_features", &Blobs::n_features, at_least(1), "Columns.")
        .add("centers", &Blobs::centers, between(1, 100000), "Clusters.")
        .add("cluster_std", &Blobs::cluster_std, at_least(0), "Standard deviation of a cluster.")
        .any("center_box", &Blobs::center_box, {array_form()}, "Bounds between which the centres are drawn.")
        .add("shuffle", &Blobs::shuffle, "Whether rows are shuffled.");
    return made;
  }();
  return set;
}

ParamSet<Rings> ring_params(const char* name) {
  ParamSet<Rings> made(name);
  add_common(made)
      .add("noise", &Rings::noise, at_least(0), "Standard deviation of the noise; null: none.")
      .add("shuffle", &Rings::shuffle, "Whether rows are shuffled.");
  return made;
}

const ParamSet<Rings>& moon_params() {
  static const ParamSet<Rings> set = ring_params("make_moons");
  return set;
}

const ParamSet<Rings>& circle_params() {
  static const ParamSet<Rings> set =
      ring_params("make_circles").add("factor", &Rings::factor, between(0, 1), "Radius of the inner circle.");
  return set;
}

ParamSet<Curve> curve_params(const char* name) {
  ParamSet<Curve> made(name);
  return add_common(made).add("noise", &Curve::noise, at_least(0), "Standard deviation of the noise.");
}

const ParamSet<Curve>& roll_params() {
  static const ParamSet<Curve> set = curve_params("make_swiss_roll");
  return set;
}

const ParamSet<Curve>& s_curve_params() {
  static const ParamSet<Curve> set = curve_params("make_s_curve");
  return set;
}

void fill_blobs(const Blobs& p, const Rows& rows, Draws& draws) {
  const std::vector<double> box = numbers_of(p.center_box).value();
  const double low = box.front(), high = box.back();
  std::vector<double> centres = draws.uniforms(p.centers * p.n_features);
  for (double& value : centres) value = low + (high - low) * value;
  std::int64_t row = 0;
  for (std::int64_t c = 0; c < p.centers; ++c) {
    const std::int64_t size = p.n_samples / p.centers + (c < p.n_samples % p.centers ? 1 : 0);
    for (const std::int64_t stop = row + size; row < stop; ++row) {
      for (std::int64_t j = 0; j < p.n_features; ++j)
        rows.x(row, j) = centres[static_cast<std::size_t>(c * p.n_features + j)] + p.cluster_std * draws.normal();
      rows.y(row) = static_cast<double>(c);
    }
  }
  if (p.shuffle) rows.shuffle_rows(draws);
}

Table plan_blobs(const Blobs& p) {
  const std::vector<double> box = numbers_of(p.center_box).value();
  if (box.size() != 2 || !(box[0] <= box[1]))
    refuse_param("make_blobs", "center_box", p.center_box, "must be two numbers, the lower first");
  if (p.n_features > kMostHeld / p.centers)
    refuse_param("make_blobs", "centers", p.centers, "times n_features must be at most 10000000");
  return {.n_features = p.n_features, .n_classes = p.centers, .fill = [p](const Rows& rows, Draws& draws) {
            fill_blobs(p, rows, draws);
          }};
}

// numpy's linspace(0, stop, n), at i.
double between_ends(double stop, std::int64_t n, std::int64_t i) {
  if (i > 0 && i == n - 1) return stop;
  return n > 1 ? static_cast<double>(i) * (stop / static_cast<double>(n - 1)) : 0;
}

// Two classes, the outer one first; place(row, number in its class, rows of the class, whether it is the inner one).
template <class Place>
Table rings(const Rings& p, Place place) {
  return {.n_features = 2, .n_classes = 2, .fill = [p, place](const Rows& rows, Draws& draws) {
            const std::int64_t outer = rows.n() / 2;
            for (std::int64_t i = 0; i < rows.n(); ++i) {
              const bool is_inner = i >= outer;
              place(rows.row(i), is_inner ? i - outer : i, is_inner ? rows.n() - outer : outer, is_inner);
              rows.y(i) = is_inner ? 1 : 0;
            }
            if (p.shuffle) rows.shuffle_rows(draws);
            if (p.noise) rows.add_noise(*p.noise, draws);
          }};
}

Table plan_moons(const Rings& p) {
  return rings(p, [](std::span<double> row, std::int64_t i, std::int64_t n, bool is_inner) {
    const double angle = between_ends(kPi, n, i);
    row[0] = is_inner ? 1 - std::cos(angle) : std::cos(angle);
    row[1] = is_inner ? 1 - std::sin(angle) - 0.5 : std::sin(angle);
  });
}

Table plan_circles(const Rings& p) {
  return rings(p, [factor = p.factor](std::span<double> row, std::int64_t i, std::int64_t n, bool is_inner) {
    const double angle = static_cast<double>(i) * (2 * kPi / static_cast<double>(n)), radius = is_inner ? factor : 1.0;
    row[0] = std::cos(angle) * radius;
    row[1] = std::sin(angle) * radius;
  });
}

// Noise column by column, as of an array of three rows.
void add_noise_by_columns(double noise, const Rows& rows, Draws& draws) {
  for (std::int64_t j = 0; j < rows.d(); ++j)
    for (std::int64_t i = 0; i < rows.n(); ++i) rows.x(i, j) += noise * draws.normal();
}

Table plan_roll(const Curve& p) {
  return {.n_features = 3, .fill = [noise = p.noise](const Rows& rows, Draws& draws) {
            for (std::int64_t i = 0; i < rows.n(); ++i) rows.y(i) = 1.5 * kPi * (1 + 2 * draws.uniform());
            for (std::int64_t i = 0; i < rows.n(); ++i) {
              const double t = rows.y(i);
              rows.x(i, 0) = t * std::cos(t), rows.x(i, 1) = 21 * draws.uniform(), rows.x(i, 2) = t * std::sin(t);
            }
            add_noise_by_columns(noise, rows, draws);
          }};
}

Table plan_s_curve(const Curve& p) {
  return {.n_features = 3, .fill = [noise = p.noise](const Rows& rows, Draws& draws) {
            for (std::int64_t i = 0; i < rows.n(); ++i) rows.y(i) = 3 * kPi * (draws.uniform() - 0.5);
            for (std::int64_t i = 0; i < rows.n(); ++i) {
              const double t = rows.y(i), sign = t > 0 ? 1 : t < 0 ? -1 : 0;
              rows.x(i, 0) = std::sin(t), rows.x(i, 1) = 2.0 * draws.uniform(), rows.x(i, 2) = sign * (std::cos(t) - 1);
            }
            add_noise_by_columns(noise, rows, draws);
          }};
}

}   // namespace

std::vector<Generator> shapes() {
  return {made("Clusters of normal numbers.", blob_params(), &plan_blobs),
          made("Two half circles that interlock, in the plane.", moon_params(), &plan_moons),
          made("A circle within another, in the plane.", circle_params(), &plan_circles),
          made("A rolled sheet in space; the target is the place along the roll.", roll_params(), &plan_roll),
          made("A sheet bent to an S in space; the target is the place along it.", s_curve_params(), &plan_s_curve)};
}

}   // namespace kedge::engine::generate
