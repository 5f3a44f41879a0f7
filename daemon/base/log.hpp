// The one logging façade: a constant message and fields. To journald's native socket if stderr is the journal,
// else lines on stderr. Never throws, never blocks on a closed stderr.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace k3d::log {

enum class Level { debug, info, warning, error };

struct Field {
  std::string_view key;
  std::string value;

  Field(std::string_view k, std::string v) : key(k), value(std::move(v)) {}
  Field(std::string_view k, const char* v) : key(k), value(v) {}
  Field(std::string_view k, std::string_view v) : key(k), value(v) {}
  template <class N>
    requires std::is_arithmetic_v<N>
  Field(std::string_view k, N number) : key(k), value(std::to_string(number)) {}
};

using Fields = std::initializer_list<Field>;

void set_level(Level level);
/// Replaces every later occurrence of `secret` (8 characters or more) in a logged value by "[redacted]".
void redact(std::string secret);

void write(Level level, std::string_view message, Fields fields = {});
inline void debug(std::string_view message, Fields fields = {}) { write(Level::debug, message, fields); }
inline void info(std::string_view message, Fields fields = {}) { write(Level::info, message, fields); }
inline void warning(std::string_view message, Fields fields = {}) { write(Level::warning, message, fields); }
inline void error(std::string_view message, Fields fields = {}) { write(Level::error, message, fields); }

}  // namespace k3d::log
