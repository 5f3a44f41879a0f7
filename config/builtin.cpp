#include "config/builtin.hpp"

namespace k3d::config {

std::map<std::string, Source> builtin_sources() {
  Source fork;
  fork.name = "fork";
  fork.repo = "https://github.com/unslothai/llama.cpp";
  fork.ref = "refs/pull/70/head";  // the commit is on no branch
  fork.commit = "883f2c9ba78f3847148454adf025da29385fff3e";
  fork.vision = true;

  Source mainline;
  mainline.name = "mainline";
  mainline.repo = "https://github.com/ggml-org/llama.cpp";
  mainline.commit = "4d9176092d00586775af140581bb0b558ddc4389";

  Source debian;
  debian.name = "debian";
  debian.kind = SourceKind::debian;

  return {{fork.name, fork}, {mainline.name, mainline}, {debian.name, debian}};
}

std::map<std::string, Model> builtin_models() {
  Model kimi;
  kimi.name = "kimi-k3";
  kimi.repo = "unsloth/Kimi-K3-GGUF";
  kimi.revision = "a0836360ce58dfec088d966a97f2ddc8a606279b";
  kimi.mmproj = "mmproj-BF16.gguf";
  kimi.tokenizer = "moonshotai/Kimi-K3";
  return {{kimi.name, kimi}};
}

}  // namespace k3d::config
