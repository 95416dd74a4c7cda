#include "cli/transact.h"

#include "base/try.h"
#include "kudos/transaction.h"

namespace kudos::cli {

Status transact(Session& session, bool dry_run, const std::function<Status()>& work) {
  if (!dry_run) return run_transaction(session, work);
  bool rehearsed = false;
  // A failure is what makes it roll back, and this one is not worth another attempt.
  const Status ended = run_transaction(session, [&]() -> Status {
    KUDOS_TRY(work());
    rehearsed = true;
    return fail(ErrorCode::invalid_request, "dry run");
  });
  if (rehearsed) return {};
  return ended;
}

}  // namespace kudos::cli
