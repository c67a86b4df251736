// How new models come to the disk: small ones through the store, so that a request that waits for one waits for a
// single sync and no file.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "schemas/model.h"
#include "server/jobs/job_files.h"
#include "server/store/store.h"

namespace kedge::server {

// The bytes of a small model are stored in the transaction of its row. Its file is made by the first call that needs
// it, or by a thread of this class a second later, which also syncs it, together with others; then the store keeps the
// digest of the bytes and forgets them. Until then a power cut may do to the file what it likes: the next start begins
// with the bytes. Thread safe.
class ModelJournal {
 public:
  ModelJournal(Store& store, const JobFiles& files);   // both outlive this object

  // The model that a row is to be made of next, with its size and, unless the store is to have its bytes, its digest; then stored(). A file
  // takes its place and is synced, and so are bytes while too many others wait. Cost: the disk's, so not under a lock. Errors: kUnavailable
  // with the system's words.
  NewModel adopt_file(const std::filesystem::path& file, schema::ModelInfo info) const;
  NewModel adopt_bytes(std::string bytes, schema::ModelInfo info) const;
  void stored(const NewModel& model);   // its row is on disk

  // Where the file of a model is that has a row. Errors: kUnavailable if it cannot be made.
  std::filesystem::path file_of(std::string_view id) const;
  void remove(std::string_view id) const;   // the file of one that has no row any more

 private:
  enum class Make { kIfMissing, kAnew };
  bool make_file(std::string_view id, Make make) const;   // false: it has neither file nor bytes
  void sync(std::string_view id) const;
  bool has_room() const;
  void loop(std::stop_token stop);
  void settle(const std::vector<std::string>& ids, Make make);
  void put_back(std::vector<std::string> ids) noexcept;

  Store& store_;
  const JobFiles& files_;
  mutable std::mutex making_;   // held while bytes become a file
  mutable std::mutex mutex_;    // guards the next two
  std::vector<std::string> unsettled_;
  std::size_t settling_ = 0;   // that were taken from there
  std::condition_variable_any changed_;
  std::jthread thread_;   // last: it uses the others
};

}  // namespace kedge::server
