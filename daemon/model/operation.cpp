#include "daemon/model/operation.hpp"

#include <array>

namespace k3d {
namespace {

constexpr std::array kKinds{std::pair{OperationKind::activate, std::string_view("activate")},
                            std::pair{OperationKind::deactivate, std::string_view("deactivate")}};
constexpr std::array kStates{std::pair{OperationState::queued, std::string_view("queued")},
                             std::pair{OperationState::running, std::string_view("running")},
                             std::pair{OperationState::succeeded, std::string_view("succeeded")},
                             std::pair{OperationState::failed, std::string_view("failed")},
                             std::pair{OperationState::cancelled, std::string_view("cancelled")}};

template <class Table, class Value>
std::string_view name_of(const Table& table, Value value) {
  for (const auto& [v, name] : table) {
    if (v == value) return name;
  }
  return {};
}

template <class Value, class Table>
std::optional<Value> value_of(const Table& table, std::string_view text) {
  for (const auto& [v, name] : table) {
    if (name == text) return v;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(OperationKind kind) { return name_of(kKinds, kind); }
std::string_view to_string(OperationState state) { return name_of(kStates, state); }
std::optional<OperationKind> parse_operation_kind(std::string_view text) { return value_of<OperationKind>(kKinds, text); }
std::optional<OperationState> parse_operation_state(std::string_view text) {
  return value_of<OperationState>(kStates, text);
}

}  // namespace k3d
