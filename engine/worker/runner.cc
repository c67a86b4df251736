// One job from its command to its report.
#include "engine/worker/runner.h"

#include <sys/stat.h>

#include <new>

#include "engine/worker/failpoint.h"
#include "engine/worker/progress_filter.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

schema::WorkerReport failed(const schema::RunCommand& command, Error error) {
  return {schema::FailedReport{command.leaseToken, std::move(error)}};
}

}  // namespace

Runner::FileIdentity Runner::identify(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};   // opening it will say why
  return {.path = path,
          .device = info.st_dev,
          .inode = info.st_ino,
          .size = info.st_size,
          .modified_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

const DatasetFile& Runner::open(const std::string& path) {
  FileIdentity identity = identify(path);
  if (!data_ || mapped_ != identity) {
    forget();
    data_.emplace(path);
    mapped_ = std::move(identity);
  }
  return *data_;
}

void Runner::forget() {
  warm_ = {};
  data_.reset();
  mapped_ = {};
}

bool Runner::run(const schema::RunCommand& command, std::stop_token stop, const Report& report) {
  failpoint_at_run();
  ProgressFilter filter;
  const auto emit = [&](schema::EventBody body) {
    if (!filter.passes(body, ProgressFilter::Clock::now())) return;
    report({schema::EventReport{command.leaseToken, std::move(body)}});
  };
  try {
    const Pipeline pipeline = Pipeline::build(command.spec);
    const Context ctx{.device = device_, .seed = 0, .stop = std::move(stop), .emit = emit};
    report({schema::DoneReport{command.leaseToken, pipeline.run(ctx, open(command.dataPath), &warm_)}});
    return true;
  } catch (const Error& error) {
    if (error.code == ErrorCode::kOutOfMemory) forget();
    report(failed(command, error));
    return error.code != ErrorCode::kInternal || device_.info().kind == DeviceKind::kCpu;
  } catch (const std::bad_alloc&) {
    forget();
    report(failed(command, Error(ErrorCode::kOutOfMemory, "the worker ran out of host memory")));
    return true;
  } catch (const std::exception& error) {
    report(failed(command, Error(ErrorCode::kInternal, error.what())));
    return device_.info().kind == DeviceKind::kCpu;
  }
}

}  // namespace kedge::engine
