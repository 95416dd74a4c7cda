// One PostgreSQL connection in pipeline mode: statements are queued, then sent and answered in one round trip.
//
//   connection.queue(kBegin);
//   connection.queue(kLoadUsers, Params().add(ids));
//   auto results = connection.flush();   // one Rows per queued statement, in order
//
// A failing statement ends its flush: the rest of that flush is skipped by the server and nothing of it takes effect
// outside the transaction, which is then aborted.
//
// Thread-safety: a connection belongs to one thread at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/params.h"
#include "db/rows.h"
#include "kudos/error.h"

struct pg_conn;

namespace kudos::db {

// A statement constant. `sql` may contain @schema@, which is replaced by the connection's schema, quoted.
// Its address is its identity: define statements as namespace-scope constants.
struct Statement {
  const char* name;
  const char* sql;
};

inline constexpr Statement kBegin{"begin", "BEGIN ISOLATION LEVEL READ COMMITTED"};
inline constexpr Statement kCommit{"commit", "COMMIT"};
inline constexpr Statement kRollback{"rollback", "ROLLBACK"};

struct ConnectionOptions {
  std::string schema = "public";
  bool prepare = true;  // by name; off behind a transaction pooler
};

class Connection {
 public:
  // Opens a connection of its own. Waits at most ten seconds; database_unavailable says why.
  static Result<Connection> open(const std::string& conninfo, ConnectionOptions options = {});
  // Works on somebody else's connection, which must outlive this object. Pipeline mode is on only inside `flush`.
  static Connection borrow(pg_conn* connection, ConnectionOptions options = {});

  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();

  void queue(const Statement& statement, Params params = {});
  // Sends what is queued; one result per statement. On failure the first error, with its statement's name and what
  // helps (`Recovery`).
  Result<std::vector<Rows>> flush();
  // queue + flush of one statement.
  Result<Rows> execute(const Statement& statement, Params params = {});
  // Several statements as one text without parameters, e.g. a migration: one implicit transaction unless it has its
  // own. @schema@ is replaced.
  Status run_script(const std::string& sql);
  // Ends an open transaction, if any, after a failure; ignores errors (a lost connection has rolled back already).
  void roll_back();

  bool in_transaction() const;
  // True when the server or the network has gone.
  bool is_broken() const;
  int server_version() const;  // 150018 for 15.18
  int backend_pid() const;
  int socket() const;  // -1 without one
  const ConnectionOptions& options() const { return options_; }
  pg_conn* raw() const { return connection_; }

 private:
  Connection(pg_conn* connection, bool owned, ConnectionOptions options);
  struct Queued {
    const Statement* statement;
    Params params;
  };
  const std::string& rendered(const Statement& statement);
  std::string prepared_name(const Statement& statement) const;
  void forget_statements();
  Status enter_pipeline();
  void leave_pipeline();
  bool send(const Queued& queued);
  bool drain_output();
  Result<std::vector<Rows>> collect(const std::vector<bool>& prepared_first);
  Error connection_error(const char* statement) const;
  Error result_error(pg_result* result, const char* statement) const;

  pg_conn* connection_ = nullptr;
  bool owned_ = false;
  bool was_nonblocking_ = false;
  ConnectionOptions options_;
  std::string prefix_;  // of prepared statements: a borrowed connection may see several of these objects in its life
  std::vector<Queued> queue_;
  std::map<const Statement*, std::string> rendered_;
  std::map<const Statement*, bool> prepared_;
};

// The schema's name as an SQL identifier, quoted.
std::string quote_identifier(std::string_view name);
// Replaces every @schema@ in `sql`.
std::string render_schema(std::string_view sql, std::string_view schema);

}  // namespace kudos::db
