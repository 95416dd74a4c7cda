// The closed words of the ledger, spelled as PostgreSQL's enum types spell them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kudos {

// Why a posting exists. The type says why; the sign and the target say what.
enum class EntryType : std::uint8_t {
  generation,
  uptime_reward,
  evaluation_promotion,
  transfer,
  admin_adjustment,
  award,
  style_reward,
  stat_record,
  stat_contribution,
  stat_activity,
  floor_adjustment,
  reconciliation,
  charge,
  topup,
  opening,
  reversal,
};

enum class Unit : std::uint8_t { kudos, things, count };

// The projection that a statistic folds into.
enum class Target : std::uint8_t {
  user_stat,             // user_stats by action
  user_record,           // user_records by type and dimension
  user_activity,         // users.last_active
  worker_stat,           // workers.kudos and worker_stats by action; teams.kudos
  worker_contributions,  // workers.contributions; teams.contributions
  worker_fulfilments,    // workers.fulfilments; teams.fulfilments
};

// Why an event's statistics can never fold.
enum class QuarantineReason : std::uint8_t {
  missing_user,
  stat_action_too_long,
  record_too_long,
  invalid_user_kudos,
  invalid_worker_kudos,
  invalid_stat_record,
  invalid_stat_record_unit,
  invalid_stat_contribution,
  invalid_stat_activity,
  unknown_projection,
};

// What happens to the part of a debit that an account's floor doesn't allow.
enum class Shortfall : std::uint8_t {
  forgive,    // it is forgiven: a FLOOR_ADJUSTMENT gives it back
  debt,       // it folds in full; admission refuses new spends until the balance is back
  unlimited,  // there is no floor (system accounts)
};

std::string_view label(EntryType value);
std::string_view label(Unit value);
std::string_view label(Target value);
std::string_view label(QuarantineReason value);
std::string_view label(Shortfall value);

// The value that a label names; nothing when none does.
template <class Enum>
std::optional<Enum> from_label(std::string_view text);

}  // namespace kudos
