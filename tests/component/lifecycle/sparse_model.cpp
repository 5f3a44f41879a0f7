#include "tests/component/lifecycle/sparse_model.hpp"

#include <fstream>

#include "tests/unit/planning/gguf_builder.hpp"

namespace k3d::lifecycle {
namespace {

using planning::GgufType;
using planning::test::GgufBuilder;

void add_key(GgufBuilder& builder, const std::string& name, const planning::MetadataValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) builder.text(name, *text);
  if (const auto* number = std::get_if<std::int64_t>(&value)) builder.number(name, GgufType::i64, *number);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) builder.array(name, GgufType::i64, *list);
}

}  // namespace

void write_sparse(const std::filesystem::path& path, const planning::ModelHeaders& headers) {
  GgufBuilder builder;
  Bytes data = 0;
  for (const auto& [name, value] : headers.metadata) add_key(builder, name, value);
  for (const planning::TensorInfo& tensor : headers.tensors) {
    builder.tensor(tensor.name, tensor.type, {tensor.ne.begin(), tensor.ne.end()});
    data += (tensor.bytes + builder.alignment - 1) / builder.alignment * builder.alignment;
  }
  const std::string header = builder.header();
  std::ofstream(path, std::ios::binary) << header;
  std::filesystem::resize_file(path, (header.size() + builder.alignment) / builder.alignment * builder.alignment + data);
}

}  // namespace k3d::lifecycle
