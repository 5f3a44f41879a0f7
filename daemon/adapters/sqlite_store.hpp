// The store on SQLite: WAL, synchronous=FULL, one file STATE/k3d.db. Blocking; called from the store's own thread.
// A file of a newer k3d is refused by open() and left as it is: the caller decides.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "daemon/ports/store.hpp"

namespace k3d::adapters {

/// How an operation is written down: the API's own JSON, handed in because shapes belong to api/contract.
struct OperationCodec {
  std::function<std::string(const Operation&)> encode;
  std::function<Result<Operation>(const std::string&)> decode;
};

struct OpenedStore {
  std::unique_ptr<Store> store;
  std::filesystem::path damaged;  ///< where the earlier, damaged one is kept; empty: there was none
};

/// Opens or creates STATE/k3d.db. A damaged database is moved to k3d.db.corrupt-TIME and a new one begun:
/// history is lost, the running engine is not. Errors: disk_full, io_failed, state_unusable (newer schema).
Result<OpenedStore> open_sqlite_store(const std::filesystem::path& state, OperationCodec codec);

/// Keeps nothing and fails every write with `why`: for a daemon that must be up although its state can't be used.
std::unique_ptr<Store> unusable_store(Error why);

}  // namespace k3d::adapters
