#include "daemon/adapters/sqlite_store.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>
#include <limits>

#include "daemon/base/files.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/log.hpp"

namespace k3d::adapters {
namespace {

constexpr int kSchema = 1;
constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS kept(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS operations(id TEXT PRIMARY KEY, created_at TEXT NOT NULL, body TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS audit(number INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS operations_by_time ON operations(created_at DESC);";

std::string audit_body(const AuditEntry& entry) {
  return dump_json({{"at", format_time(entry.at)},
                    {"who", entry.who},
                    {"action", entry.action},
                    {"subject", entry.subject},
                    {"reason", entry.reason},
                    {"operation", entry.operation},
                    {"outcome", entry.outcome}});
}

/// "NUMBER BODY"; what can't be read of it stays empty.
AuditEntry audit_entry(const std::string& row) {
  AuditEntry entry;
  entry.number = std::strtoull(row.c_str(), nullptr, 10);
  const Result<Json> body = parse_json(row.substr(row.find(' ') + 1));
  if (!body) return entry;
  entry.at = parse_time(json_text(*body, "at")).value_or(WallTime{});
  entry.who = json_text(*body, "who");
  entry.action = json_text(*body, "action");
  entry.subject = json_text(*body, "subject");
  entry.reason = json_text(*body, "reason");
  entry.operation = json_text(*body, "operation");
  entry.outcome = json_text(*body, "outcome");
  return entry;
}

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

Error database_error(sqlite3* db, const std::string& what) {
  const int code = sqlite3_extended_errcode(db);
  const bool full = (code & 0xff) == SQLITE_FULL || sqlite3_system_errno(db) == ENOSPC;
  Error error{full ? Code::disk_full : Code::io_failed, "the state can't be " + what, {}, sqlite3_errmsg(db)};
  error.hint = full ? "free space on the file system of the state folder" : "check the state folder's file system";
  return error;
}

class SqliteStore : public Store {
 public:
  SqliteStore(Database db, OperationCodec codec) : db_(std::move(db)), codec_(std::move(codec)) {}

  Status save_desired(const std::string& profile) override { return put("desired", profile); }

  Result<std::string> load_desired() override {
    const auto value = get("desired");
    if (!value) return fail(value.error());
    return value->value_or("");
  }

  Result<std::uint64_t> next_attempt() override {
    const auto last = get("attempt");
    if (!last) return fail(last.error());
    const std::uint64_t next = std::strtoull(last->value_or("0").c_str(), nullptr, 10) + 1;
    if (Status saved = put("attempt", std::to_string(next)); !saved) return fail(saved.error());
    return next;
  }

  Status save_operation(const Operation& operation) override {
    Status saved = run("INSERT INTO operations VALUES(?1, ?2, ?3) ON CONFLICT(id) DO UPDATE SET body = ?3",
                       {operation.id.value, format_time(operation.created_at), codec_.encode(operation)});
    if (!saved || !operation.ended()) return saved;
    return run("DELETE FROM operations WHERE id NOT IN (SELECT id FROM operations ORDER BY created_at DESC LIMIT 1000)",
               {});
  }

  Result<std::vector<Operation>> load_operations(int limit) override {
    auto rows = column("SELECT body FROM operations WHERE length(CAST(body AS BLOB)) <= 1048576 "
                       "ORDER BY created_at DESC LIMIT ?1",
                       {std::to_string(limit)});
    if (!rows) return fail(rows.error());
    std::vector<Operation> operations;
    for (const std::string& row : *rows) {
      Result<Operation> operation = codec_.decode(row);
      if (operation) {
        operations.push_back(std::move(*operation));
      } else {
        log::warning("an operation of the state can't be read and is left out", {{"cause", operation.error().message}});
      }
    }
    return operations;
  }

  Status put(const std::string& key, const std::string& value) override {
    return run("INSERT INTO kept VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET value = ?2", {key, value});
  }

  Result<std::optional<std::string>> get(const std::string& key) override {
    auto rows = column("SELECT value FROM kept WHERE key = ?1", {key});
    if (!rows) return fail(rows.error());
    if (rows->empty()) return std::optional<std::string>();
    return std::optional<std::string>(std::move(rows->front()));
  }

  Status append_audit(const AuditEntry& entry) override {
    Status saved = run("INSERT INTO audit(body) VALUES(?1)", {audit_body(entry)});
    if (!saved) return saved;
    const Status pruned = run("DELETE FROM audit WHERE number <= (SELECT max(number) FROM audit) - 10000", {});
    // The entry is there: an error would have it written once more. What is too much goes with a later one.
    if (!pruned) log::warning("old entries of the history stay", {{"cause", pruned.error().text()}});
    return {};
  }

  Result<std::vector<AuditEntry>> load_audit(int limit, std::uint64_t before) override {
    const std::string below = std::to_string(before == 0 ? std::numeric_limits<std::int64_t>::max() : before);
    // The number comes with its body in one text: a row is one column to this store.
    auto rows = column("SELECT number || ' ' || body FROM audit WHERE number < CAST(?1 AS INTEGER) "
                       "AND length(CAST(body AS BLOB)) <= 1048576 ORDER BY number DESC LIMIT ?2",
                       {below, std::to_string(limit)});
    if (!rows) return fail(rows.error());
    std::vector<AuditEntry> entries;
    for (const std::string& row : *rows) entries.push_back(audit_entry(row));
    return entries;
  }

 private:
  Result<Statement> prepare(const char* sql, const std::vector<std::string>& arguments) {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(db_.get(), sql, -1, &raw, nullptr) != SQLITE_OK) {
      return fail(database_error(db_.get(), "read"));
    }
    Statement statement(raw);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      // SQLITE_STATIC: the arguments outlive the statement, which its caller steps and drops at once.
      sqlite3_bind_text(statement.get(), static_cast<int>(i) + 1, arguments[i].data(),
                        static_cast<int>(arguments[i].size()), nullptr);
    }
    return statement;
  }

  Status run(const char* sql, const std::vector<std::string>& arguments) {
    Result<Statement> statement = prepare(sql, arguments);
    if (!statement) return fail(statement.error());
    if (sqlite3_step(statement->get()) != SQLITE_DONE) return fail(database_error(db_.get(), "written"));
    return {};
  }

  Result<std::vector<std::string>> column(const char* sql, const std::vector<std::string>& arguments) {
    Result<Statement> statement = prepare(sql, arguments);
    if (!statement) return fail(statement.error());
    std::vector<std::string> rows;
    int rc = SQLITE_ROW;
    while ((rc = sqlite3_step(statement->get())) == SQLITE_ROW) {
      const void* text = sqlite3_column_blob(statement->get(), 0);
      const int size = sqlite3_column_bytes(statement->get(), 0);
      rows.emplace_back(static_cast<const char*>(text), static_cast<std::size_t>(size));
    }
    if (rc != SQLITE_DONE) return fail(database_error(db_.get(), "read"));
    return rows;
  }

  Database db_;
  OperationCodec codec_;
};

class UnusableStore : public Store {
 public:
  explicit UnusableStore(Error why) : why_(std::move(why)) {}
  Status save_desired(const std::string&) override { return fail(why_); }
  Result<std::string> load_desired() override { return std::string(); }
  Result<std::uint64_t> next_attempt() override { return fail(why_); }
  Status save_operation(const Operation&) override { return fail(why_); }
  Result<std::vector<Operation>> load_operations(int) override { return std::vector<Operation>(); }
  Status put(const std::string&, const std::string&) override { return fail(why_); }
  Result<std::optional<std::string>> get(const std::string&) override { return std::optional<std::string>(); }
  Status append_audit(const AuditEntry&) override { return fail(why_); }
  Result<std::vector<AuditEntry>> load_audit(int, std::uint64_t) override { return std::vector<AuditEntry>(); }

 private:
  Error why_;
};

Status execute(sqlite3* db, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return fail(database_error(db, "opened"));
}

Result<int> schema_of(sqlite3* db) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &raw, nullptr) != SQLITE_OK) {
    return fail(database_error(db, "read"));
  }
  const Statement statement(raw);
  if (sqlite3_step(statement.get()) != SQLITE_ROW) return fail(database_error(db, "read"));
  return sqlite3_column_int(statement.get(), 0);
}

