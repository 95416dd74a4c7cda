// The event of a transfer and the refusals that precede it. Source: contract, "Producers": the order is its order.
#include "base/try.h"
#include "core/event_builder.h"
#include "core/produce.h"

namespace kudos {
namespace {

Result<const UserFacts*> find_recipient(const Directory& directory, const UserRef& user) {
  auto found = find_user(directory, user);
  if (!found && found.error().code == ErrorCode::unknown_user) found.error().code = ErrorCode::unknown_recipient;
  return found;
}

Status refuse_if(bool refused, ErrorCode code, const UserRef& user, std::string_view what) {
  if (!refused) return {};
  return fail(code, "user " + user.to_string() + " " + std::string(what));
}

Status require_payer(const UserFacts& payer, const UserRef& name) {
  KUDOS_TRY(refuse_if(payer.suspicious, ErrorCode::suspicious_payer, name, "is under suspicion and can't give"));
  KUDOS_TRY(refuse_if(payer.flagged, ErrorCode::flagged_payer, name, "is flagged and can't give"));
  KUDOS_TRY(refuse_if(payer.education, ErrorCode::education_payer, name, "is an education account and can't give"));
  return refuse_if(payer.deleted, ErrorCode::deleted_payer, name, "is deleted");
}

Status require_recipient(const UserFacts& recipient, const UserRef& name) {
  KUDOS_TRY(refuse_if(recipient.suspicious, ErrorCode::suspicious_recipient, name, "is under suspicion"));
  KUDOS_TRY(refuse_if(recipient.flagged, ErrorCode::flagged_recipient, name, "is flagged"));
  return refuse_if(recipient.deleted, ErrorCode::deleted_recipient, name, "is deleted");
}

}  // namespace

Result<Event> transfer_event(const Transfer& transfer, const Directory& directory) {
  KUDOS_TRY(require_positive(transfer.amount, "the amount"));
  KUDOS_ASSIGN(const UserFacts* payer, find_user(directory, transfer.payer));
  KUDOS_TRY(refuse_if(payer->is_anonymous(), ErrorCode::anonymous_payer, transfer.payer, "is anonymous"));
  KUDOS_ASSIGN(const UserFacts* recipient, find_recipient(directory, transfer.recipient));
  KUDOS_TRY(refuse_if(recipient->is_anonymous(), ErrorCode::anonymous_recipient, transfer.recipient, "is anonymous"));
  KUDOS_TRY(refuse_if(payer->id == recipient->id, ErrorCode::same_account, transfer.payer, "is payer and recipient"));
  KUDOS_TRY(require_payer(*payer, transfer.payer));
  KUDOS_TRY(require_recipient(*recipient, transfer.recipient));
  EventBuilder event;
  event.spendable(EntryType::transfer, payer->id, -transfer.amount);
  event.spendable(EntryType::transfer, recipient->id, transfer.amount);
  event.user_stat(EntryType::transfer, payer->id, recipient->education ? "donated" : "gifted", -transfer.amount);
  event.user_stat(EntryType::transfer, recipient->id, "received", transfer.amount);
  return std::move(event).take();
}

}  // namespace kudos
