// Sizes, times and jobs as short texts for tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schemas/job.h"

namespace kedge::cli {

// Seconds since 1970 of an RFC 3339 time in UTC, as the server writes them; unset for what is none.
std::optional<double> unix_time(const std::string& time);
double unix_seconds();   // now

std::string size_text(std::int64_t bytes);   // "812 B", "12.3 kB", "4.5 MB", "1.2 GB"
std::string seconds_text(double seconds);    // "0.42 s", "12.3 s", "3m20s", "2h05m"

std::string dataset_text(const schema::DatasetRef& dataset);            // "mnist_784", "churn.csv", "inline"
std::string pipeline_text(const std::vector<schema::Step>& pipeline);   // "StandardScaler | PCA"
// What a job is about: "iris: StandardScaler | PCA", or of a job on a stored model "iris: predict by mdl_01K".
std::string job_text(const schema::JobSpec& spec);
// From its start to its end, or to now; empty before it starts. now: seconds since 1970.
std::string run_time_text(const schema::Job& job, double now);
// The best score of a search, otherwise the mean of the first scorer; empty without. with_name: "accuracy 0.9651".
std::string score_text(const schema::Result& result, bool with_name);

}   // namespace kedge::cli
