#include "ledger/quarantine.h"

#include "base/try.h"
#include "core/validate.h"
#include "ledger/session_impl.h"
#include "store/event_writer.h"
#include "store/projection.h"
#include "store/queries.h"

namespace kudos::ledger {
namespace {

constexpr std::size_t kMaxReviewer = 200, kMaxNote = 2000;

Status validate_reviewer(const Reviewer& reviewer) {
  KUDOS_TRY(validate_name(reviewer.name, "the reviewer's name", kMaxReviewer));
  if (!reviewer.note.empty()) KUDOS_TRY(validate_name(reviewer.note, "the note", kMaxNote));
  return {};
}

Status refuse_shadow(Session& session) {
  KUDOS_ASSIGN(const Mode mode, pin_mode(session));
  if (mode == Mode::ledger) return {};
  return fail(ErrorCode::shadow_mode_unsupported, "the ledger is in shadow mode, in which nothing can be emitted yet",
              "Switch it over with `kudos mode ledger`.");
}

Status require_something(const Mending& mending, const Uuid& event) {
  if (!mending.event.statistics.empty()) return {};
  return fail(ErrorCode::invalid_statistic, "none of the statistics of event " + event.to_string() + " can be mended",
              "Create the user that is missing, or accept the loss: `kudos quarantine accept`.");
}

Status store_event(Session::Impl& session, Event& event) {
  KUDOS_TRY(validate(event));
  KUDOS_ASSIGN(const auto seqs, store::draw_seqs(session.connection, 1));
  event.seq = seqs.front();
  store::EventWriter writer(session.types);
  writer.add(event);
  writer.queue(session.connection);
  KUDOS_ASSIGN(const auto results, session.connection.flush());
  if (!store::EventWriter::stored_seqs(results.front()).empty()) return {};
  return fail(ErrorCode::already_exists, "the repair's id " + event.id.to_string() + " is taken by another event",
              "Nobody but a repair may use it: look at it with `kudos event show`.");
}

Result<Timestamp> record(db::Connection& connection, const store::QuarantinedEvent& event,
                         const store::Review& review) {
  KUDOS_ASSIGN(const auto at, store::record_review(connection, event.seq, review));
  if (at) return *at;
  return fail(ErrorCode::already_exists, "somebody recorded a review of event " + event.id.to_string() + " meanwhile",
              "Look at it with `kudos quarantine show` and try again.");
}

Result<Repair> replay(db::Connection& connection, const store::Review& review, Mending mending) {
  KUDOS_ASSIGN(const auto stored, store::read_event(connection, *review.repair_event));
  return Repair{{stored.event.id, stored.event.seq, true, true}, std::move(mending)};
}

}  // namespace

Result<Mending> preview_repair(db::Connection& connection, const Uuid& event) {
  KUDOS_ASSIGN(const auto stored, store::read_event(connection, event));
  KUDOS_ASSIGN(const auto users, store::statistics_users(connection, stored.event));
  return mend(stored.event, users);
}

Result<Acceptance> accept_quarantined(Session& session, const Uuid& event, const Reviewer& reviewer) {
  db::Connection& connection = session.impl().connection;
  KUDOS_TRY(require_transaction(connection));
  KUDOS_TRY(validate_reviewer(reviewer));
  if (reviewer.note.empty())
    return fail(ErrorCode::invalid_request, "an acceptance needs a note that says why the statistics are given up");
  KUDOS_TRY(pin_mode(session));
  KUDOS_TRY(store::lock_repairs(connection, session.impl().keys));
  KUDOS_ASSIGN(const auto found, store::read_quarantined(connection, event));
  if (const auto* repaired = found.find(store::Review::Action::repaired))
    return fail(ErrorCode::already_exists, "event " + event.to_string() + " was repaired by " + repaired->reviewer,
                "There is nothing left to accept.");
  if (const auto* accepted = found.find(store::Review::Action::accepted)) return Acceptance{*accepted, true};
  store::Review review{store::Review::Action::accepted, reviewer.name, reviewer.note, std::nullopt, {}};
  KUDOS_ASSIGN(review.at, record(connection, found, review));
  return Acceptance{std::move(review), false};
}

Result<Repair> repair_quarantined(Session& session, const Uuid& event, const Reviewer& reviewer) {
  db::Connection& connection = session.impl().connection;
  KUDOS_TRY(require_transaction(connection));
  KUDOS_TRY(validate_reviewer(reviewer));
  KUDOS_TRY(refuse_shadow(session));
  KUDOS_TRY(store::lock_repairs(connection, session.impl().keys));
  KUDOS_ASSIGN(const auto found, store::read_quarantined(connection, event));
  KUDOS_ASSIGN(Mending mending, preview_repair(connection, event));
  if (const auto* repaired = found.find(store::Review::Action::repaired))
    return replay(connection, *repaired, std::move(mending));
  KUDOS_TRY(require_something(mending, event));
  KUDOS_TRY(store_event(session.impl(), mending.event));
  const store::Review review{store::Review::Action::repaired, reviewer.name, reviewer.note, mending.event.id, {}};
  KUDOS_TRY(record(connection, found, review));
  return Repair{{mending.event.id, mending.event.seq, false, true}, std::move(mending)};
}

}  // namespace kudos::ledger
