// What the field tables say, for people and for editors: the JSON Schema and the page of documentation.
// The checked-in copies (k3d.schema.json, docs/configuration.md) are held to these by a test, which also rewrites them.
#pragma once

#include <string>

namespace k3d::config {

/// JSON Schema 2020-12 of the file, indented, with a line feed at its end. It refuses what the decoder refuses as far
/// as one key or one section can tell; references and rules between sections are the decoder's alone.
std::string schema_json();

/// Markdown tables of every key with its default and its meaning.
std::string reference_markdown();

}  // namespace k3d::config
