// The library's side of a session.
#pragma once

#include "db/connection.h"
#include "kudos/session.h"
#include "store/locks.h"
#include "store/schema.h"

namespace kudos {

struct Session::Impl {
  db::Connection connection;
  store::LockKeys keys;
  store::EnumTypes types;
};

// Refuses a connection without an open transaction (not_in_transaction).
Status require_transaction(const db::Connection& connection);

}  // namespace kudos
