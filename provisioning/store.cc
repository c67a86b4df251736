// Durable files of intents.
#include "provisioning/store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "crypto/digest.h"
#include "crypto/random.h"
#include "provisioning/json.h"
#include "schemas/error.h"

namespace kedge::provisioning {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void refuse(const fs::path& file, const char* what) {
  throw schema::Error(schema::ErrorCode::kUnavailable,
                      fmt::format("cannot {} {}: {}", what, file.string(), std::strerror(errno)));
}

class File {
 public:
  File(const fs::path& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {
    if (descriptor_ < 0) refuse(path, "open");
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

void write_all(const File& file, const fs::path& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) refuse(path, "write");
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(file.get()) != 0) refuse(path, "sync");
}

void sync_directory(const fs::path& directory) {
  const File handle(directory, O_RDONLY | O_DIRECTORY);
  if (::fsync(handle.get()) != 0) refuse(directory, "sync");
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Stable over restarts and over the loss of the directory, different between users and machines.
std::string owner_name() {
  if (const std::string named = environment("KEDGE_OWNER"); !named.empty()) {
    const auto bad = [](unsigned char c) { return !std::isdigit(c) && !std::islower(c); };
    if (named.size() > 12 || std::ranges::any_of(named, bad))
      throw schema::Error(schema::ErrorCode::kInvalidValue,
                          fmt::format("KEDGE_OWNER is '{}', must be at most 12 lower-case letters and digits", named),
                          "KEDGE_OWNER");
    return named;
  }
  std::string machine = read_file("/etc/machine-id");
  char host[256] = {};
  if (machine.empty() && ::gethostname(host, sizeof host - 1) == 0) machine = host;
  return crypto::sha256_hex(fmt::format("{}/{}", machine, ::getuid())).substr(0, 8);
}

}   // namespace

fs::path default_state_directory() {
  if (const std::string chosen = environment("KEDGE_STATE_DIR"); !chosen.empty()) return chosen;
  if (const std::string state = environment("XDG_STATE_HOME"); !state.empty()) return fs::path(state) / "kedge/machines";
  if (const std::string home = environment("HOME"); !home.empty()) return fs::path(home) / ".local/state/kedge/machines";
  throw schema::Error(schema::ErrorCode::kInvalidValue, "none of KEDGE_STATE_DIR, XDG_STATE_HOME and HOME is set",
                      "KEDGE_STATE_DIR");
}

IntentStore::IntentStore(fs::path directory, std::function<void()> step)
    : directory_(std::move(directory)), step_(std::move(step)), owner_(owner_name()) {
  std::error_code error;
  fs::create_directories(directory_ / "intents", error);
  if (!error) fs::permissions(directory_, fs::perms::owner_all, error);
  if (error)
    throw schema::Error(schema::ErrorCode::kUnavailable, fmt::format("cannot use {}: {}", directory_.string(), error.message()));
  mark_ = read_or_make_mark();
}

// Made once, by the first process: a link, unlike a rename, does not replace what another has made.
std::string IntentStore::read_or_make_mark() const {
  constexpr std::size_t kLength = 6;
  const fs::path file = directory_ / "mark";
  for (bool again = true;; again = false) {
    const std::string mark = read_file(file);
    if (mark.size() == kLength && mark.find_first_not_of("0123456789abcdef") == std::string::npos) return mark;
    if (!again) throw schema::Error(schema::ErrorCode::kUnavailable, fmt::format("cannot read {}", file.string()));
    if (fs::exists(file)) fs::remove(file);   // damaged
    const fs::path part = fmt::format("{}.{}.part", file.string(), ::getpid());
    {
      const File handle(part, O_WRONLY | O_CREAT | O_TRUNC);
      write_all(handle, part, crypto::random_hex(kLength / 2));
    }
    if (::link(part.c_str(), file.c_str()) != 0 && errno != EEXIST) refuse(file, "make");
    fs::remove(part);
    sync_directory(directory_);
  }
}

fs::path IntentStore::file_of(const std::string& id) const {
  return directory_ / "intents" / (id + ".json");
}

void IntentStore::write(const fs::path& file, const std::string& text) const {
  if (step_) step_();
  const fs::path part = fmt::format("{}.{}.part", file.string(), ::getpid());
  {
    const File handle(part, O_WRONLY | O_CREAT | O_TRUNC);
    write_all(handle, part, text);
  }
  if (::rename(part.c_str(), file.c_str()) != 0) refuse(file, "replace");
  sync_directory(file.parent_path());
  if (step_) step_();
}

void IntentStore::put(const Intent& intent) {
  write(file_of(intent.id), intent_to_json(intent));
}

void IntentStore::remove(const std::string& id) {
  if (step_) step_();
  if (current() == id) set_current({});
  fs::remove(file_of(id));
  fs::remove(directory_ / "intents" / (id + ".lock"));
  sync_directory(directory_ / "intents");
  if (step_) step_();
}

std::optional<Intent> IntentStore::find(const std::string& id) const {
  if (!fs::exists(file_of(id))) return std::nullopt;
  return intent_from_json(read_file(file_of(id)));
}

IntentStore::Listing IntentStore::list() const {
  Listing listing;
  for (const auto& entry : fs::directory_iterator(directory_ / "intents")) {
    if (entry.path().extension() != ".json") continue;
    try {
      listing.intents.push_back(intent_from_json(read_file(entry.path())));
    } catch (const schema::Error&) {
      std::error_code error;   // another process may have removed it, which is fine
      fs::rename(entry.path(), entry.path().string() + ".damaged", error);
      if (!error) listing.damaged.push_back(entry.path().string());
    }
  }
  std::ranges::sort(listing.intents,
                    [](const Intent& a, const Intent& b) { return std::tie(a.created, a.id) < std::tie(b.created, b.id); });
  return listing;
}

std::shared_ptr<void> IntentStore::try_lock(const std::string& id) const {
  auto file = std::make_shared<File>(directory_ / "intents" / (id + ".lock"), O_RDWR | O_CREAT);
  if (::flock(file->get(), LOCK_EX | LOCK_NB) != 0) return nullptr;
  return file;
}

void IntentStore::add_to_ledger(const Intent& intent, std::int64_t now) {
  const fs::path path = directory_ / "ledger.jsonl";
  const File file(path, O_WRONLY | O_CREAT | O_APPEND);
  write_all(file, path,
            json::write(json::ValueMap{{"id", intent.id},
                                       {"provider", intent.offer.provider},
                                       {"offer", intent.offer.id},
                                       {"created", intent.created},
                                       {"ended", now},
                                       {"usd", cost_so_far(intent, now)}}) +
                "\n");
}

double IntentStore::spent_since(std::int64_t unix_seconds) const {
  std::ifstream file(directory_ / "ledger.jsonl");
  double sum = 0;
  for (std::string line; std::getline(file, line);) {
    const json::Value row = json::parse(line);   // a torn last line counts for nothing
    if (json::number(row, "ended") >= static_cast<double>(unix_seconds)) sum += json::number(row, "usd");
  }
  return sum;
}

void IntentStore::set_current(const std::string& id) {
  write(directory_ / "current", id);
}
std::string IntentStore::current() const {
  return read_file(directory_ / "current");
}

std::string IntentStore::new_id() const {
  return name_prefix(owner_) + mark_ + crypto::random_hex(4);
}
bool IntentStore::is_ours(const std::string& id) const {
  return id.starts_with(name_prefix(owner_));
}
bool IntentStore::named_here(const std::string& id) const {
  return id.starts_with(name_prefix(owner_) + mark_);
}

}   // namespace kedge::provisioning
