// hf:// addresses: files of a data set on the Hugging Face Hub, in the form that pandas and polars take:
// hf://datasets/OWNER/NAME[@REVISION]/PATH. The revision ~parquet has the Parquet files that the Hub makes of each data
// set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/data/object_store.h"

namespace kedge::server {

struct HubAddress {
  std::string name;       // "OWNER/NAME"
  std::string revision;   // "main", "refs/convert/parquet", a branch, a tag or a commit
  std::string folder;     // "default/train"; empty: the top
  std::string file;       // "*.parquet": the last part of the path, where alone '*' may be
};

bool is_hub_url(std::string_view url);
// Errors: kInvalidValue for what is no such address.
HubAddress split_hub_url(const std::string& url);

// The files that it names, of the commit that the revision means now, with the SHA-256 of those that the Hub knows one
// of. Errors: kDatasetNotFound where there is none; those of Fetcher.
struct HubFiles {
  std::string commit;
  std::vector<ObjectInfo> files;
};
HubFiles list_hub_files(const std::vector<ObjectStore>& stores, const std::string& url, const Fetcher& fetcher,
                        const std::string& trace, std::stop_token stop);

}   // namespace kedge::server
