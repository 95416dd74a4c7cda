// Builds the postings of one event, so that each producer reads like its row of the contract's table.
//
// Thread-safety: belongs to one thread.
#pragma once

#include "core/event.h"

namespace kudos {

class EventBuilder {
 public:
  void job(const std::optional<Uuid>& job_id, std::string_view wp_type);

  // Currency. A zero amount leaves no posting.
  void spendable(EntryType type, UserId user, Amount amount, std::string detail = {});
  void escrow(EntryType type, UserId user, Amount amount, std::string detail = {});
  // Makes the currency sum to zero: a surplus goes to the sink, what is missing comes from the treasury.
  void balance(EntryType type);

  // Statistics of a user. A `user_kudos` action pairs a change of the spendable balance: zero leaves no row.
  void user_stat(EntryType type, UserId user, std::string_view action, Amount amount);
  void user_record(UserId user, std::string_view record_type, std::string_view dimension, Amount amount);
  void activity(UserId user);

  // Statistics of the worker named last.
  void worker(const Uuid& id, UserId owner, const std::optional<Uuid>& team);
  void worker_stat(EntryType type, std::string_view action, Amount amount);
  void worker_contributions(Amount things);
  void worker_fulfilments(Amount count);

  // The event with its lines numbered.
  Event take() &&;

 private:
  StatPosting& statistic(EntryType type, Unit unit, Target target, std::string_view action, std::string_view record,
                         Amount amount);
  StatPosting& of_worker(EntryType type, Unit unit, Target target, std::string_view action, std::string_view record,
                         Amount amount);

  Event event_;
  std::optional<Uuid> worker_, team_;
  UserId worker_owner_;
};

}  // namespace kudos
