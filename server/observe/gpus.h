// Figures of NVIDIA GPUs, through NVML where the driver has brought it.
#pragma once

#include <memory>
#include <string>

#include "server/observe/exposition.h"

namespace kedge::server::observe {

// NVML is loaded at run time and never linked, so that one program runs with and without a driver. Thread safe.
class Gpus {
 public:
  // `library`: such as "libnvidia-ml.so.1"; empty: no figures.
  explicit Gpus(const std::string& library);
  ~Gpus();

  bool available() const { return nvml_ != nullptr; }
  const std::string& problem() const { return problem_; }   // why there are no figures; empty: there are, or none are wanted

  // Writes what each GPU answers; what one does not know has no sample. May take some milliseconds. Without NVML: nothing.
  void append(Exposition& out);

 private:
  struct Nvml;
  std::unique_ptr<Nvml> nvml_;
  std::string problem_;
};

}   // namespace kedge::server::observe
