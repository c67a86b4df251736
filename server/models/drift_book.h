// Keeps, for each model, into which bins the rows fell that it was asked about: in memory, and on the disk a second
// later.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "schemas/model.h"
#include "schemas/worker.h"

namespace kedge::server {

// A file a model, ID.drift, in the folder of its settings (serving_book.h), written behind by a thread of this object
// and not synced: a crash may lose the counts of the last second, a power cut those of the last ones, or, of a file
// that it has torn, all; then counting begins again. Thread safe.
class DriftBook {
 public:
  static constexpr std::size_t kMostInMemory = 100;   // models; those counted longest ago are read again when needed

  explicit DriftBook(std::filesystem::path folder);   // which exists
  ~DriftBook();                                       // writes what waits

  // The bins of a question's cells, and the profile where the worker tells it. Of a model whose profile is not known
  // they are left out.
  void note(const std::string& model, const schema::AnswerReport& report);
  // That the model has this profile, or none.
  void learn(const std::string& model, std::optional<schema::ModelProfile> profile);
  // Nothing where it is not known whether the model has a profile.
  std::optional<schema::DriftCounts> find(const std::string& model);
  void reset(const std::string& model);                                         // counting begins again, now
  void forget(const std::string& model) noexcept;                               // the model is deleted
  void sweep(const std::function<bool(const std::string& model)>& has_model);   // forgets the others
  std::optional<double> largest_index(const std::string& model) const;          // of a model in memory

 private:
  struct Entry {
    schema::DriftCounts counts;
    bool is_known = false;     // `counts.profile` is what the model has
    bool is_changed = false;   // since it was written
    std::uint64_t used = 0;    // the last uses have the largest numbers
  };
  Entry& entry(const std::string& model);   // under the lock, as are the next two; read from its file if it is there
  static void set_profile(Entry& entry, std::optional<schema::ModelProfile> profile);
  void note_change(Entry& entry);
  void loop(std::stop_token stop);
  void write_changed();
  void write(const std::string& model, const schema::DriftCounts& counts) noexcept;
  void shrink();
  std::filesystem::path file_of(std::string_view model) const;

  const std::filesystem::path folder_;
  std::mutex files_;           // guards the files against two writers; taken before the next one
  mutable std::mutex mutex_;   // guards what follows
  std::condition_variable_any changed_;
  std::map<std::string, Entry> entries_;
  std::uint64_t uses_ = 0;
  bool has_changes_ = false;
  std::jthread thread_;   // last: it uses everything above
};

}   // namespace kedge::server
