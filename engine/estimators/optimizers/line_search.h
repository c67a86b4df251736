// The line search of Moré and Thuente, as in MINPACK-2's dcsrch: one trial step at a time.
#pragma once

namespace kedge::engine {

// Finds a step that satisfies the strong Wolfe conditions
//   f(step) <= f(0) + 1e-3 * step * f'(0)   and   |f'(step)| <= 0.9 |f'(0)|,
// the first only as far as it is larger than the rounding of f, so that a search near the minimum continues by its
// slope. The caller evaluates step(), then calls update() with what it found, until that returns true. A value. Source:
// Moré and Thuente, "Line search algorithms with guaranteed sufficient decrease", ACM TOMS 20(3), 1994.
class LineSearch {
 public:
  // value and slope at step 0 (slope < 0), the first step to try, and the largest one allowed.
  LineSearch(double value, double slope, double first_step, double largest_step);
  double step() const { return step_; }
  // Takes value and slope at step(). True: step() is the answer (also when rounding stops further progress).
  bool update(double value, double slope);

 private:
  struct Point {
    double step, value, slope;
  };
  bool is_done(const Point& trial, double bound) const;
  void choose_step(Point& best, Point& other, const Point& trial);
  void refine_interval();

  double start_value_, start_slope_, largest_;
  double step_, low_ = 0, high_;            // next trial, and the interval that it is kept in
  Point best_, other_;                      // ends of the interval of uncertainty
  bool bracketed_ = false, first_stage_ = true;
  double width_, width_before_;
};

}  // namespace kedge::engine
