// Build-time tool: openapi_embed IN.yaml OUT.cpp writes the YAML document as JSON into a source file that defines
// k3d::api::openapi_json(). Not part of any installed program. Fails on what JSON can't say (duplicate keys).
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace {

using Json = nlohmann::ordered_json;

/// YAML 1.2's core schema for plain scalars, as far as an API description needs it; quoted ones are always text.
Json scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;
  if (text == "null" || text == "~" || text.empty()) return nullptr;
  if (text == "true") return true;
  if (text == "false") return false;
  const char* end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto [at, ec] = std::from_chars(text.data(), end, whole); ec == std::errc() && at == end) return whole;
  double real = 0;
  if (const auto [at, ec] = std::from_chars(text.data(), end, real); ec == std::errc() && at == end) return real;
  return text;
}

[[noreturn]] void refuse(const YAML::Node& key, const std::string& why) {
  throw std::runtime_error("line " + std::to_string(key.Mark().line + 1) + ": \"" + key.Scalar() + "\" " + why);
}

Json convert(const YAML::Node& node) {
  if (node.IsMap()) {
    Json out = Json::object();
    for (const auto& entry : node) {
      const std::string& key = entry.first.Scalar();
      if (out.contains(key)) refuse(entry.first, "is there twice");
      // What an unquoted comma in {description: this, and that} leaves behind.
      if (entry.second.IsNull()) refuse(entry.first, "has no value: quote a text that has a comma in it");
      out[key] = convert(entry.second);
    }
    return out;
  }
  if (node.IsSequence()) {
    Json out = Json::array();
    for (const auto& item : node) out.push_back(convert(item));
    return out;
  }
  return node.IsScalar() ? scalar(node) : Json(nullptr);
}

/// A character array instead of a literal: compilers limit a literal's length.
void write_source(std::ostream& out, const std::string& json) {
  out << "// Made by openapi_embed from api/openapi.yaml.\n#include \"api/contract/openapi.hpp\"\n\n"
      << "namespace k3d::api {\nnamespace {\n\nconstexpr char kText[] = {";
  for (std::size_t i = 0; i < json.size(); ++i) out << (i % 32 == 0 ? "\n" : "") << static_cast<int>(json[i]) << ',';
  out << "};\n\n}  // namespace\n\nstd::string_view openapi_json() { return {kText, sizeof kText}; }\n\n"
      << "}  // namespace k3d::api\n";
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: openapi_embed IN.yaml OUT.cpp\n";
    return 2;
  }
  // ASCII alone, so that every element fits a char whatever its sign.
  const std::string json = convert(YAML::LoadFile(argv[1])).dump(-1, ' ', true);
  std::ofstream out(argv[2]);
  write_source(out, json);
  return out.flush() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << argv[1] << ": " << error.what() << '\n';
  return 1;
}
