// Events as columns: the arrays that one statement inserts.
//
// Thread-safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/event.h"
#include "db/connection.h"
#include "store/schema.h"

namespace kudos::store {

// Whether a stored event is queued for the projector or born folded.
struct InsertOptions {
  std::optional<FoldId> fold;  // floor adjustments: born applied in this fold
};

class EventWriter {
 public:
  explicit EventWriter(const EnumTypes& types);

  // Adds an event with its sequence number. `metadata` is JSON text or empty. Events should come in the order of their
  // ids, so that two writers of the same ids meet without a deadlock.
  void add(const Event& event, std::string_view metadata = {});
  bool empty() const { return seqs_.size() == 0; }

  // Queues the statement that inserts everything added. Its rows are the sequence numbers that were stored: an event
  // whose id was there already is left out with all its postings (`stored_seqs`).
  void queue(db::Connection& connection, const InsertOptions& options = {}) const;
  static std::unordered_set<EventSeq> stored_seqs(const db::Rows& rows);

 private:
  void add_posting(EventSeq seq, const Posting& posting);
  void add_statistic(EventSeq seq, const StatPosting& statistic);
  void add_metadata(std::string_view metadata);

  db::Array seqs_ = db::Array::int64s(), ids_ = db::Array::uuids(), created_ = db::Array::timestamps(),
            jobs_ = db::Array::uuids(), wp_types_ = db::Array::texts(), digests_ = db::Array::bytes(),
            counts_ = db::Array::int16s(), metadata_ = db::Array::texts(), salts_ = db::Array::bytes();
  db::Array posting_seqs_ = db::Array::int64s(), posting_lines_ = db::Array::int16s(), posting_types_,
            posting_users_ = db::Array::int32s(), posting_escrow_ = db::Array::booleans(),
            posting_amounts_ = db::Array::numerics(), posting_holds_ = db::Array::int64s(),
            posting_details_ = db::Array::texts();
  db::Array stat_seqs_ = db::Array::int64s(), stat_lines_ = db::Array::int16s(), stat_types_, stat_units_,
            stat_targets_, stat_users_ = db::Array::int32s(), stat_owners_ = db::Array::int32s(),
            stat_workers_ = db::Array::uuids(), stat_teams_ = db::Array::uuids(), stat_amounts_ = db::Array::numerics(),
            stat_actions_ = db::Array::texts(), stat_records_ = db::Array::texts(), stat_details_ = db::Array::texts();
};

}  // namespace kudos::store
