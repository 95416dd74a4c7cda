#include "store/locks.h"

namespace kudos::store {
namespace {

// FNV-1a: stable across processes and versions, unlike std::hash.
std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

}  // namespace

LockKeys lock_keys(std::string_view schema) {
  const std::uint64_t shift = schema == "public" ? 0 : stable_hash(schema);
  const auto key = [&](std::uint64_t base) { return static_cast<std::int64_t>(base ^ shift); };
  const auto space = [&](std::uint32_t base) {
    return static_cast<std::int32_t>(base ^ static_cast<std::uint32_t>(shift));
  };
  return {key(0x4B55444F),     key(0x4B55444D),   key(0x4B55445245434F),
          key(0x4B55444D4947), space(0x4B554452), space(0x4B554450)};
}

}  // namespace kudos::store