/// Damage inside pages that still look like a database: SQLite answers the pragma with what it found, not with an error.
Status quick_check(sqlite3* db) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &raw, nullptr) != SQLITE_OK) {
    return fail(database_error(db, "read"));
  }
  const Statement statement(raw);
  if (sqlite3_step(statement.get()) != SQLITE_ROW) return fail(database_error(db, "read"));
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), 0));
  const std::string found = text == nullptr ? "" : text;
  if (found == "ok") return {};
  return fail(Code::io_failed, "the state can't be read", {}, "the database is malformed: " + found);
}

Result<Database> open_database(const std::filesystem::path& file) {
  sqlite3* raw = nullptr;
  const int rc = sqlite3_open_v2(file.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  Database db(raw);
  if (rc != SQLITE_OK) return fail(database_error(db.get(), "opened"));
  sqlite3_busy_timeout(db.get(), 2000);
  const Result<int> schema = schema_of(db.get());
  if (!schema) return fail(schema.error());
  if (*schema > kSchema) {
    return fail(Code::state_unusable, file.string() + " was written by a newer k3d", "use that version, or another state");
  }
  if (Status sound = quick_check(db.get()); !sound) return fail(sound.error());
  for (const char* sql : {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", kTables, "PRAGMA user_version=1"}) {
    if (Status done = execute(db.get(), sql); !done) return fail(done.error());
  }
  ::chmod(file.c_str(), 0600);
  return db;
}

bool is_damage(const Error& error) {
  return error.code == Code::io_failed && (error.cause.find("not a database") != std::string::npos ||
                                           error.cause.find("malformed") != std::string::npos);
}

/// Moves the database out of the way, whole: with its write-ahead log someone may yet save what is in it.
/// Where it went.
std::filesystem::path move_aside(const std::filesystem::path& file) {
  const auto now = std::chrono::duration_cast<seconds>(std::chrono::system_clock::now().time_since_epoch());
  const std::string aside = file.string() + ".corrupt-" + std::to_string(now.count());
  std::error_code ec;
  std::filesystem::rename(file, aside, ec);
  std::filesystem::rename(file.string() + "-wal", aside + "-wal", ec);
  std::filesystem::remove(file.string() + "-shm", ec);
  log::error("the state database was damaged; a new one is begun", {{"kept_as", aside}});
  return aside;
}

}  // namespace

Result<OpenedStore> open_sqlite_store(const std::filesystem::path& state, OperationCodec codec) {
  if (Status made = make_folder(state); !made) return fail(made.error());
  const std::filesystem::path file = state / "k3d.db";
  std::filesystem::path damaged;
  Result<Database> db = open_database(file);
  if (!db && is_damage(db.error())) {
    damaged = move_aside(file);
    db = open_database(file);
  }
  if (!db) return fail(db.error());
  return OpenedStore{std::make_unique<SqliteStore>(std::move(*db), std::move(codec)), std::move(damaged)};
}

std::unique_ptr<Store> unusable_store(Error why) { return std::make_unique<UnusableStore>(std::move(why)); }

}  // namespace k3d::adapters
