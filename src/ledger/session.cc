#include "kudos/session.h"

#include "base/try.h"
#include "ledger/session_impl.h"
#include "store/emission.h"

namespace kudos {

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::attach(pg_conn* connection, SessionOptions options) {
  auto borrowed = db::Connection::borrow(connection, {options.schema, options.prepare});
  KUDOS_TRY(store::check_schema(borrowed));
  KUDOS_ASSIGN(const auto types, store::load_enum_types(borrowed));
  const auto keys = store::lock_keys(options.schema);
  return Session(std::make_unique<Impl>(Impl{std::move(borrowed), keys, types}));
}

Status require_transaction(const db::Connection& connection) {
  if (connection.in_transaction()) return {};
  return fail(ErrorCode::not_in_transaction, "the connection has no open transaction",
              "Begin one: facts commit together with the caller's own changes.");
}

Result<Mode> pin_mode(Session& session) {
  KUDOS_TRY(require_transaction(session.impl().connection));
  return store::pin_mode(session.impl().connection, session.impl().keys);
}

}  // namespace kudos
