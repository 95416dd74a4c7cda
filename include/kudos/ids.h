// Strong integer ids, so that a user can't be passed where a sequence number is meant.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace kudos {

// A row of `users`. −1 and −2 are the system accounts.
struct UserId {
  std::int32_t value = 0;
  auto operator<=>(const UserId&) const = default;
};

// Position of an event in the order of emission (`kudos_events.seq`).
struct EventSeq {
  std::int64_t value = 0;
  auto operator<=>(const EventSeq&) const = default;
};

// Position of a fold in the journal (`kudos_folds.id`), consecutive from 1.
struct FoldId {
  std::int64_t value = 0;
  auto operator<=>(const FoldId&) const = default;
};

inline constexpr UserId kTreasury{-1};  // every mint draws on it
inline constexpr UserId kSink{-2};      // every burn pays into it
inline constexpr bool is_system(UserId user) { return user == kTreasury || user == kSink; }

}  // namespace kudos

template <>
struct std::hash<kudos::UserId> {
  std::size_t operator()(kudos::UserId id) const noexcept {
    return static_cast<std::size_t>(static_cast<std::uint32_t>(id.value) * 0x9E3779B97F4A7C15ull);
  }
};
template <>
struct std::hash<kudos::EventSeq> {
  std::size_t operator()(kudos::EventSeq seq) const noexcept {
    return static_cast<std::size_t>(static_cast<std::uint64_t>(seq.value) * 0x9E3779B97F4A7C15ull);
  }
};
