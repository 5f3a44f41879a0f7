// The headers of full-size quants, made by the test bed: what is read from them is what was published of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "daemon/planning/ggml_types.hpp"
#include "daemon/planning/gguf_reader.hpp"

namespace k3d::planning {
namespace {

namespace fs = std::filesystem;

using Mix = std::map<std::string, int>;

class FullSize : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "k3d-full-size-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Reads what make_sparse_k3.py wrote, from the last file of the set.
  ModelHeaders make(const std::string& quant, const std::string& arguments = "") {
    const std::string command = "/usr/bin/python3 " K3D_SOURCE_DIR "/tests/testbed/make_sparse_k3.py " + quant + " " +
                                folder_.string() + " " + arguments + " >/dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0);
    fs::path last;
    for (const auto& entry : fs::directory_iterator(folder_)) last = std::max(last, entry.path());
    Result<ModelHeaders> model = read_model(last);
    EXPECT_TRUE(model) << model.error().text();
    return model ? std::move(*model) : ModelHeaders{};
  }

  fs::path folder_;
};

Mix experts_of(const ModelHeaders& model) {
  Mix mix;
  for (const TensorInfo& tensor : model.tensors) {
    if (tensor.name.find("_exps.") != std::string::npos) ++mix[std::string(ggml_type(tensor.type)->name)];
  }
  return mix;
}

Bytes file_bytes_of(const ModelHeaders& model) {
  Bytes bytes = 0;
  for (const ShardInfo& shard : model.shards) bytes += shard.file_bytes;
  return bytes;
}

TEST_F(FullSize, UD_Q2_K_XL_is_read_as_published) {
  const ModelHeaders model = make("UD-Q2_K_XL");
  EXPECT_EQ(model.shards.size(), 20U);
  EXPECT_EQ(model.tensors.size(), 2573U);
  EXPECT_EQ(experts_of(model), (Mix{{"IQ2_XS", 263}, {"IQ3_XXS", 13}}));
  EXPECT_NEAR(static_cast<double>(file_bytes_of(model)), 861'277'858'912.0, 10e6) << "but for the real vocabulary";
  EXPECT_EQ(model.text("general.architecture"), "kimi-k3");
  EXPECT_EQ(model.integer("kimi-k3.block_count"), 93);
  const auto heads = model.integers("kimi-k3.attention.head_count_kv", 93);
  ASSERT_TRUE(heads);
  EXPECT_EQ(std::count(heads->begin(), heads->end(), 1), 24);
  EXPECT_EQ(std::get<SkippedArray>(model.metadata.at("tokenizer.ggml.tokens")).count, 163'840U);
  EXPECT_EQ(model.number("kimi-k3.attention.layer_norm_rms_epsilon"), static_cast<double>(1e-5F));
}

TEST_F(FullSize, what_is_not_experts_has_the_same_bytes_in_every_quant) {
  const ModelHeaders model = make("UD-IQ1_M");
  Bytes others = 0;
  for (const TensorInfo& tensor : model.tensors) {
    if (tensor.name.find("_exps.") == std::string::npos) others += tensor.bytes;
  }
  EXPECT_EQ(others, 62'205'516'160U);
  EXPECT_EQ(experts_of(model), (Mix{{"IQ1_S", 209}, {"IQ2_XXS", 56}, {"IQ3_XXS", 11}}));
}

TEST_F(FullSize, other_mixes_and_a_sliced_model) {
  EXPECT_EQ(experts_of(make("UD-TQ2_0")), (Mix{{"TQ2_0", 92}, {"Q1_0", 184}}));
  fs::remove_all(folder_);
  const ModelHeaders sliced = make("UD-Q2_K_XL", "--experts 770 --shard-bytes 1e13");
  EXPECT_EQ(sliced.shards.size(), 2U);
  EXPECT_EQ(sliced.integer("kimi-k3.expert_count"), 770);
  EXPECT_NEAR(static_cast<double>(file_bytes_of(sliced)), 748.6e9, 0.4e9);
}

TEST_F(FullSize, a_shard_that_was_not_downloaded_to_its_end_is_truncated) {
  make("UD-IQ1_M");
  const fs::path shard = folder_ / "Kimi-K3-UD-IQ1_M-00007-of-00015.gguf";
  fs::resize_file(shard, fs::file_size(shard) / 2);
  const auto model = read_model(folder_ / "Kimi-K3-UD-IQ1_M-00001-of-00015.gguf");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Code::model_truncated);
  EXPECT_NE(model.error().message.find("00007-of-00015"), std::string::npos);
}

}  // namespace
}  // namespace k3d::planning
