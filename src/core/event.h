// One business event with its postings, as decided and as read back: the unit that is stored, folded and hashed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "base/timestamp.h"
#include "core/vocabulary.h"
#include "kudos/amount.h"
#include "kudos/ids.h"
#include "kudos/uuid.h"

namespace kudos {

// A signed change of one user's spendable balance or escrow. Never zero.
struct Posting {
  std::int16_t line = 0;  // position in the event, from 1, shared with its statistics
  EntryType entry_type = EntryType::generation;
  UserId user;
  bool escrow = false;
  Amount amount;
  std::optional<std::int64_t> hold_id;
  std::string detail;  // JSON text as PostgreSQL writes jsonb; empty: none
};

// A change of one counter, of exactly one user or worker.
struct StatPosting {
  std::int16_t line = 0;
  EntryType entry_type = EntryType::generation;
  Unit unit = Unit::kudos;
  std::optional<Target> target;  // nothing: a foreign writer didn't say
  std::optional<UserId> user;
  std::optional<UserId> worker_user;  // the worker's owner at emission
  std::optional<Uuid> worker;
  std::optional<Uuid> team;  // the worker's team at emission
  Amount amount;
  std::string stat_action;
  std::string record;
  std::string detail;
};

struct Event {
  EventSeq seq;
  Uuid id;
  Timestamp created;
  std::optional<Uuid> job_id;
  std::string wp_type;  // empty: none
  std::optional<Digest> request_digest;
  std::optional<Digest> metadata_hash;
  bool applied_inline = false;
  std::vector<Posting> postings;
  std::vector<StatPosting> statistics;

  std::size_t posting_count() const { return postings.size() + statistics.size(); }
};

// Limits of the read models and of one event (contract, "Facts and their views").
inline constexpr std::size_t kMaxStatAction = 20;
inline constexpr std::size_t kMaxRecord = 30;
inline constexpr std::size_t kMaxWpType = 20;
inline constexpr std::size_t kMaxPostings = 1000;

// The sum of an event's currency postings; zero for every valid event (rule 10).
Total currency_sum(const Event& event);

// Numbers the lines from 1, currency first.
void number_lines(Event& event);

}  // namespace kudos
