#include "store/accounts.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/try.h"

namespace kudos::store {
namespace {

constexpr db::Statement kInsertUsers{"insert_users", R"(
INSERT INTO @schema@.users (id, external_id, account_class, floor_override, trusted)
SELECT coalesce(x.id, nextval(pg_get_serial_sequence('@schema@.users', 'id'))::integer), x.external_id, x.account_class,
       x.floor_override, x.trusted
FROM unnest($1::integer[], $2::text[], $3::text[], $4::numeric[], $5::boolean[])
    AS x(id, external_id, account_class, floor_override, trusted)
WHERE NOT EXISTS (SELECT FROM @schema@.users u WHERE u.external_id = x.external_id)
ORDER BY x.external_id
ON CONFLICT DO NOTHING
RETURNING external_id)"};
// A fixed number may lie ahead of the sequence, which would draw it later.
constexpr db::Statement kSkipFixedIds{"skip_fixed_ids", R"(
SELECT setval(sequence, (SELECT max(id) FROM @schema@.users))
FROM pg_get_serial_sequence('@schema@.users', 'id') AS sequence
WHERE (SELECT max(id) FROM @schema@.users) > coalesce(pg_sequence_last_value(sequence::regclass), 0))"};
constexpr db::Statement kUserIds{"user_ids",
                                 "SELECT external_id, id FROM @schema@.users WHERE external_id = ANY ($1::text[])"};
// In a statement after the insert, which waited for a twin's: so its row is seen too.
constexpr db::Statement kEnsuredUsers{"ensured_users", R"(
SELECT external_id, id, account_class FROM @schema@.users WHERE external_id = ANY ($1::text[]))"};
constexpr db::Statement kKnownClasses{"known_classes", R"(
SELECT account_class FROM @schema@.kudos_account_policies WHERE account_class = ANY ($1::text[]) AND account_class <> 'system')"};
constexpr db::Statement kInsertTeams{"insert_teams", R"(
INSERT INTO @schema@.teams (id, name, owner_id)
SELECT * FROM unnest($1::uuid[], $2::text[], $3::integer[]) AS x(id, name, owner_id) ORDER BY x.id
ON CONFLICT (id) DO NOTHING)"};
constexpr db::Statement kInsertWorkers{"insert_workers", R"(
INSERT INTO @schema@.workers (id, name, user_id, team_id, worker_type)
SELECT * FROM unnest($1::uuid[], $2::text[], $3::integer[], $4::uuid[], $5::text[])
    AS x(id, name, user_id, team_id, worker_type) ORDER BY x.id
ON CONFLICT (id) DO NOTHING)"};
constexpr db::Statement kExistingUsers{"existing_users",
                                       "SELECT id FROM @schema@.users WHERE id = ANY ($1::integer[])"};
constexpr db::Statement kExistingTeams{"existing_teams", "SELECT id FROM @schema@.teams WHERE id = ANY ($1::uuid[])"};
constexpr db::Statement kAccountClasses{"account_classes", R"(
SELECT account_class, shortfall = 'debt' FROM @schema@.kudos_account_policies WHERE account_class <> 'system'
ORDER BY account_class)"};
constexpr db::Statement kGrantDue{"grant_due", R"(
SELECT event_id, seq, replayed FROM @schema@.kudos_grant(account => $1::text, metadata => nullif($2::text, '')::jsonb))"};
constexpr db::Statement kSetMonthly{"set_monthly", R"(
SELECT event_id, seq, replayed
FROM @schema@.kudos_monthly(account => $1::text, amount => $2::numeric, metadata => nullif($3::text, '')::jsonb))"};
constexpr db::Statement kErase{"erase_user", "SELECT @schema@.kudos_erase(account => $1::text)"};

Status require_classes(db::Connection& connection, std::span<const NewUser> users) {
  std::set<std::string> classes;
  for (const NewUser& user : users) classes.insert(user.account_class);
  auto array = db::Array::texts();
  for (const auto& name : classes) array.add(name);
  KUDOS_ASSIGN(const auto rows, connection.execute(kKnownClasses, db::Params().add(array)));
  for (int row = 0; row < rows.size(); ++row) classes.erase(std::string(rows.text(row, 0)));
  if (classes.empty()) return {};
  return fail(ErrorCode::invalid_request, "there is no account class '" + *classes.begin() + "'",
              "The classes stand in kudos_account_policies: standard, postpaid, registered, pseudonymous, anonymous.");
}

Result<std::map<std::string, UserId>> ids_of(db::Connection& connection, const db::Array& names) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kUserIds, db::Params().add(names)));
  std::map<std::string, UserId> ids;
  for (int row = 0; row < rows.size(); ++row) ids.emplace(rows.text(row, 0), UserId{rows.int32(row, 1)});
  return ids;
}

