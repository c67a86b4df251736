// The intents on disk: one file each, replaced as a whole and synced, so that a crash leaves the old or the new one.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "provisioning/intent.h"

namespace kedge::provisioning {

class IntentStore {
 public:
  // Makes the directory (mode 0700). `step` is called before and after each change, for tests that stop there.
  explicit IntentStore(std::filesystem::path directory, std::function<void()> step = {});

  // Durable when it returns. schema::Error{kUnavailable} when the disk does not take it.
  void put(const Intent& intent);
  void remove(const std::string& id);
  std::optional<Intent> find(const std::string& id) const;

  struct Listing {
    std::vector<Intent> intents;        // oldest first
    std::vector<std::string> damaged;   // files that could not be read; they were set aside as NAME.damaged
  };
  Listing list() const;

  // Held while this process works on the intent; nullptr while another does. Ends with the process at the latest.
  std::shared_ptr<void> try_lock(const std::string& id) const;   // shared: the handle's only use is to be destroyed

  // What was paid for machines that are gone, as far as this store saw them: one line of JSON each.
  void add_to_ledger(const Intent& intent, std::int64_t now);
  double spent_since(std::int64_t unix_seconds) const;   // USD

  // The machine that clients talk to when nothing else is said; empty: none.
  void set_current(const std::string& id);
  std::string current() const;

  // The same for one user on one machine, even after the directory was lost: part of every intent's id. Copies of a machine share
  // it.
  const std::string& owner() const { return owner_; }
  std::string new_id() const;
  // Of this owner.
  bool is_ours(const std::string& id) const;
  // Named by this directory, which each has its own mark for: without a record here, it is not wanted.
  bool named_here(const std::string& id) const;
  const std::filesystem::path& directory() const { return directory_; }

 private:
  void write(const std::filesystem::path& file, const std::string& text) const;
  std::string read_or_make_mark() const;
  std::filesystem::path file_of(const std::string& id) const;

  std::filesystem::path directory_;
  std::function<void()> step_;
  std::string owner_, mark_;
};

// KEDGE_STATE_DIR, or else kedge/machines below XDG_STATE_HOME or ~/.local/state.
std::filesystem::path default_state_directory();

}   // namespace kedge::provisioning
