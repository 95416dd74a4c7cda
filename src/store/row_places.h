// Where the rows stand that folds rewrite: key → ctid, remembered by the projector from cycle to cycle.
//
// Why: each fold leaves a dead version of every row that it writes. While some transaction holds back the cleanup, a
// look-up by an index visits all of them; a look-up by place visits one (decision 0009).
//
// A place is a hint. The row may have moved (somebody else wrote it, VACUUM FULL) or gone, and another may stand there.
// So every statement that goes by a place compares the key as well, and looks by the index for what it didn't find.
//
// Thread-safety: belongs to one thread.
#pragma once

#include <cstddef>
#include <map>

#include "core/fold.h"
#include "db/tid.h"

namespace kudos::store {

// Keys of one table. Bounded: memory must not grow with the number of users.
template <class Key>
class Places {
 public:
  static constexpr std::size_t kMost = 200'000;

  void learn(const Key& key, db::Tid place) { places_.insert_or_assign(key, place); }
  std::optional<db::Tid> find(const Key& key) const {
    const auto found = places_.find(key);
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }
  void forget_if_full() {
    if (places_.size() > kMost) places_.clear();
  }

 private:
  std::map<Key, db::Tid> places_;
};

struct RowPlaces {
  Places<UserId> users;
  Places<Uuid> workers;
  Places<Uuid> teams;
  Places<UserStatKey> user_stats;
  Places<UserRecordKey> user_records;
  Places<WorkerStatKey> worker_stats;

  // Between cycles: what one cycle has learnt from its locks stays until it has written.
  void forget_if_full() {
    users.forget_if_full();
    workers.forget_if_full();
    teams.forget_if_full();
    user_stats.forget_if_full();
    user_records.forget_if_full();
    worker_stats.forget_if_full();
  }
};

}  // namespace kudos::store
