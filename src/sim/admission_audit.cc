#include "sim/admission_audit.h"

#include <map>

#include "base/try.h"

namespace kudos::sim {
namespace {

// Everything that changes what a payer has available, in the order of the clock; within a moment holds begin before
// debits name them, and end after.
constexpr db::Statement kTimeline{"audit_timeline", R"(
SELECT * FROM (
    SELECT p.user_id, f.folded_at AS at, 0 AS kind, p.amount, NULL::bigint AS hold
    FROM kudos_postings p JOIN kudos_events e ON e.seq = p.event_seq JOIN kudos_folds f ON f.id = e.fold_id
    WHERE p.user_id > 0 AND NOT p.escrow AND p.amount > 0
    UNION ALL
    SELECT p.user_id, e.created, 2, p.amount, p.hold_id
    FROM kudos_postings p JOIN kudos_events e ON e.seq = p.event_seq
    WHERE p.user_id > 0 AND NOT p.escrow AND p.amount < 0
    UNION ALL
    SELECT user_id, created, 1, original_amount, id FROM kudos_reservations WHERE owner_event_id IS NULL
    UNION ALL
    SELECT user_id, ended, 3, 0, id FROM kudos_reservations WHERE owner_event_id IS NULL AND ended IS NOT NULL
) x ORDER BY user_id, at, kind)"};
constexpr db::Statement kFloors{"audit_floors", R"(
SELECT u.id, coalesce(u.floor_override, p.floor) FROM users u JOIN kudos_account_policies p USING (account_class)
WHERE u.id > 0 AND p.shortfall = 'forgive')"};
// Checks that need no timeline: a text that says what is wrong, for each thing that is.
constexpr db::Statement kWrong{"audit_wrong", R"(
SELECT 'the currency postings sum to ' || sum(amount) FROM kudos_postings HAVING sum(amount) <> 0
UNION ALL
SELECT 'user ' || u.id || ' has ' || u.kudos || ', its postings sum to ' || s.amount
FROM users u CROSS JOIN LATERAL (SELECT coalesce(sum(amount), 0) AS amount FROM kudos_postings p
                                 WHERE p.user_id = u.id AND NOT escrow) s
WHERE u.id > 0 AND u.kudos <> s.amount
UNION ALL
SELECT 'event ' || event_seq || ' forgave ' || amount || ' to user ' || user_id
FROM kudos_postings WHERE entry_type = 'FLOOR_ADJUSTMENT' AND user_id > 0
UNION ALL
SELECT 'hold ' || h.id || ' (' || h.state || ') has captured ' || h.captured_amount || ' and consumed '
       || h.consumed_amount || ', the debits that name it sum to ' || d.amount
FROM kudos_reservations h
CROSS JOIN LATERAL (SELECT coalesce(-sum(p.amount), 0) AS amount FROM kudos_postings p
                    WHERE p.hold_id = h.id AND p.amount < 0) d
WHERE h.captured_amount <> d.amount OR h.consumed_amount <> least(h.original_amount, d.amount)
UNION ALL
SELECT 'event ' || p.event_seq || ' of user ' || p.user_id || ' names hold ' || h.id || ' of user ' || h.user_id
FROM kudos_postings p JOIN kudos_reservations h ON h.id = p.hold_id WHERE h.user_id <> p.user_id
UNION ALL
SELECT 'event ' || seq || ' was never folded' FROM kudos_events WHERE fold_id IS NULL
UNION ALL
SELECT 'an event''s own hold ' || id || ' is still ' || state FROM kudos_reservations
WHERE owner_event_id IS NOT NULL AND state <> 'released')"};

struct OpenHold {
  Total original;
  Total captured;
  Total claim() const { return captured < original ? original - captured : Total(); }
};

class Timeline {
 public:
  explicit Timeline(std::map<std::int32_t, Total> floors) : floors_(std::move(floors)) {}

  void add(std::int32_t user, Timestamp at, int kind, Total amount, std::int64_t hold) {
    if (user != user_ || at != at_) judge();
    user_ = user;
    at_ = at;
    switch (kind) {
      case 0:
        available_[user] += amount;
        break;
      case 1:
        available_[user] -= amount;
        holds_[hold] = {amount, {}};
        spent_ = true;
        break;
      case 2:
        available_[user] += amount;
        if (const auto open = holds_.find(hold); open != holds_.end()) {
          const Total before = open->second.claim();
          open->second.captured -= amount;
          available_[user] += before - open->second.claim();
        }
        spent_ = true;
        break;
      default:
        available_[user] += holds_.at(hold).claim();
        holds_.erase(hold);
    }
  }

  std::vector<std::string> take() && {
    judge();
    return std::move(wrong_);
  }

 private:
  // Of the moment that has just been gone through.
  void judge() {
    const auto floor = floors_.find(user_);
    if (spent_ && floor != floors_.end() && available_[user_] < floor->second)
      wrong_.push_back("user " + std::to_string(user_) + " had " + available_[user_].to_string() + " available after " +
                       at_.to_string());
    spent_ = false;
  }

  std::int32_t user_ = 0;
  Timestamp at_;
  bool spent_ = false;
  std::map<std::int32_t, Total> floors_, available_;
  std::map<std::int64_t, OpenHold> holds_;
  std::vector<std::string> wrong_;
};

}  // namespace

Result<std::vector<std::string>> audit_admission(db::Connection& connection) {
  KUDOS_ASSIGN(const auto floors, connection.execute(kFloors));
  std::map<std::int32_t, Total> known;
  for (int row = 0; row < floors.size(); ++row) known.emplace(floors.int32(row, 0), floors.total(row, 1));
  KUDOS_ASSIGN(const auto rows, connection.execute(kTimeline));
  Timeline timeline(std::move(known));
  for (int row = 0; row < rows.size(); ++row)
    timeline.add(rows.int32(row, 0), rows.timestamp(row, 1), rows.int32(row, 2), rows.total(row, 3),
                 rows.is_null(row, 4) ? 0 : rows.int64(row, 4));
  auto wrong = std::move(timeline).take();
  KUDOS_ASSIGN(const auto others, connection.execute(kWrong));
  for (int row = 0; row < others.size(); ++row) wrong.emplace_back(others.text(row, 0));
  return wrong;
}

}  // namespace kudos::sim
