// What OpenML's API says about a data set.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "server/data/fetch.h"

namespace kedge::server {

struct OpenmlDataset {
  std::int64_t id = 0, version = 0, file_id = 0;
  std::string name;
  std::string md5;                    // of the ARFF file; empty when OpenML has none
  std::string status;                 // "active", "deactivated", "in_preparation"
  std::vector<std::string> targets;   // default targets; usually one
  std::vector<std::string> ignored;   // row ids, and columns that the uploader says to leave out

  std::string title() const;          // "openml iris version 1"
};

// Thread safe. Errors: those of Fetcher; kDatasetNotFound when OpenML has no such data set; kDatasetUnavailable when its answer
// makes no sense.
class OpenmlClient {
 public:
  // Borrows the fetcher. base_url: "https://www.openml.org" or a mirror; trace: as in FetchRequest.
  OpenmlClient(const Fetcher& fetcher, std::string base_url, std::string trace = {});

  // The id of an active data set. version 0: the newest. Names match without regard to case, but an exact match goes first.
  std::int64_t find(const std::string& name, std::int64_t version, std::stop_token stop) const;

  // What the description says, which may be wrong of targets and ignored columns; and what their features say of them.
  OpenmlDataset describe(std::int64_t id, std::stop_token stop) const;
  OpenmlDataset with_features(OpenmlDataset dataset, std::stop_token stop) const;

  // The API names other hosts in its file URLs; this one is on the host that the operator chose.
  std::string download_url(const OpenmlDataset& dataset) const;

 private:
  FetchedText ask(const char* what, std::int64_t id, std::stop_token stop) const;

  const Fetcher& fetcher_;
  const std::string trace_;
  std::string base_url_;
};

// Reading the API's answers, without fetching them.
OpenmlDataset read_description(std::string_view json);
void add_features(std::string_view json, OpenmlDataset& dataset);   // targets and ignored columns as the features say
std::int64_t pick_dataset(std::string_view list_json, const std::string& name, std::int64_t version);   // 0: none

}  // namespace kedge::server
