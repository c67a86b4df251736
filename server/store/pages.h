// A SQLite file system that ends each page of a database with a checksum: a damaged page is an error and never an answer. What a transaction adds to
// the log goes there in few writes.
#pragma once

#include <cstdint>

namespace kedge::server {

// Bytes at the end of each page that SQLite must leave free (SQLITE_FCNTL_RESERVE_BYTES). Databases that were made without them
// are read and written as they are, unchecked. The log (WAL) has checksums of its own.
constexpr int kChecksumBytes = 8;

// File control that returns the number of the last page that was found damaged (std::int64_t; 0: none).
constexpr int kDamagedPage = 0x6b70;

// The name to open a database with. It uses the file system that is SQLite's default when a file is opened. A page
// whose checksum is wrong reads as SQLITE_IOERR_DATA. Thread-safe.
const char* checked_pages();

}   // namespace kedge::server
