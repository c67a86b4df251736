// A thin layer over SQLite: connections and statements that close themselves, and errors of our own type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace kedge::server {

using Bytes = std::vector<std::byte>;

// One connection, for one thread at a time. Errors of every call here: kStorageFull for a full disk,
// kUnavailable for what else the disk or the file is to blame for (I/O, locked, corrupt), kInternal for wrong SQL.
class SqliteConnection {
 public:
  enum class Mode { kReadWrite, kReadOnly };
  SqliteConnection(const std::filesystem::path& file, Mode mode);   // creates the file in kReadWrite
  ~SqliteConnection();
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;

  void execute(const std::string& sql);   // any number of statements, without parameters
  bool in_transaction() const;
  sqlite3* handle() const { return db_; }

 private:
  sqlite3* db_ = nullptr;
};

// A prepared statement that is run again and again; open() binds its parameters and gives the rows.
class SqliteStatement {
 public:
  // The rows of one run, read forward once. The statement is free for the next run when this is destroyed.
  class Rows {
   public:
    explicit Rows(SqliteStatement& statement) : statement_(statement) {}
    ~Rows();
    Rows(const Rows&) = delete;
    bool next();   // true: a row is there to be read
    std::int64_t integer(int column) const;
    std::string text(int column) const;                    // empty for NULL
    std::span<const std::byte> blob(int column) const;     // until next(); empty for NULL
    bool is_null(int column) const;

   private:
    SqliteStatement& statement_;
  };

  SqliteStatement(SqliteConnection& connection, std::string_view sql);
  ~SqliteStatement();
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  // Parameters are integers, texts, bytes, or optionals of them (empty: NULL), in the order of ?1, ?2 ...
  template <class... Args>
  Rows open(const Args&... args) {
    int index = 0;
    (bind(++index, args), ...);
    return Rows(*this);
  }
  template <class... Args>
  void run(const Args&... args) {   // for statements without rows to read
    Rows rows = open(args...);
    while (rows.next()) {
    }
  }

 private:
  void bind(int index, std::int64_t value);
  void bind(int index, std::string_view value);
  void bind(int index, std::span<const std::byte> value);
  template <class T>
  void bind(int index, const std::optional<T>& value) {
    value ? bind(index, *value) : bind_null(index);
  }
  void bind_null(int index);
  void check(int code) const;

  SqliteConnection& connection_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace kedge::server
