// Minimisers of a function of one number that ask for its values one by one, so that many of them can share each pass over the
// data.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace kedge::engine {

// A search under way: while !done(), evaluate the function at asked() and tell() the value. Move-only; owns its coroutine.
template <class Result>
class Search {
 public:
  struct promise_type {
    double asked = 0, told = 0;
    Result found{};
    std::exception_ptr error;

    Search get_return_object() { return Search(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    struct Answer {
      promise_type& promise;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<>) const noexcept {}
      double await_resume() const noexcept { return promise.told; }
    };
    Answer yield_value(double x) noexcept {
      asked = x;
      return {*this};
    }   // f(x) = co_yield x
    void return_value(Result result) { found = result; }
    void unhandled_exception() { error = std::current_exception(); }
  };

  Search(Search&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Search& operator=(Search&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Search() {
    if (handle_) handle_.destroy();
  }

  bool done() const { return handle_.done(); }
  double asked() const { return handle_.promise().asked; }
  void tell(double value) { handle_.promise().told = value, handle_.resume(); }
  // Once done(). Throws what the search threw.
  const Result& found() const {
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
    return handle_.promise().found;
  }

 private:
  explicit Search(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

// scipy.optimize.fminbound(low, high, xtol): Brent's method inside an interval. Takes its steps, so that the result is the same.
Search<double> minimize_within(double low, double high, double tolerance);

// scipy.optimize.brent(brack=(first, second), tol): a downhill bracket from two points, then Brent's method.
// Source: Brent, Algorithms for Minimization Without Derivatives, 1973; Press et al., Numerical Recipes (the bracket).
Search<double> minimize_from(double first, double second, double tolerance);

}  // namespace kedge::engine
