// Jobs that bring their data along: multipart/form-data with the parts 'spec' and 'data', in any order.
#pragma once

#include "schemas/job.h"
#include "server/api/api.h"
#include "server/http/message.h"

namespace kedge::server::api {

struct JobWithData {
  schema::JobSpec spec;     // its data set is the content, by its digest
  Uploads::Content data;    // that the job is to be given; without it nothing stays
};

// The spec is kept in memory, 1 MiB at most; the data goes to disk as it comes. Errors name the part, and leave nothing on disk.
http::net::awaitable<JobWithData> receive_job(const Api& api, const http::Request& request);

}   // namespace kedge::server::api
