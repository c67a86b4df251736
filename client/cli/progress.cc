// Shows the events of a running job.
#include "client/cli/progress.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>

namespace kedge::cli {
namespace {

void put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

sigset_t resize_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGWINCH);
  return set;
}

}  // namespace

ProgressDisplay::ProgressDisplay() {
  const sigset_t resize = resize_signal();
  pthread_sigmask(SIG_BLOCK, &resize, &before_);   // the thread inherits it, and waits for the signal
  redraw_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

ProgressDisplay::~ProgressDisplay() {
  redraw_.request_stop();
  pthread_kill(redraw_.native_handle(), SIGWINCH);   // ends its wait
  redraw_.join();
  put(area_.clear(page_of(STDERR_FILENO)));
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

double ProgressDisplay::now() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

void ProgressDisplay::draw() {
  const Page page = page_of(STDERR_FILENO);
  if (page.is_live) return put(area_.draw(page, progress_.live(page.columns - 1, now())));
  if (const auto text = progress_.plain(now())) put(paragraph(page, line_of(*text)));
}

void ProgressDisplay::show(const schema::Event& event) {
  const std::lock_guard lock(mutex_);
  const Page page = page_of(STDERR_FILENO);
  for (const Line& line : progress_.take(event, now())) put(page.is_live ? area_.print(page, line, 2) : paragraph(page, line, 2));
  draw();
}

void ProgressDisplay::run(const std::stop_token& stop) {
  const sigset_t resize = resize_signal();
  const timespec second{.tv_sec = 1, .tv_nsec = 0};
  while (!stop.stop_requested()) {
    sigtimedwait(&resize, nullptr, &second);
    const std::lock_guard lock(mutex_);
    if (!stop.stop_requested()) draw();
  }
}

}  // namespace kedge::cli
