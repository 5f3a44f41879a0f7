// The store on SQLite: what is kept, the audit trail, and files that are not what was written.
#include "daemon/adapters/sqlite_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace k3d::adapters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// An operation is its id here: how it is written down is the API's.
OperationCodec codec() {
  return {[](const Operation& operation) { return "op:" + operation.id.value; },
          [](const std::string& text) -> Result<Operation> {
            if (!text.starts_with("op:")) return fail(Code::protocol, "no operation");
            Operation operation;
            operation.id = OperationId(text.substr(3));
            return operation;
          }};
}

WallTime at(int seconds_later) {
  return *parse_time("2026-11-30T22:37:57.123Z") + seconds(seconds_later);
}

class SqliteStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "k3d-store-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    state_ = pattern;
    file_ = state_ / "k3d.db";
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(state_);
  }

  Store& open() {
    store_.reset();
    auto opened = open_sqlite_store(state_, codec());
    EXPECT_TRUE(opened) << opened.error().text();
    store_ = opened ? std::move(opened->store) : unusable_store(opened.error());
    return *store_;
  }
  /// What someone else does to the database.
  void sql(const std::string& text) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file_.c_str(), &db), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
    sqlite3_free(error);
    sqlite3_close(db);
  }
  [[nodiscard]] std::string bytes() const {
    std::ifstream in(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  void overwrite(const std::string& text) const { std::ofstream(file_, std::ios::binary) << text; }
  /// Files moved aside, without what belongs to them.
  [[nodiscard]] std::vector<std::filesystem::path> aside() const {
    std::vector<std::filesystem::path> out;
    for (const auto& entry : std::filesystem::directory_iterator(state_)) {
      const std::string name = entry.path().filename();
      if (name.starts_with("k3d.db.corrupt-") && !name.ends_with("-wal")) out.push_back(entry.path());
    }
    return out;
  }
  /// A store with something in every table, closed again.
  void fill() {
    Store& store = open();
    ASSERT_TRUE(store.save_desired("batch"));
    ASSERT_TRUE(store.put("big", std::string(200'000, 'x')));
    ASSERT_TRUE(store.append_audit(entry("p")));
    store_.reset();
  }
  static AuditEntry entry(const std::string& subject) {
    return {0, at(0), "uid 1000", "activate", subject, "nightly", "op-7", "accepted"};
  }
  static std::vector<std::string> subjects(const Result<std::vector<AuditEntry>>& entries) {
    EXPECT_TRUE(entries);
    std::vector<std::string> out;
    for (const AuditEntry& one : entries.value_or(std::vector<AuditEntry>())) out.push_back(one.subject);
    return out;
  }

  std::filesystem::path state_, file_;
  std::unique_ptr<Store> store_;
};

TEST_F(SqliteStoreTest, what_is_written_is_there_after_a_restart) {
  Store& store = open();
  EXPECT_EQ(store.load_desired(), "");
  EXPECT_FALSE(store.get("a")->has_value());
  ASSERT_TRUE(store.save_desired("batch"));
  ASSERT_TRUE(store.save_desired("interactive"));
  ASSERT_TRUE(store.put("a", std::string("x\0y", 3)));
  EXPECT_EQ(store.next_attempt(), 1u);
  Store& again = open();
  EXPECT_EQ(again.load_desired(), "interactive");
  EXPECT_EQ(again.get("a")->value_or(""), std::string("x\0y", 3));
  EXPECT_EQ(again.next_attempt(), 2u);
}

TEST_F(SqliteStoreTest, it_is_private) {
  open();
  struct stat info {};
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(SqliteStoreTest, operations_are_one_row_each_newest_first) {
  Store& store = open();
  for (int i = 0; i < 4; ++i) {
    Operation operation;
    operation.id = OperationId("o" + std::to_string(i));
    operation.created_at = at(i);
    ASSERT_TRUE(store.save_operation(operation));
    operation.state = OperationState::succeeded;
    ASSERT_TRUE(store.save_operation(operation));
  }
  const auto found = store.load_operations(3);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 3u);
  EXPECT_EQ(found->front().id.value, "o3");
  EXPECT_EQ(found->back().id.value, "o1");
}

TEST_F(SqliteStoreTest, an_audit_entry_comes_back_as_it_was) {
  ASSERT_TRUE(open().append_audit(entry("batch")));
  const auto found = open().load_audit(10, 0);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  const AuditEntry& one = found->front();
  EXPECT_EQ(one.number, 1u);
  EXPECT_EQ(one.at, at(0));
  EXPECT_EQ(one.who, "uid 1000");
  EXPECT_EQ(one.action, "activate");
  EXPECT_EQ(one.subject, "batch");
  EXPECT_EQ(one.reason, "nightly");
  EXPECT_EQ(one.operation, "op-7");
  EXPECT_EQ(one.outcome, "accepted");
}

TEST_F(SqliteStoreTest, an_audit_entry_may_have_any_bytes) {
  AuditEntry odd = entry("a \"b\"\n'; DROP TABLE audit; --");
  odd.reason = std::string("\xff\0x", 3);
  ASSERT_TRUE(open().append_audit(odd));
  const auto found = store_->load_audit(10, 0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->at(0).subject, odd.subject);
  EXPECT_EQ(found->at(0).reason, std::string("\xef\xbf\xbd\0x", 5));
}

TEST_F(SqliteStoreTest, the_trail_is_read_in_pages_newest_first) {
  Store& store = open();
  for (const char* subject : {"a", "b", "c", "d"}) ASSERT_TRUE(store.append_audit(entry(subject)));
  EXPECT_THAT(subjects(store.load_audit(2, 0)), ElementsAre("d", "c"));
  EXPECT_EQ(store.load_audit(2, 0)->back().number, 3u);
  EXPECT_THAT(subjects(store.load_audit(2, 3)), ElementsAre("b", "a"));
  EXPECT_THAT(subjects(store.load_audit(2, 1)), IsEmpty());
  EXPECT_THAT(subjects(store.load_audit(9, ~std::uint64_t{0})), ElementsAre("d", "c", "b", "a"));
}

TEST_F(SqliteStoreTest, the_trail_keeps_ten_thousand_and_numbers_grow_on) {
  fill();
  sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) "
      "INSERT INTO audit(body) SELECT '{\"subject\":\"old\"}' FROM n");
  Store& store = open();
  ASSERT_TRUE(store.append_audit(entry("new")));
  const auto all = store.load_audit(20'000, 0);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 10'000u);
  EXPECT_EQ(all->front().number, 10'002u);
  EXPECT_EQ(all->front().subject, "new");
  EXPECT_EQ(all->back().number, 3u);
}

TEST_F(SqliteStoreTest, a_number_is_never_given_twice) {
  fill();
  sql("DELETE FROM audit");
  Store& store = open();
  ASSERT_TRUE(store.append_audit(entry("next")));
  EXPECT_EQ(store.load_audit(1, 0)->front().number, 2u);
}

TEST_F(SqliteStoreTest, F86_rows_that_cant_be_read_harm_no_others) {
  fill();
  const std::string nested = std::string(100'000, '[');
  for (const std::string& body :
       std::vector<std::string>{"", "garbage", "{", "7", "null", "[]", R"({"at":7,"who":{}})", nested}) {
    sql("INSERT INTO audit(body) VALUES('" + body + "')");
    sql("INSERT INTO operations VALUES('" + body.substr(0, 20) + std::to_string(body.size()) + "', 'z', '" + body +
        "')");
  }
  sql("INSERT INTO audit(body) VALUES(zeroblob(50000000))");
  sql("INSERT INTO operations VALUES('large', 'z', zeroblob(50000000)), ('good', 'a', 'op:good')");
  Store& store = open();
  const auto trail = store.load_audit(100, 0);
  ASSERT_TRUE(trail);
  ASSERT_EQ(trail->size(), 9u);
  EXPECT_EQ(trail->front().number, 9u);
  EXPECT_EQ(trail->front().who, "");
  EXPECT_EQ(trail->back().subject, "p");
  const auto operations = store.load_operations(100);
  ASSERT_TRUE(operations);
  ASSERT_EQ(operations->size(), 1u);
  EXPECT_EQ(operations->front().id.value, "good");
}

TEST_F(SqliteStoreTest, F86_an_empty_file_is_a_new_state) {
  overwrite("");
  ASSERT_TRUE(open().save_desired("batch"));
  EXPECT_EQ(open().load_desired(), "batch");
  EXPECT_THAT(aside(), IsEmpty());
}

TEST_F(SqliteStoreTest, F86_what_is_no_database_is_moved_aside_and_kept) {
  const std::string nested = "{\"a\":" + std::string(1'000'000, '[');
  for (const std::string& garbage :
       std::vector<std::string>{"this is no database", "SQLite format 3", std::string(5000, '\0') + "y", nested}) {
    std::filesystem::remove_all(state_);
    std::filesystem::create_directory(state_);
    overwrite(garbage);
    Store& store = open();
    EXPECT_EQ(store.load_desired(), "");
    EXPECT_TRUE(store.save_desired("batch"));
    ASSERT_EQ(aside().size(), 1u) << garbage.substr(0, 20);
    EXPECT_EQ(std::filesystem::file_size(aside().front()), garbage.size());
  }
}

TEST_F(SqliteStoreTest, F86_a_truncated_database_is_moved_aside) {
  fill();
  const std::string whole = bytes();
  ASSERT_GT(whole.size(), 200'000u);
  for (const std::size_t size : {whole.size() - 5000, whole.size() / 2, std::size_t{4096}, std::size_t{100}}) {
    std::filesystem::remove_all(state_);
    std::filesystem::create_directory(state_);
    overwrite(whole.substr(0, size));
    Store& store = open();
    EXPECT_EQ(store.load_desired(), "") << size;
    EXPECT_TRUE(store.save_desired("other")) << size;
    EXPECT_EQ(aside().size(), 1u) << size;
  }
}

TEST_F(SqliteStoreTest, F86_pages_that_were_written_over_are_found) {
  fill();
  std::string damaged = bytes();
  for (std::size_t page = 1; page < 8; ++page) damaged.replace(page * 4096, 4096, std::string(4096, '\xa5'));
  overwrite(damaged);
  Store& store = open();
  EXPECT_EQ(store.load_desired(), "");
  EXPECT_TRUE(store.append_audit(entry("p")));
  ASSERT_EQ(aside().size(), 1u);
  EXPECT_EQ(std::filesystem::file_size(aside().front()), damaged.size());
}

TEST_F(SqliteStoreTest, F86_a_write_ahead_log_of_garbage_is_no_loss) {
  fill();
  std::ofstream(file_.string() + "-wal", std::ios::binary) << std::string(100'000, '\x5a');
  EXPECT_EQ(open().load_desired(), "batch");
  EXPECT_THAT(aside(), IsEmpty());
}

TEST_F(SqliteStoreTest, F86_a_newer_schema_is_refused_and_left_as_it_is) {
  fill();
  sql("PRAGMA user_version=2; ALTER TABLE audit ADD COLUMN colour TEXT");
  const std::string before = bytes();
  const auto opened = open_sqlite_store(state_, codec());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::state_unusable);
  EXPECT_THAT(opened.error().text(), HasSubstr("was written by a newer k3d"));
  EXPECT_EQ(bytes(), before);
  EXPECT_THAT(aside(), IsEmpty());
}

TEST_F(SqliteStoreTest, a_state_that_cant_be_opened_is_an_error) {
  std::filesystem::create_directory(file_);
  const auto opened = open_sqlite_store(state_, codec());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::io_failed);
  EXPECT_THAT(aside(), IsEmpty());
}

TEST_F(SqliteStoreTest, a_store_that_cant_be_used_has_nothing_and_says_why) {
  const auto store = unusable_store({Code::state_unusable, "no", "", ""});
  EXPECT_EQ(store->append_audit(entry("p")).error().code, Code::state_unusable);
  EXPECT_THAT(subjects(store->load_audit(10, 0)), IsEmpty());
  EXPECT_EQ(store->load_desired(), "");
  EXPECT_FALSE(store->next_attempt());
}

}  // namespace
}  // namespace k3d::adapters
