// Columns for a terminal. Pure; every cell is made safe here, so that no command can forget it.
#pragma once

#include <string>
#include <vector>

namespace k3d::cli {

struct Column {
  std::string title;
  bool right = false;  ///< numbers
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// One cell a column; an empty one shows as "-".
  void add(std::vector<std::string> cells);
  /// Lines with newlines, two spaces between columns, no spaces at the end of a line.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool empty() const { return rows_.empty(); }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace k3d::cli
