#include "store/event_writer.h"

#include <array>
#include <openssl/rand.h>

#include "base/check.h"
#include "store/codec.h"

namespace kudos::store {
namespace {

// One statement: the postings go only where their header went in, so an event that was there already (same id) leaves
// nothing, and an event is never half-stored.
constexpr db::Statement kInsertEvents{"insert_events", R"(
WITH headers AS (
    INSERT INTO @schema@.kudos_events
        (seq, event_id, created, job_id, wp_type, request_digest, metadata_hash, posting_count, fold_id)
    SELECT x.seq, x.event_id, coalesce(x.created, clock_timestamp()), x.job_id, x.wp_type, x.request_digest,
           sha256(x.salt || convert_to(x.metadata::jsonb::text, 'UTF8')), x.posting_count, $10::bigint
    FROM unnest($1::bigint[], $2::uuid[], $3::timestamptz[], $4::uuid[], $5::text[], $6::bytea[], $7::smallint[],
                $8::text[], $9::bytea[])
        AS x(seq, event_id, created, job_id, wp_type, request_digest, posting_count, metadata, salt)
    ON CONFLICT (event_id) DO NOTHING
    RETURNING seq
), currency AS (
    INSERT INTO @schema@.kudos_postings (event_seq, line, entry_type, user_id, escrow, amount, hold_id, detail)
    SELECT x.event_seq, x.line, x.entry_type, x.user_id, x.escrow, x.amount, x.hold_id, x.detail::jsonb
    FROM unnest($11::bigint[], $12::smallint[], $13::@schema@.kudos_entry_type[], $14::integer[], $15::boolean[],
                $16::numeric[], $17::bigint[], $18::text[])
        AS x(event_seq, line, entry_type, user_id, escrow, amount, hold_id, detail)
    WHERE x.event_seq IN (SELECT seq FROM headers)
), statistics AS (
    INSERT INTO @schema@.kudos_stat_postings
        (event_seq, line, entry_type, unit, target, user_id, worker_user_id, worker_id, team_id, amount, stat_action,
         record, detail)
    SELECT x.event_seq, x.line, x.entry_type, x.unit, x.target, x.user_id, x.worker_user_id, x.worker_id, x.team_id,
           x.amount, x.stat_action, x.record, x.detail::jsonb
    FROM unnest($19::bigint[], $20::smallint[], $21::@schema@.kudos_entry_type[], $22::@schema@.kudos_unit[],
                $23::@schema@.kudos_target[], $24::integer[], $25::integer[], $26::uuid[], $27::uuid[],
                $28::numeric[], $29::text[], $30::text[], $31::text[])
        AS x(event_seq, line, entry_type, unit, target, user_id, worker_user_id, worker_id, team_id, amount,
             stat_action, record, detail)
    WHERE x.event_seq IN (SELECT seq FROM headers)
), notes AS (
    INSERT INTO @schema@.kudos_event_metadata (event_seq, salt, data)
    SELECT x.seq, x.salt, x.metadata::jsonb
    FROM unnest($1::bigint[], $8::text[], $9::bytea[]) AS x(seq, metadata, salt)
    WHERE x.metadata IS NOT NULL AND x.seq IN (SELECT seq FROM headers)
)
SELECT seq FROM headers)"};

}  // namespace

EventWriter::EventWriter(const EnumTypes& types)
    : posting_types_(types.entry_type),
      stat_types_(types.entry_type),
      stat_units_(types.unit),
      stat_targets_(types.target) {}

void EventWriter::add(const Event& event, std::string_view metadata) {
  seqs_.add(event.seq);
  ids_.add(event.id);
  if (event.created.micros == 0)
    created_.null();
  else
    created_.add(event.created);
  jobs_.add(event.job_id);
  add_or_null(wp_types_, event.wp_type);
  if (event.request_digest)
    digests_.add(bytes_of(*event.request_digest));
  else
    digests_.null();
  counts_.add(static_cast<std::int16_t>(event.posting_count()));
  add_metadata(metadata);
  for (const Posting& posting : event.postings) add_posting(event.seq, posting);
  for (const StatPosting& statistic : event.statistics) add_statistic(event.seq, statistic);
}

void EventWriter::add_metadata(std::string_view metadata) {
  if (metadata.empty()) {
    metadata_.null();
    salts_.null();
    return;
  }
  std::array<unsigned char, 16> salt;
  KUDOS_CHECK(RAND_bytes(salt.data(), static_cast<int>(salt.size())) == 1);
  metadata_.add(metadata);
  salts_.add(std::string_view(reinterpret_cast<const char*>(salt.data()), salt.size()));
}

void EventWriter::add_posting(EventSeq seq, const Posting& posting) {
  posting_seqs_.add(seq);
  posting_lines_.add(posting.line);
  posting_types_.add(label(posting.entry_type));
  posting_users_.add(posting.user);
  posting_escrow_.add(posting.escrow);
  posting_amounts_.add(posting.amount);
  posting_holds_.add(posting.hold_id);
  add_or_null(posting_details_, posting.detail);
}

void EventWriter::add_statistic(EventSeq seq, const StatPosting& statistic) {
  stat_seqs_.add(seq);
  stat_lines_.add(statistic.line);
  stat_types_.add(label(statistic.entry_type));
  stat_units_.add(label(statistic.unit));
  if (statistic.target)
    stat_targets_.add(label(*statistic.target));
  else
    stat_targets_.null();
  stat_users_.add(statistic.user);
  stat_owners_.add(statistic.worker_user);
  stat_workers_.add(statistic.worker);
  stat_teams_.add(statistic.team);
  stat_amounts_.add(statistic.amount);
  stat_actions_.add(statistic.stat_action);
  stat_records_.add(statistic.record);
  add_or_null(stat_details_, statistic.detail);
}

void EventWriter::queue(db::Connection& connection, const InsertOptions& options) const {
  db::Params params;
  for (const db::Array* array :
       {&seqs_, &ids_, &created_, &jobs_, &wp_types_, &digests_, &counts_, &metadata_, &salts_})
    params.add(*array);
  if (options.fold)
    params.add(*options.fold);
  else
    params.null();
  for (const db::Array* array : {&posting_seqs_, &posting_lines_, &posting_types_, &posting_users_, &posting_escrow_,
                                 &posting_amounts_, &posting_holds_, &posting_details_})
    params.add(*array);
  for (const db::Array* array :
       {&stat_seqs_, &stat_lines_, &stat_types_, &stat_units_, &stat_targets_, &stat_users_, &stat_owners_,
        &stat_workers_, &stat_teams_, &stat_amounts_, &stat_actions_, &stat_records_, &stat_details_})
    params.add(*array);
  connection.queue(kInsertEvents, std::move(params));
}

std::unordered_set<EventSeq> EventWriter::stored_seqs(const db::Rows& rows) {
  std::unordered_set<EventSeq> seqs;
  for (int row = 0; row < rows.size(); ++row) seqs.insert({rows.int64(row, 0)});
  return seqs;
}

}  // namespace kudos::store
