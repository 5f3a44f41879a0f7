// Tables of what is served: sources, models, profiles, placements.
#include "config/rules.hpp"
#include "config/tables.hpp"

namespace k3d::config {
namespace {

constexpr int kMaxGpus = 64;

Shape name() {
  return shape::text("a name of up to 64 letters, digits, '.', '_' and '-'", rules::name,
                     "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$");
}
Shape path() {
  return shape::text("an absolute path without ..", rules::path, "^/");
}
Shape repo_id() {
  return shape::text("OWNER/NAME", rules::repo_id, "^[A-Za-z0-9][^/]*/[A-Za-z0-9][^/]*$");
}
Shape auto_or(Shape other) {
  return shape::word_or("auto", std::move(other));
}
Shape seconds_from(long long min) {
  return shape::integer(min, 604'800);
}

std::optional<int> number_or_auto(const Value& value) {
  return value.word ? std::nullopt : std::optional(static_cast<int>(value.integer));
}

void set_gpus(Profile& profile, const Value& value) {
  profile.gpus.choice = value.list ? GpuChoice::listed : value.text == "none" ? GpuChoice::none : GpuChoice::all;
  profile.gpus.listed = texts(value);
}

void set_env(Profile& profile, const Value& value) {
  for (std::size_t i = 0; i < value.keys.size(); ++i) profile.env[value.keys[i]] = value.items[i].text;
}

void set_fit_target(Placement& placement, const Value& value) {
  if (value.word) return;
  if (!value.list) placement.fit_target_mib.push_back(static_cast<int>(value.integer));
  for (const Value& item : value.items) placement.fit_target_mib.push_back(static_cast<int>(item.integer));
}

FieldInfo mode_info() {
  return {"mode", shape::choice({"fit", "n_cpu_moe", "override", "pinned"}), "fit",
          "fit: llama-server fits layers and experts into what is free; n_cpu_moe: the experts of the first N layers "
          "stay on the CPU; override: tensors go where a list says; pinned: where the last good load put them, without "
          "a search; until there was one, fit."};
}

}  // namespace

const Fields<Source>& source_fields() {
  static const Fields<Source> kFields{
      {{"kind", shape::choice({"git", "debian"}), "git",
        "git: built from a commit; debian: Debian's own package, for the CPU and for tests."},
       [](Source& s, const Value& v) { s.kind = v.text == "debian" ? SourceKind::debian : SourceKind::git; }},
      {{"repo", shape::text("an https address of a git repository", rules::git_url, "^https://"), "null",
        "Repository; required for kind git."},
       [](Source& s, const Value& v) { s.repo = v.text; }},
      {{"ref", shape::text("a git ref such as refs/pull/70/head", rules::git_ref), "null",
        "What to fetch if the commit isn't on a branch."},
       [](Source& s, const Value& v) { s.ref = v.text; }},
      {{"commit", shape::commit(), "null", "The commit that is built; required for kind git."},
       [](Source& s, const Value& v) { s.commit = v.text; }},
      {{"vision", shape::boolean(), "false", "Whether its llama-server can take images with this model."},
       [](Source& s, const Value& v) { s.vision = v.truth; }},
      {{"patches", shape::list(path(), 0, 64), "[]", "Patch files that are applied in this order."},
       [](Source& s, const Value& v) { s.patches = texts(v); }},
      {{"cuda_architectures",
        [] {
          Shape made = shape::text("architectures such as 120 or 90;120a", rules::cuda_architectures);
          made.as_written = true;
          return shape::word_or("auto", std::move(made));
        }(),
        "auto", "What the CUDA code is built for; auto: this host's GPUs."},
       [](Source& s, const Value& v) { s.cuda_architectures = v.text; }},
  };
  return kFields;
}

const Fields<Model>& model_fields() {
  static const Fields<Model> kFields{
      {{"repo", repo_id(), "null", "Repository on the hub; a model has either this or path."},
       [](Model& m, const Value& v) { m.repo = v.text; }},
      {{"revision", shape::commit(), "null", "The repository's commit; required with repo."},
       [](Model& m, const Value& v) { m.revision = v.text; }},
      {{"mmproj", shape::text("a file name that ends in .gguf", rules::gguf_name), "null",
        "The repository's file for images."},
       [](Model& m, const Value& v) { m.mmproj = v.text; }},
      {{"tokenizer", repo_id(), "null", "Repository of the tokenizer, for checks that count tokens."},
       [](Model& m, const Value& v) { m.tokenizer = v.text; }},
      {{"local", path(), "null", "Folder of quants made on this host, looked into first."},
       [](Model& m, const Value& v) { m.local = v.text; }},
      {{"path", shape::text("an absolute path of a GGUF file, the first shard of a set", rules::model_path, "^/"),
        "null", "A file of this host, the first shard of a set; a model has either this or repo."},
       [](Model& m, const Value& v) { m.path = v.text; }},
  };
  return kFields;
}

const Fields<Profile>& profile_fields() {
  static const Fields<Profile> kFields{
      {{"extends", name(), "null",
        "Another profile that this one starts from: its values are replaced whole, but env merges by key; null "
        "restores the default. Giving image drops an extended source, and the other way round."}},
      {{"model", name(), "null", "One of models.", true}, [](Profile& p, const Value& v) { p.model = v.text; }},
      {{"quant", name(), "null", "Folder of the model's repository; required with repo, refused with path."},
       [](Profile& p, const Value& v) { p.quant = v.text; }},
      {{"source", name(), "fork", "One of sources, whose image runs; a profile has this or image."},
       [](Profile& p, const Value& v) { p.source = v.text; }},
      {{"image", shape::text("an image such as name:tag", rules::image), "null",
        "An image of yours instead of a source's."},
       [](Profile& p, const Value& v) { p.image = v.text; }},
      {{"gpus",
        shape::word_or(
            "all", shape::word_or("none", shape::list(shape::either(shape::integer(0, kMaxGpus - 1),
                                                                    shape::text("the UUID of a GPU", rules::gpu_uuid)),
                                                      1, kMaxGpus))),
        "all", "all, none, or a list of indexes (PCI order, as nvidia-smi counts) or UUIDs."},
       set_gpus},
      {{"placement", shape::section("a map, see placement"), "{mode: fit, fit_target_mib: auto}",
        "Where layers and experts go."}},
      {{"context", shape::integer(256, 1 << 28), "131072",
        "Tokens of context, total over the slots; at least 256 a slot."},
       [](Profile& p, const Value& v) { p.context = static_cast<int>(v.integer); }},
      {{"slots", shape::integer(1, 256), "8", "Requests that are answered at the same time."},
       [](Profile& p, const Value& v) { p.slots = static_cast<int>(v.integer); }},
      {{"batch", auto_or(shape::integer(1, 65'536)), "auto",
        "Tokens that are handed in at once; auto: 4096 with experts on the CPU, 2048 all in VRAM."},
       [](Profile& p, const Value& v) { p.batch = number_or_auto(v); }},
      {{"ubatch", auto_or(shape::integer(1, 65'536)), "auto", "Tokens that are computed at once; at most batch."},
       [](Profile& p, const Value& v) { p.ubatch = number_or_auto(v); }},
      {{"env",
        shape::map(shape::text_as_written("one line of text", rules::one_line), "names of environment variables",
                   rules::env_name),
        "{}", "Environment of the engine."},
       set_env},
      {{"extra_args", shape::list(shape::text_as_written("one argument", rules::extra_arg), 0, 256), "[]",
        "Further arguments of llama-server, one an item; never those that k3d computes."},
       [](Profile& p, const Value& v) { p.extra_args = texts(v); }},
      {{"speculative", shape::section("a map, see speculative"), "null",
        "Drafts of a few tokens ahead, which the model checks at once."}},
      {{"aliases",
        shape::list(shape::text("a name of up to 128 letters, digits and . _ : / @ + -", rules::alias), 0, 32), "[]",
        "Further names that this profile answers to. Those of an extended profile are shared: they mean whichever "
        "of the two runs."},
       [](Profile& p, const Value& v) { p.aliases = texts(v); }},
      {{"while_loading", shape::choice({"reject", "hold"}), "reject",
        "What becomes of requests while the model loads: reject answers 503 with Retry-After, hold lets them wait."},
       [](Profile& p, const Value& v) {
         p.while_loading = v.text == "hold" ? WhileLoading::hold : WhileLoading::reject;
       }},
      {{"hold_seconds", seconds_from(1), "300", "How long hold lets a request wait."},
       [](Profile& p, const Value& v) { p.hold = seconds(v.integer); }},
      {{"on_request", shape::choice({"refuse", "switch"}), "refuse",
        "What a request for this profile does while another one runs or none: refuse refuses it, switch switches."},
       [](Profile& p, const Value& v) {
         p.on_request = v.text == "switch" ? OnRequest::switch_over : OnRequest::refuse;
       }},
      {{"on_failure", shape::choice({"rollback", "stay_down"}), "rollback",
        "What follows a failed switch to this profile: rollback returns to the one before, stay_down does not."},
       [](Profile& p, const Value& v) {
         p.on_failure = v.text == "stay_down" ? OnFailure::stay_down : OnFailure::rollback;
       }},
      {{"drain_seconds", seconds_from(1), "900",
        "How long a switch away lets answers go on; a long one at 6 tokens a second takes 12 minutes."},
       [](Profile& p, const Value& v) { p.drain = seconds(v.integer); }},
      {{"stall_seconds", seconds_from(1), "600",
        "How long a load may show no sign of life (log, bytes read, CPU time) before it is given up."},
       [](Profile& p, const Value& v) { p.stall = seconds(v.integer); }},
      {{"min_residency_seconds", seconds_from(0), "0", "How long it stays at least before a request may switch away."},
       [](Profile& p, const Value& v) { p.min_residency = seconds(v.integer); }},
      {{"idle_stop_seconds", seconds_from(1), "null", "Stop the engine after so long without a request."},
       [](Profile& p, const Value& v) { p.idle_stop = seconds(v.integer); }},
      {{"self_heal", shape::boolean(), "false", "Apply the remedy of a failure by itself, at most twice."},
       [](Profile& p, const Value& v) { p.self_heal = v.truth; }},
      {{"preflight", shape::choice({"computed", "exact"}), "computed",
        "How a start is checked beforehand: computed from the files' headers, or exact by the engine besides."},
       [](Profile& p, const Value& v) {
         p.preflight = v.text == "exact" ? Preflight::exact : Preflight::computed;
       }},
      {{"allow_unproven", shape::boolean(), "false",
        "Start a quant that no gate has proven on this host or this GPU model."},
       [](Profile& p, const Value& v) { p.allow_unproven = v.truth; }},
      {{"cache_type", shape::choice({"f16", "f32", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl"}), "f16",
        "Type of the context's keys and values."},
       [](Profile& p, const Value& v) { p.cache_type = v.text; }},
      {{"threads", auto_or(shape::integer(1, 1024)), "auto", "Threads of the CPU; auto: its physical cores."},
       [](Profile& p, const Value& v) { p.threads = number_or_auto(v); }},
      {{"cache_ram", auto_or(shape::bytes(0, 64 * 1024 * kGiB)), "auto",
        "Host memory for prompts seen before; 0 turns that off; auto: by the host's memory."},
       [](Profile& p, const Value& v) { p.cache_ram = v.word ? std::nullopt : std::optional(v.bytes); }},
      {{"ctx_checkpoints", auto_or(shape::integer(0, 1024)), "auto",
        "Checkpoints of the context kept for each slot in host memory; auto: by memory and slots."},
       [](Profile& p, const Value& v) { p.ctx_checkpoints = number_or_auto(v); }},
  };
  return kFields;
}

const Fields<Placement>& placement_fields(PlacementMode mode) {
  static const Fields<Placement> kFit{
      {mode_info()},
      {{"fit_target_mib",
        auto_or(shape::either(shape::integer(0, 1 << 24), shape::list(shape::integer(0, 1 << 24), 1, 15))), "auto",
        "MiB that stay free on each GPU: one number for all, or one for each."},
       set_fit_target},
  };
  static const Fields<Placement> kCpuMoe{
      {mode_info()},
      {{"layers", auto_or(shape::integer(0, 1024)), "null",
        "How many layers keep their experts on the CPU; auto: the fewest with which it fits.", true},
       [](Placement& p, const Value& v) { p.n_cpu_moe = number_or_auto(v); }},
      {{"tensor_split", auto_or(shape::list(shape::number(), 1, kMaxGpus)), "auto",
        "Share of the layers for each GPU, such as [60, 34]; auto: as the plan computes it."},
       [](Placement& p, const Value& v) {
         for (const Value& item : v.items) p.tensor_split.push_back(item.number);
       }},
  };
  static const Fields<Placement> kOverride{
      {mode_info()},
      {{"tensors", shape::list(shape::text("REGEX=DEVICE", rules::tensor_override), 1, 256), "null",
        "Which tensors go to which device, such as \"blk\\\\.(1|2)\\\\.ffn_.*_exps=CPU\".", true},
       [](Placement& p, const Value& v) { p.tensors = texts(v); }},
  };
  static const Fields<Placement> kPinned{{mode_info()}};
  switch (mode) {
    case PlacementMode::n_cpu_moe:
      return kCpuMoe;
    case PlacementMode::override_tensors:
      return kOverride;
    case PlacementMode::pinned:
      return kPinned;
    case PlacementMode::fit:
      break;
  }
  return kFit;
}

const Fields<Speculative>& speculative_fields() {
  static const Fields<Speculative> kFields{
      {{"type",
        shape::choice({"draft-simple", "draft-eagle3", "draft-mtp", "draft-dflash", "draft-dspark", "ngram-simple",
                       "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache"}),
        "null", "How drafts are made.", true},
       [](Speculative& s, const Value& v) { s.type = v.text; }},
      {{"model", name(), "null",
        "One of models, the draft model; required for the draft-* types (draft-mtp may do without), refused for the "
        "ngram-* types."},
       [](Speculative& s, const Value& v) { s.model = v.text; }},
      {{"device",
        shape::word_or(
            "last", shape::either(shape::integer(0, kMaxGpus - 1), shape::text("the name of a device", rules::device))),
        "last",
        "The GPU that the draft model lives on: an index as in gpus, or a name such as CUDA7; last: the one that holds the "
        "model's output, without which some engines abort."},
       [](Speculative& s, const Value& v) { s.device = v.text; }},
      {{"n_max", shape::integer(1, 64), "7", "Most tokens of one draft."},
       [](Speculative& s, const Value& v) { s.n_max = static_cast<int>(v.integer); }},
  };
  return kFields;
}

}  // namespace k3d::config
