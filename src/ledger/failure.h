// Why a cycle was rolled back, by what helps.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "kudos/error.h"

namespace kudos::ledger {

enum class FailureKind : std::uint8_t {
  deadlock,           // 40P01
  serialization,      // 40001
  lock_timeout,       // 55P03
  statement_timeout,  // 57014, also a cancelled statement
  connection,         // the server or the network went away, or the server ended the session
  in_doubt,           // the same while committing: the next cycle sees whether it was done
  unexpected,         // everything else; running it again may well give the same answer
};
inline constexpr std::size_t kFailureKinds = 7;
using FailureCounts = std::array<std::int64_t, kFailureKinds>;  // by kind

FailureKind failure_kind(const Error& error);
std::string_view failure_name(FailureKind kind);

}  // namespace kudos::ledger
