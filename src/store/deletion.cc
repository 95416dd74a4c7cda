#include "store/deletion.h"

#include "base/try.h"

namespace kudos::store {
namespace {

#define KUDOS_DELETION_COLUMNS "SELECT name, kudos, contributions, fulfilments, dependants, pending_events "
constexpr db::Statement kRemoveWorker{"remove_worker",
                                      KUDOS_DELETION_COLUMNS "FROM @schema@.kudos_remove_worker($1::uuid)"};
constexpr db::Statement kRemoveTeam{"remove_team", KUDOS_DELETION_COLUMNS "FROM @schema@.kudos_remove_team($1::uuid)"};

Result<std::optional<Deletion>> remove(db::Connection& connection, const db::Statement& statement, const Uuid& id) {
  KUDOS_ASSIGN(const auto rows, connection.execute(statement, db::Params().add(id)));
  if (rows.empty()) return std::nullopt;
  return Deletion{std::string(rows.text(0, 0)),
                  rows.total(0, 1),
                  rows.total(0, 2),
                  rows.total(0, 3),
                  rows.int64(0, 4),
                  rows.int64(0, 5)};
}

}  // namespace

Result<std::optional<Deletion>> remove_worker(db::Connection& connection, const Uuid& worker) {
  return remove(connection, kRemoveWorker, worker);
}

Result<std::optional<Deletion>> remove_team(db::Connection& connection, const Uuid& team) {
  return remove(connection, kRemoveTeam, team);
}

}  // namespace kudos::store
