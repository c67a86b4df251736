// What each tenant has on the disk, in bytes: reserved before it comes, so that many at once stay below the bound together.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace kedge::server {

// Names a tenant where its own name must not be read: in names of files and folders.
std::string tenant_key(std::string_view tenant);

// The books of data sets, models and artifacts. Thread safe.
class TenantBytes {
 public:
  explicit TenantBytes(std::uint64_t most = 0) : most_(most) {}   // of one tenant; 0: no bound

  void set_most(std::uint64_t most);   // for what comes
  std::uint64_t used(std::string_view tenant) const;

  // Bytes that count from the call on. Given back with it, unless keep() was called. Must not outlive the books.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept;
    Reservation& operator=(Reservation&& other) noexcept;
    ~Reservation();
    void resize(std::uint64_t bytes);   // errors: schema::QuotaExceeded, and nothing has changed
    std::uint64_t bytes() const { return bytes_; }
    void keep() noexcept { books_ = nullptr; }   // they count until release()

   private:
    friend class TenantBytes;
    Reservation(TenantBytes& books, std::string key) : books_(&books), key_(std::move(key)) {}
    TenantBytes* books_ = nullptr;   // null: it holds nothing
    std::string key_;
    std::uint64_t bytes_ = 0;
  };
  // Errors: schema::QuotaExceeded when the tenant would have more than it may.
  Reservation reserve(std::string_view tenant, std::uint64_t bytes);

  // What is there already counts, of any size. The second names the tenant by its key.
  void charge(std::string_view tenant, std::uint64_t bytes) { charge_key(tenant_key(tenant), bytes); }
  void charge_key(const std::string& key, std::uint64_t bytes);
  void release(std::string_view tenant, std::uint64_t bytes) { release_key(tenant_key(tenant), bytes); }
  void release_key(const std::string& key, std::uint64_t bytes) noexcept;

 private:
  void grow(const std::string& key, std::uint64_t bytes);

  mutable std::mutex mutex_;   // guards what follows
  std::uint64_t most_;
  std::map<std::string, std::uint64_t> used_;   // by tenant_key()
};

}  // namespace kedge::server
