// What the log of an engine shows before it ends, the most specific first. Data, and its look-up.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/engine/log_reader.hpp"

namespace k3d::engine {

/// When a sign can hold.
enum class Moment { loading, serving, any };

/// Which lines of the log can show it.
enum class Lines {
  error,
  warning,
  bare,  ///< if they begin with the pattern
  error_or_bare,
  abort,  ///< the engine's reason for an abort
};

struct FailureSign {
  std::string_view code;
  Moment moment = Moment::loading;
  Lines lines = Lines::error;
  std::string_view pattern = {};     ///< text with * for anything in between
  std::string_view also = {};        ///< further text that the same line must hold
  std::string_view advice = {};      ///< empty: the kind's
  bool after_out_of_memory = false;  ///< holds only if the log also shows that memory ran out
};

std::span<const FailureSign> failure_signs();

/// The decisive line of a log, and what it shows.
struct Finding {
  const FailureSign* sign = nullptr;
  std::size_t line = 0;
};

/// `ready`: the engine served before. Nothing if no line is a sign.
std::optional<Finding> find_sign(const std::vector<EngineLine>& lines, bool ready);

/// "/src/ggml/src/ggml-cuda/ggml-cuda.cu:106: CUDA error", "./src/llama-model.cpp:1417: GGML_ASSERT(x) failed": how the
/// engine says why it aborts.
bool is_abort(const EngineLine& line);

}  // namespace k3d::engine
