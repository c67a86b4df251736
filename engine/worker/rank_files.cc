// Copies files from the first rank to machines that lack them: see rank_files.h.
#include "engine/worker/rank_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "engine/comm/bytes.h"
#include "engine/comm/ranks.h"
#include "engine/core/disk_error.h"
#include "engine/core/lent_file.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::size_t kPiece = std::size_t{8} << 20;
constexpr std::size_t kKept = 5;   // a data set and as many models as a worker keeps

void label(std::int64_t& size, std::int64_t& modified_ns, const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  size = info.st_size;
  modified_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

std::string folder_of_copies() {
  const char* const folder = std::getenv("TMPDIR");
  return folder && *folder ? folder : "/var/tmp";
}

// A file of this rank alone, which lives as long as it is open somewhere. Its name is there until the other ranks of
// the place have opened it.
class NamedCopy {
 public:
  NamedCopy() : name_(folder_of_copies() + "/kedge-rank-XXXXXX"), file_(::mkostemp(name_.data(), O_CLOEXEC)) {}
  NamedCopy(const NamedCopy&) = delete;
  NamedCopy& operator=(const NamedCopy&) = delete;
  ~NamedCopy() {
    if (file_ >= 0) ::unlink(name_.c_str()), ::close(file_);
  }
  int file() const { return file_; }   // -1: errno said why
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  const int file_;
};

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

// As much as there is, up to the size of `bytes`; -1: errno says why not.
ssize_t read_some(int file, std::span<std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::read(file, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return static_cast<ssize_t>(done);
}

}   // namespace

RankFiles::~RankFiles() {
  for (const Kept& copy : kept_) ::close(copy.file);
}

void RankFiles::bring(std::span<std::string* const> paths, const std::stop_token& stop, const Say& say,
                      const LetGo& let_go) {
  std::vector<std::string> asked;
  for (const std::string* path : paths) asked.push_back(*path);
  const auto bring_all = [&] {
    for (std::string* path : paths) bring_one(*path, stop, say);
  };
  try {
    return bring_all();
  } catch (const Error& error) {   // the same on every rank
    if (error.code != ErrorCode::kStorageFull || !give_up_copies(let_go)) throw;
  }
  for (std::size_t i = 0; i < paths.size(); ++i) *paths[i] = asked[i];
  bring_all();
}

// Collective: whether any rank had some.
bool RankFiles::give_up_copies(const LetGo& let_go) {
  std::int64_t given_up = std::ssize(kept_);
  if (let_go) let_go();
  for (const Kept& copy : kept_) ::close(copy.file);
  kept_.clear();
  comm_.all_reduce(std::span(&given_up, 1), IntegerOp::kMax);
  return given_up > 0;
}

void RankFiles::bring_one(std::string& path, const std::stop_token& stop, const Say& say) {
  const Label wanted = label_of_first(path);
  if (wanted.size < 0) return;
  Label own{.path = wanted.path};
  label(own.size, own.modified_ns, path);
  const bool has_it = comm_.rank() == 0 || own == wanted;
  const std::byte lacks_it{!has_it && !kept(wanted)};
  std::vector<char> lacks;
  for (const std::byte flag : comm_.all_gather(std::span(&lacks_it, 1)).bytes) lacks.push_back(flag != std::byte{0});
  if (std::ranges::count(lacks, 1) > 0) {
    std::vector<std::string> hosts;
    for (std::size_t r = 0; r < lacks.size(); ++r)
      if (lacks[r] && std::ranges::count(hosts, ranks_[r].host) == 0) hosts.push_back(ranks_[r].host);
    if (comm_.rank() == 0)
      say(fmt::format("{:.1f} MB of data go to {}", static_cast<double>(wanted.size) / 1e6, fmt::join(hosts, ", ")));
    copy_from_first(wanted, has_it, lacks, stop);
  }
  if (const Kept* copy = has_it ? nullptr : kept(wanted)) path = lent_path(copy->file);
}

// Every rank takes part, whether it has failed, has the file, or waits for another rank of its place.
void RankFiles::copy_from_first(const Label& wanted, bool has_it, const std::vector<char>& lacks,
                                const std::stop_token& stop) {
  const int receiver = receiver_of_own_place(lacks);
  std::optional<NamedCopy> copy;
  std::optional<Error> error;
  if (receiver == comm_.rank()) {
    copy.emplace();
    if (copy->file() < 0) error = failure("keep", errno, " in " + folder_of_copies());
  }
  std::optional<Error> moved =
      comm_.rank() == 0 ? send(wanted.path, wanted.size, stop) : receive(copy && !error ? copy->file() : -1);
  agree(error ? error : moved);
  ByteWriter name;
  name.text(copy ? copy->name() : std::string());
  const PartedBytes names = comm_.all_gather(name.bytes());
  if (receiver >= 0 && !has_it && !kept(wanted)) {
    const int file = ::open(ByteReader(names.part(receiver)).text().c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) error = failure("open the copy of", errno);
    else keep(wanted, file);
  }
  agree(error);   // and now the copies may lose their names
}

RankFiles::Label RankFiles::label_of_first(const std::string& path) {
  ByteWriter out;
  if (comm_.rank() == 0) {
    Label own{.path = path};
    label(own.size, own.modified_ns, path);
    out.number(own.size), out.number(own.modified_ns), out.text(own.path);
  }
  const PartedBytes all = comm_.all_gather(out.bytes());
  ByteReader in(all.part(0));
  Label first;
  first.size = in.number<std::int64_t>(), first.modified_ns = in.number<std::int64_t>(), first.path = in.text();
  return first;
}

// -1: the place of this rank is sent nothing.
int RankFiles::receiver_of_own_place(const std::vector<char>& lacks) const {
  const std::string& place = ranks_[static_cast<std::size_t>(comm_.rank())].place;
  for (std::size_t r = 0; r < lacks.size(); ++r)
    if (lacks[r] && ranks_[r].place == place) return static_cast<int>(r);
  return -1;
}

// Before each piece goes its size: 0 is the end, after an error as well.
std::optional<Error> RankFiles::send(const std::string& path, std::int64_t size, const std::stop_token& stop) {
  std::optional<Error> error;
  const int file = open_to_read(path);
  if (file < 0) error = failure("read", errno);
  std::vector<std::byte> piece(kPiece);
  std::int64_t sent = 0;
  for (bool is_end = false; !is_end;) {
    ssize_t n = 0;
    if (stop.stop_requested()) error = Error(ErrorCode::kCancelled, "the job was cancelled");
    if (!error && (n = read_some(file, piece)) < 0) error = failure("read", errno);
    sent += std::max<ssize_t>(n, 0);
    if (!error && (sent > size || (n == 0 && sent < size)))
      error = Error(ErrorCode::kUnavailable, "a file of the job has changed while it was sent to other ranks");
    std::int64_t header = error ? 0 : n;
    is_end = header == 0;
    comm_.broadcast(std::as_writable_bytes(std::span(&header, 1)), 0);
    if (!is_end) comm_.broadcast(std::span(piece).first(static_cast<std::size_t>(n)), 0);
  }
  if (file >= 0) ::close(file);
  return error;
}

// `file`: where to; -1: nowhere, because another rank of this place keeps it.
std::optional<Error> RankFiles::receive(int file) {
  std::optional<Error> error;
  std::vector<std::byte> piece(kPiece);
  while (true) {
    std::int64_t n = 0;
    comm_.broadcast(std::as_writable_bytes(std::span(&n, 1)), 0);
    if (n == 0) return error;
    const auto bytes = std::span(piece).first(static_cast<std::size_t>(n));
    comm_.broadcast(bytes, 0);
    if (file >= 0 && !error && !write_all(file, bytes)) error = failure("keep", errno, " in " + folder_of_copies());
  }
}

// Collective: where ranks have failed, all throw the error of the lowest.
void RankFiles::agree(const std::optional<Error>& own) {
  Ranks(comm_).share([&]() -> std::vector<std::byte> {
    if (own) throw *own;
    return {};
  });
}

Error RankFiles::failure(const char* what, int error, const std::string& where) const {
  return Error(disk_error(error), fmt::format("rank {} on {} could not {} the job's data{}: {}", comm_.rank(),
                                              ranks_[static_cast<std::size_t>(comm_.rank())].host, what, where,
                                              std::generic_category().message(error)));
}

void RankFiles::keep(Label label, int file) {
  kept_.push_front({std::move(label), file});
  if (kept_.size() <= kKept) return;
  ::close(kept_.back().file);
  kept_.pop_back();
}

const RankFiles::Kept* RankFiles::kept(const Label& label) const {
  const auto found = std::ranges::find(kept_, label, &Kept::label);
  return found == kept_.end() ? nullptr : &*found;
}

}   // namespace kedge::engine
