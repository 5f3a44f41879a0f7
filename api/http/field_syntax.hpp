// The small grammar of HTTP fields (RFC 9110, 5.6): tokens, lists, blanks. Pure; shared by everything that reads heads.
#pragma once

#include <string>
#include <string_view>

namespace k3d::api {

/// A method or field name.
bool is_token(std::string_view text);
/// Without blanks and tabs at both ends.
std::string_view trim_blanks(std::string_view text);
/// A byte below 0x20 but the tab, or 0x7f: never part of a field's value.
bool has_control_byte(std::string_view text);
/// Whether the comma-separated `list` has `item` in any case.
bool list_has(std::string_view list, std::string_view item);
/// ASCII only.
std::string lower_case(std::string_view text);
/// Of a hexadecimal digit, else -1.
int hex_digit(char c);

}  // namespace k3d::api