Result<std::set<std::string>> insert_users(db::Connection& connection, std::span<const NewUser> users) {
  auto ids = db::Array::int32s();
  auto names = db::Array::texts(), classes = db::Array::texts();
  auto floors = db::Array::numerics();
  auto trusted = db::Array::booleans();
  for (const NewUser& user : users) {
    ids.add(user.id);
    names.add(user.external_id);
    classes.add(user.account_class);
    floors.add(user.floor_override);
    trusted.add(user.trusted);
  }
  KUDOS_ASSIGN(
      const auto rows,
      connection.execute(kInsertUsers, db::Params().add(ids).add(names).add(classes).add(floors).add(trusted)));
  std::set<std::string> created;
  for (int row = 0; row < rows.size(); ++row) created.insert(std::string(rows.text(row, 0)));
  return created;
}

Result<std::map<std::string, EnsuredUser>> find_ensured(db::Connection& connection, std::span<const NewUser> users) {
  auto names = db::Array::texts();
  for (const NewUser& user : users) names.add(user.external_id);
  KUDOS_ASSIGN(const auto rows, connection.execute(kEnsuredUsers, db::Params().add(names)));
  std::map<std::string, EnsuredUser> found;
  for (int row = 0; row < rows.size(); ++row)
    found.emplace(rows.text(row, 0), EnsuredUser{{rows.int32(row, 1)}, std::string(rows.text(row, 2)), false});
  return found;
}

std::unexpected<Error> number_taken(const NewUser& user) {
  if (user.id)
    return fail(ErrorCode::already_exists, "user " + std::to_string(user.id->value) + " exists already",
                "Fix another number, or leave it to the ledger.");
  return fail(ErrorCode::already_exists, "the number drawn for user ext:" + user.external_id + " is taken",
              "Somebody numbers users beside the sequence; try again.");
}

std::optional<Receipt> read_receipt(const db::Rows& rows) {
  if (rows.empty() || rows.is_null(0, 0)) return std::nullopt;
  return Receipt{rows.uuid(0, 0), {rows.int64(0, 1)}, rows.boolean(0, 2), true};
}

}  // namespace

Result<std::vector<EnsuredUser>> ensure_users(db::Connection& connection, std::span<const NewUser> users) {
  KUDOS_TRY(require_classes(connection, users));
  KUDOS_ASSIGN(const auto created, insert_users(connection, users));
  if (std::ranges::any_of(users, [](const NewUser& user) { return user.id.has_value(); }))
    KUDOS_TRY(connection.execute(kSkipFixedIds));
  KUDOS_ASSIGN(const auto found, find_ensured(connection, users));
  std::vector<EnsuredUser> result;
  for (const NewUser& user : users) {
    const auto there = found.find(user.external_id);
    if (there == found.end()) return number_taken(user);
    result.push_back(there->second);
    result.back().created = created.contains(user.external_id);
  }
  return result;
}

Result<std::int64_t> ensure_teams(db::Connection& connection, std::span<const NewTeam> teams,
                                  std::span<const UserId> owners) {
  auto ids = db::Array::uuids();
  auto names = db::Array::texts();
  auto owner_ids = db::Array::int32s();
  for (std::size_t i = 0; i < teams.size(); ++i) {
    ids.add(teams[i].id);
    names.add(teams[i].name);
    owner_ids.add(owners[i]);
  }
  KUDOS_ASSIGN(const auto made, connection.execute(kInsertTeams, db::Params().add(ids).add(names).add(owner_ids)));
  return made.affected();
}

