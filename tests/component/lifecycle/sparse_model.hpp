// A full-size model as a file with holes for its data: headers are true, so that it can be planned.
#pragma once

#include <filesystem>

#include "daemon/planning/model_headers.hpp"

namespace k3d::lifecycle {

void write_sparse(const std::filesystem::path& path, const planning::ModelHeaders& headers);

}  // namespace k3d::lifecycle
