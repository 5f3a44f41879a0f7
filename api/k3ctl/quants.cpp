// k3ctl quants: what is known of each, and whether it fits here.
#include "api/k3ctl/commands.hpp"
#include "api/k3ctl/safe_text.hpp"
#include "api/k3ctl/table.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {
namespace {

std::string text_of(const Json& object, std::string_view key) { return json_string(object, key).value_or(""); }

std::string bytes_text(const Json& object, std::string_view key) {
  const auto bytes = json_int(object, key);
  return bytes && *bytes >= 0 ? format_bytes(static_cast<Bytes>(*bytes)) : std::string();
}

std::string here_text(const Json& quant) {
  const auto present = json_int(quant, "present_bytes"), total = json_int(quant, "total_bytes");
  if (!present || *present == 0) return present ? "no" : "";
  return total && *present >= *total ? "yes" : bytes_text(quant, "present_bytes");
}

std::string fits_text(const std::string& verdict) {
  if (verdict == "all_vram") return "yes, in VRAM";
  if (verdict == "hybrid") return "yes, hybrid";
  if (verdict == "too_big") return "no, too big";
  return verdict;
}

std::string table_of(const Json& items) {
  Table table({{"MODEL"}, {"QUANT"}, {"SIZE", true}, {"HERE"}, {"FITS HERE?"}, {"PROVEN"}});
  for (const Json& quant : items) {
    table.add({text_of(quant, "model"), text_of(quant, "quant"), bytes_text(quant, "total_bytes"), here_text(quant),
               fits_text(text_of(quant, "verdict")), text_of(quant, "proven")});
  }
  return table.text();
}

/// Why what must not run must not, and why nothing is known of others.
std::string reasons_of(const Json& items) {
  std::string out;
  for (const Json& quant : items) {
    const std::string verdict = text_of(quant, "verdict");
    if (verdict == "all_vram" || verdict == "hybrid") continue;
    const std::string quant_name = text_of(quant, "quant");
    for (const Json& reason : json_member(quant, "reasons")) {
      if (!reason.is_string()) continue;
      out += safe_text((quant_name.empty() ? text_of(quant, "model") : quant_name) + ": " + reason.get<std::string>()) + "\n";
    }
  }
  return out.empty() ? out : "\n" + out;
}

}  // namespace

Task<int> run_quants(Session& session, QuantsCommand /*command*/) {
  constexpr seconds kLimit{60};  // the first look reads the headers of all that is here
  auto page = [](const Json& body) -> Result<std::string> {
    const Json& items = json_member(body, "items");
    return table_of(items) + reasons_of(items);
  };
  co_return co_await show(session, session.client.get("/api/v1/quants", kLimit), page);
}

}  // namespace k3d::cli