Result<std::int64_t> ensure_workers(db::Connection& connection, std::span<const NewWorker> workers,
                                    std::span<const UserId> owners) {
  auto ids = db::Array::uuids(), teams = db::Array::uuids();
  auto names = db::Array::texts(), types = db::Array::texts();
  auto owner_ids = db::Array::int32s();
  for (std::size_t i = 0; i < workers.size(); ++i) {
    ids.add(workers[i].id);
    names.add(workers[i].name);
    owner_ids.add(owners[i]);
    teams.add(workers[i].team);
    types.add(workers[i].worker_type);
  }
  KUDOS_ASSIGN(
      const auto made,
      connection.execute(kInsertWorkers, db::Params().add(ids).add(names).add(owner_ids).add(teams).add(types)));
  return made.affected();
}

Result<std::vector<UserId>> find_users(db::Connection& connection, std::span<const UserRef> users) {
  auto names = db::Array::texts();
  auto numbers = db::Array::int32s();
  for (const UserRef& user : users) {
    if (user.id)
      numbers.add(*user.id);
    else
      names.add(user.external_id);
  }
  KUDOS_ASSIGN(const auto by_name, ids_of(connection, names));
  KUDOS_ASSIGN(const auto rows, connection.execute(kExistingUsers, db::Params().add(numbers)));
  std::set<UserId> present;
  for (int row = 0; row < rows.size(); ++row) present.insert({rows.int32(row, 0)});
  std::vector<UserId> result;
  for (const UserRef& user : users) {
    const auto named = by_name.find(user.external_id);
    const bool known = user.id ? present.contains(*user.id) : named != by_name.end();
    if (!known) return fail(ErrorCode::unknown_user, "there is no user " + user.to_string());
    if (user.id && is_system(*user.id))
      return fail(ErrorCode::system_account, "user " + user.to_string() + " is a system account, which owns nothing");
    result.push_back(user.id ? *user.id : named->second);
  }
  return result;
}

Status require_teams(db::Connection& connection, std::span<const Uuid> teams) {
  auto ids = db::Array::uuids();
  for (const Uuid& team : teams) ids.add(team);
  KUDOS_ASSIGN(const auto rows, connection.execute(kExistingTeams, db::Params().add(ids)));
  std::set<Uuid> present;
  for (int row = 0; row < rows.size(); ++row) present.insert(rows.uuid(row, 0));
  for (const Uuid& team : teams)
    if (!present.contains(team)) return fail(ErrorCode::unknown_team, "there is no team " + team.to_string());
  return {};
}

Result<std::vector<AccountClass>> read_account_classes(db::Connection& connection) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kAccountClasses));
  std::vector<AccountClass> classes;
  for (int row = 0; row < rows.size(); ++row) classes.push_back({std::string(rows.text(row, 0)), rows.boolean(row, 1)});
  return classes;
}

Result<std::optional<Receipt>> grant_due(db::Connection& connection, const UserRef& user, std::string_view metadata) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kGrantDue, db::Params().add(user.to_string()).add(metadata)));
  return read_receipt(rows);
}

Result<std::optional<Receipt>> set_monthly_grant(db::Connection& connection, const UserRef& user, Amount amount,
                                                 std::string_view metadata) {
  KUDOS_ASSIGN(const auto rows,
               connection.execute(kSetMonthly, db::Params().add(user.to_string()).add(amount).add(metadata)));
  return read_receipt(rows);
}

Result<std::int64_t> erase_user(db::Connection& connection, const UserRef& user) {
  KUDOS_ASSIGN(const auto rows, connection.execute(kErase, db::Params().add(user.to_string())));
  return rows.int64(0, 0);
}

}  // namespace kudos::store
