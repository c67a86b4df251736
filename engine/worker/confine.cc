// What a worker gives up before it sees a job: see confine.h.
#include "engine/worker/confine.h"

#include <linux/audit.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <system_error>
#include <vector>

namespace kedge::engine {
namespace {

constexpr rlim_t kDescriptors = 256, kFileBytes = rlim_t{16} << 30;

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

// What every clone of a thread has. At the end the address sanitizer looks for leaks from a process that shares the
// memory and traces the threads: such a build allows that, and allows forks and programs as little as other builds.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint32_t kCloneFlag = CLONE_VM;
constexpr bool kMayTrace = true;
#else
constexpr std::uint32_t kCloneFlag = CLONE_THREAD;
constexpr bool kMayTrace = false;
#endif

void lower(__rlimit_resource resource, rlim_t bound) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max = std::min(bound, limit.rlim_max);
  ::setrlimit(resource, &limit);
}

// A filter in the kernel's little language, built front to back.
class Filter {
 public:
  void load(std::size_t offset) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset))); }
  void answer(std::uint32_t action) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, action)); }
  void if_equal(std::uint32_t value, std::uint32_t action) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    answer(action);
  }
  void unless_equal(std::uint32_t value, std::uint32_t action) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
    answer(action);
  }
  // For one system call: unless its argument has these bits (all of them), the action.
  void unless_flags(std::uint32_t call, std::size_t argument, std::uint32_t bits, std::uint32_t action) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4));
    load(argument);
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
    answer(SECCOMP_RET_ALLOW);
    answer(action);
  }
  void unless_value(std::uint32_t call, std::size_t argument, std::uint32_t value, std::uint32_t action) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4));
    load(argument);
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    answer(SECCOMP_RET_ALLOW);
    answer(action);
  }
  sock_fprog program() { return {.len = static_cast<unsigned short>(code_.size()), .filter = code_.data()}; }

 private:
  std::vector<sock_filter> code_;
};

constexpr std::uint32_t error(int number) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(number);
}

Filter make_filter(NetworkUse network) {
  constexpr std::array kDenied{SYS_execve,         SYS_execveat, SYS_process_vm_readv, SYS_process_vm_writev, SYS_mount,
                               SYS_io_uring_setup, SYS_bpf,      SYS_kexec_load,       SYS_init_module,
#ifdef SYS_fork
                               SYS_fork,           SYS_vfork,
#endif
                               SYS_unshare,        SYS_setns};
  Filter filter;
  filter.load(offsetof(seccomp_data, arch));
  filter.unless_equal(kArchitecture, error(EPERM));
  filter.load(offsetof(seccomp_data, nr));
  for (const long call : kDenied) filter.if_equal(static_cast<std::uint32_t>(call), error(EPERM));
  if (!kMayTrace) filter.if_equal(SYS_ptrace, error(EPERM));
  filter.if_equal(SYS_clone3,
                  error(ENOSYS));   // its flags are in memory; glibc then uses clone, whose flags can be checked
  filter.unless_flags(SYS_clone, offsetof(seccomp_data, args[0]), kCloneFlag, error(EPERM));
  if (network == NetworkUse::kNone)
    filter.unless_value(SYS_socket, offsetof(seccomp_data, args[0]), AF_UNIX, error(EACCES));
  filter.answer(SECCOMP_RET_ALLOW);
  return filter;
}

// The rights of each version of Landlock's interface up to ours: a right that the kernel does not know must not be
// requested.
constexpr std::uint64_t kReads = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kFirstRights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;   // version 1: the rights up to this bit
constexpr std::uint64_t kRefer = 1ULL << 13, kTruncate = 1ULL << 14;            // versions 2 and 3; Debian's headers may lack their names

std::uint64_t rights_of_version(long version) {
  return kFirstRights | (version >= 2 ? kRefer : 0) | (version >= 3 ? kTruncate : 0);
}

// Of what is not there nothing is to be allowed.
void allow(int ruleset, const char* path, std::uint64_t rights) {
  const int fd = ::open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return;
  const landlock_path_beneath_attr rule{.allowed_access = rights, .parent_fd = fd};
  ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  ::close(fd);
}

}   // namespace

std::string confine_files(const std::filesystem::path& own) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static_cast<void>(own);
  return {};   // a sanitizer reads and writes files of its own
#else
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return std::generic_category().message(errno);
  const landlock_ruleset_attr handled{.handled_access_fs = rights_of_version(version)};
  const int ruleset = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0));
  if (ruleset < 0) return std::generic_category().message(errno);
  allow(ruleset, own.c_str(), handled.handled_access_fs & ~kRefer);
  // Of the system only what says nothing of other users and processes.
  for (const char* path : {"/proc/self", "/sys/devices/system", "/sys/fs/cgroup", "/usr/lib", "/usr/share/zoneinfo", "/lib", "/lib64"})
    allow(ruleset, path, kReads);
  for (const char* path : {"/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/etc/localtime", "/etc/ld.so.cache", "/dev/urandom"})
    allow(ruleset, path, LANDLOCK_ACCESS_FS_READ_FILE);
  allow(ruleset, "/dev/null", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);
  allow(ruleset, "/proc/self/clear_refs", LANDLOCK_ACCESS_FS_WRITE_FILE);   // for the peak of memory
  std::string failure;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
    failure = std::generic_category().message(errno);
  ::close(ruleset);
  return failure;
#endif
}

void limit_resources() {
  lower(RLIMIT_CORE, 0);
  lower(RLIMIT_NOFILE, kDescriptors);
  lower(RLIMIT_FSIZE, kFileBytes);
  ::signal(SIGXFSZ, SIG_IGN);   // a write beyond the bound is EFBIG, not a death
}

void limit_memory(std::int64_t bytes) {
  std::ifstream sizes("/proc/self/statm");
  std::int64_t pages = 0;   // of the address space, the file's first number
  sizes >> pages;
  lower(RLIMIT_AS, static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + bytes));
}

void leave_network() noexcept {
  ::unshare(CLONE_NEWNET);
}   // only root may; the filter does the same for the others

std::string deny_system_calls(NetworkUse network) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return std::generic_category().message(errno);
  Filter filter = make_filter(network);
  const sock_fprog program = filter.program();
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0) return {};
  return std::generic_category().message(errno);
}

}   // namespace kedge::engine
