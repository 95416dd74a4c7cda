// Load and store for the review of events that were set aside.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/event.h"
#include "db/connection.h"
#include "store/locks.h"

namespace kudos::store {

// What a person decided. `repaired` names the event that was emitted instead.
struct Review {
  enum class Action : std::uint8_t { accepted, repaired };
  Action action = Action::accepted;
  std::string reviewer;
  std::string note;  // empty: none
  std::optional<Uuid> repair_event;
  Timestamp at;  // set by the database
};
std::string_view label(Review::Action action);

struct QuarantinedEvent {
  Uuid id;
  EventSeq seq;
  Timestamp created;
  Timestamp quarantined_at;
  std::string reason;
  std::int64_t statistics = 0;  // that were set aside
  std::vector<Review> reviews;  // in the order in which they were made

  bool is_open() const { return reviews.empty(); }
  const Review* find(Review::Action action) const;
};

// The first `limit` in the order of emission; those without a review, or all.
Result<std::vector<QuarantinedEvent>> list_quarantined(db::Connection& connection, bool all, std::int32_t limit);
// unknown_event when there is none of that id; invalid_request when it wasn't set aside.
Result<QuarantinedEvent> read_quarantined(db::Connection& connection, const Uuid& id);

// Serialises repairs until the transaction ends. To be followed by reading in a later statement.
Status lock_repairs(db::Connection& connection, const LockKeys& keys);
// The time of the new review; nothing when the event had one of that action (a twin's is waited for).
Result<std::optional<Timestamp>> record_review(db::Connection& connection, EventSeq seq, const Review& review);
// Those of the event's statistics' users that exist.
Result<std::set<UserId>> statistics_users(db::Connection& connection, const Event& event);

}  // namespace kudos::store
