// The books of what tenants store: see tenant_bytes.h.
#include "server/data/tenant_bytes.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "crypto/digest.h"
#include "engine/faults/fail_point.h"
#include "schemas/quota.h"

namespace kedge::server {

std::string tenant_key(std::string_view tenant) { return crypto::hex_digest(crypto::DigestKind::kSha256, tenant).substr(0, 40); }

void TenantBytes::set_most(std::uint64_t most) {
  const std::lock_guard lock(mutex_);
  most_ = most;
}

std::uint64_t TenantBytes::used(std::string_view tenant) const {
  const std::string key = tenant_key(tenant);
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(key);
  return found == used_.end() ? 0 : found->second;
}

TenantBytes::Reservation TenantBytes::reserve(std::string_view tenant, std::uint64_t bytes) {
  Reservation reservation(*this, tenant_key(tenant));
  reservation.resize(bytes);
  return reservation;
}

void TenantBytes::charge_key(const std::string& key, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  used_[key] += bytes;
}

void TenantBytes::release_key(const std::string& key, std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(key);
  if (found == used_.end()) return;
  found->second -= std::min(found->second, bytes);
  if (found->second == 0) used_.erase(found);
}

void TenantBytes::grow(const std::string& key, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(key);
  const std::uint64_t used = found == used_.end() ? 0 : found->second, left = most_ - std::min(most_, used);
  if (most_ != 0 && bytes > left && !KEDGE_CONTROL("store-beyond-quotas"))
    throw schema::QuotaExceeded(fmt::format("the data sets, models and artifacts of this tenant would take more than {} bytes of the disk; "
                                            "delete some", most_),
                                {.name = "bytes", .unit = "content-bytes", .most = most_, .left = left});
  used_[key] += bytes;
}

TenantBytes::Reservation::Reservation(Reservation&& other) noexcept
    : books_(std::exchange(other.books_, nullptr)), key_(std::move(other.key_)), bytes_(std::exchange(other.bytes_, 0)) {}

TenantBytes::Reservation& TenantBytes::Reservation::operator=(Reservation&& other) noexcept {
  std::swap(books_, other.books_), std::swap(key_, other.key_), std::swap(bytes_, other.bytes_);
  return *this;
}

TenantBytes::Reservation::~Reservation() {
  if (books_) books_->release_key(key_, bytes_);
}

void TenantBytes::Reservation::resize(std::uint64_t bytes) {
  if (!books_) return;
  if (bytes > bytes_)
    books_->grow(key_, bytes - bytes_);
  else
    books_->release_key(key_, bytes_ - bytes);
  bytes_ = bytes;
}

}  // namespace kedge::server
