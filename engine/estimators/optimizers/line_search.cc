// Moré-Thuente line search: safeguarded cubic and quadratic interpolation inside a shrinking interval.
#include "engine/estimators/optimizers/line_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kedge::engine {
namespace {

constexpr double kDecrease = 1e-3, kCurvature = 0.9, kRelativeWidth = 0.1;   // as in L-BFGS-B 3.0
constexpr double kNoise = 4 * std::numeric_limits<double>::epsilon();   // of a value; below it only the slope decides
constexpr double kGrow = 4.0, kGrowAtLeast = 1.1;

// The root term of the cubic through two points, scaled against overflow; sign follows the direction of the interval.
double cubic_gamma(double theta, double slope_a, double slope_b, bool clamp, bool negate) {
  const double s = std::max({std::abs(theta), std::abs(slope_a), std::abs(slope_b)});
  double square = (theta / s) * (theta / s) - (slope_a / s) * (slope_b / s);
  if (clamp) square = std::max(0.0, square);
  return (negate ? -s : s) * std::sqrt(square);
}

}  // namespace

LineSearch::LineSearch(double value, double slope, double first_step, double largest_step)
    : start_value_(value), start_slope_(slope), largest_(largest_step), step_(first_step),
      high_(first_step + kGrow * first_step), best_{0, value, slope}, other_{0, value, slope},
      width_(largest_step), width_before_(2 * largest_step) {}

bool LineSearch::is_done(const Point& trial, double bound) const {
  if (bracketed_ && (step_ <= low_ || step_ >= high_)) return true;               // rounding
  if (bracketed_ && high_ - low_ <= kRelativeWidth * high_) return true;          // interval is small enough
  const double wanted_slope = kDecrease * start_slope_;
  if (step_ == largest_ && trial.value <= bound && trial.slope <= wanted_slope) return true;
  if (step_ == 0 && (trial.value > bound || trial.slope >= wanted_slope)) return true;
  const bool is_flat_enough = std::abs(trial.slope) <= kCurvature * -start_slope_;
  const double noise = kNoise * std::abs(start_value_);
  const bool is_rounding = start_value_ - bound <= noise && trial.value <= start_value_ + noise;
  return is_flat_enough && (trial.value <= bound || is_rounding);
}

bool LineSearch::update(double value, double slope) {
  const double wanted_slope = kDecrease * start_slope_, bound = start_value_ + step_ * wanted_slope;
  Point trial{step_, value, slope};
  if (first_stage_ && value <= bound && slope >= 0) first_stage_ = false;
  if (is_done(trial, bound)) return true;
  if (first_stage_ && value <= best_.value && value > bound) {
    // A lower value but not low enough yet: work on f(step) - step * wanted_slope.
    const auto shifted = [&](Point p, double sign) {
      return Point{p.step, p.value - sign * p.step * wanted_slope, p.slope - sign * wanted_slope};
    };
    Point best = shifted(best_, 1), other = shifted(other_, 1);
    choose_step(best, other, shifted(trial, 1));
    best_ = shifted(best, -1), other_ = shifted(other, -1);
  } else {
    choose_step(best_, other_, trial);
  }
  refine_interval();
  return false;
}

// MINPACK-2's dcstep: the next step from the best point so far, the other end, and the trial.
void LineSearch::choose_step(Point& best, Point& other, const Point& trial) {
  const double sign = trial.slope * (best.slope / std::abs(best.slope));
  const double theta = 3 * (best.value - trial.value) / (trial.step - best.step) + best.slope + trial.slope;
  double next;
  if (trial.value > best.value) {   // 1: higher value, so the minimum is bracketed
    const double gamma = cubic_gamma(theta, best.slope, trial.slope, false, trial.step < best.step);
    const double r = ((gamma - best.slope) + theta) / (((gamma - best.slope) + gamma) + trial.slope);
    const double cubic = best.step + r * (trial.step - best.step);
    const double chord = (best.value - trial.value) / (trial.step - best.step) + best.slope;
    const double quadratic = best.step + best.slope / chord / 2 * (trial.step - best.step);
    next = std::abs(cubic - best.step) < std::abs(quadratic - best.step) ? cubic : cubic + (quadratic - cubic) / 2;
    bracketed_ = true;
  } else if (sign < 0) {            // 2: slopes of opposite sign
    const double gamma = cubic_gamma(theta, best.slope, trial.slope, false, trial.step > best.step);
    const double r = ((gamma - trial.slope) + theta) / (((gamma - trial.slope) + gamma) + best.slope);
    const double cubic = trial.step + r * (best.step - trial.step);
    const double secant = trial.step + trial.slope / (trial.slope - best.slope) * (best.step - trial.step);
    next = std::abs(cubic - trial.step) > std::abs(secant - trial.step) ? cubic : secant;
    bracketed_ = true;
  } else if (std::abs(trial.slope) < std::abs(best.slope)) {   // 3: slope of the same sign, less steep
    const double gamma = cubic_gamma(theta, best.slope, trial.slope, true, trial.step > best.step);
    const double r = ((gamma - trial.slope) + theta) / ((gamma + (best.slope - trial.slope)) + gamma);
    const double cubic = r < 0 && gamma != 0 ? trial.step + r * (best.step - trial.step)
                         : trial.step > best.step ? high_ : low_;
    const double secant = trial.step + trial.slope / (trial.slope - best.slope) * (best.step - trial.step);
    const bool cubic_nearer = std::abs(cubic - trial.step) < std::abs(secant - trial.step);
    if (bracketed_) {
      next = cubic_nearer ? cubic : secant;
      const double limit = trial.step + 0.66 * (other.step - trial.step);
      next = trial.step > best.step ? std::min(limit, next) : std::max(limit, next);
    } else {
      next = std::clamp(cubic_nearer ? secant : cubic, low_, high_);
    }
  } else if (bracketed_) {          // 4: not less steep, bracketed
    const double t = 3 * (trial.value - other.value) / (other.step - trial.step) + other.slope + trial.slope;
    const double gamma = cubic_gamma(t, other.slope, trial.slope, false, trial.step > other.step);
    const double r = ((gamma - trial.slope) + t) / (((gamma - trial.slope) + gamma) + other.slope);
    next = trial.step + r * (other.step - trial.step);
  } else {
    next = trial.step > best.step ? high_ : low_;
  }
  if (trial.value > best.value) {
    other = trial;
  } else {
    if (sign < 0) other = best;
    best = trial;
  }
  step_ = next;
}

void LineSearch::refine_interval() {
  if (bracketed_) {
    if (std::abs(other_.step - best_.step) >= 0.66 * width_before_)
      step_ = best_.step + 0.5 * (other_.step - best_.step);
    width_before_ = width_;
    width_ = std::abs(other_.step - best_.step);
    low_ = std::min(best_.step, other_.step), high_ = std::max(best_.step, other_.step);
  } else {
    low_ = step_ + kGrowAtLeast * (step_ - best_.step), high_ = step_ + kGrow * (step_ - best_.step);
  }
  step_ = std::clamp(step_, 0.0, largest_);
  if (bracketed_ && (step_ <= low_ || step_ >= high_ || high_ - low_ <= kRelativeWidth * high_)) step_ = best_.step;
}

}  // namespace kedge::engine
