// What /metrics says of the service at one moment.
#pragma once

#include <string>

#include "server/jobs/job_service.h"
#include "server/observe/gpus.h"

namespace kedge::server {

// Jobs, workers, store, data directory and GPUs in Prometheus' text format. Asks disk and driver.
std::string service_text(const JobService& jobs, observe::Gpus& gpus);

}   // namespace kedge::server
