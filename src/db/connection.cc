#include "db/connection.h"

#include <poll.h>

#include <cstring>
#include <libpq-fe.h>
#include <memory>

#include "base/check.h"
#include "base/try.h"
#include "db/errors.h"

namespace kudos::db {
namespace {

struct FreeResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using ResultPtr = std::unique_ptr<PGresult, FreeResult>;

constexpr const char* kConnectionDefaults[][2] = {
    {"application_name", "kudos"}, {"connect_timeout", "10"}, {"keepalives_idle", "15"},
    {"keepalives_interval", "5"},  {"keepalives_count", "3"}, {"tcp_user_timeout", "30000"},
    {"client_encoding", "UTF8"},
};

PGconn* connect(const std::string& conninfo) {
  std::vector<const char*> keywords, values;
  for (const auto& [keyword, value] : kConnectionDefaults) {
    keywords.push_back(keyword);
    values.push_back(value);
  }
  // Later keywords win, so the caller's conninfo overrides the defaults.
  keywords.push_back("dbname");
  values.push_back(conninfo.c_str());
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  return PQconnectdbParams(keywords.data(), values.data(), 1);
}

constexpr std::string_view kUnknownStatement = "26000";

// The server's notices (e.g. "relation exists, skipping") aren't ours to print.
void ignore_notice(void*, const PGresult*) {}

}  // namespace

std::string quote_identifier(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string render_schema(std::string_view sql, std::string_view schema) {
  constexpr std::string_view kPlaceholder = "@schema@";
  const std::string identifier = quote_identifier(schema);
  std::string text;
  std::size_t at = 0;
  for (std::size_t hit; (hit = sql.find(kPlaceholder, at)) != std::string_view::npos; at = hit + kPlaceholder.size()) {
    text += sql.substr(at, hit - at);
    text += identifier;
  }
  text += sql.substr(at);
  return text;
}

Connection::Connection(pg_conn* connection, bool owned, ConnectionOptions options)
    : connection_(connection),
      owned_(owned),
      options_(std::move(options)),
      prefix_("kudos_" + Uuid::v7().to_string().substr(24) + "_") {}

Connection::Connection(Connection&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)),
      owned_(other.owned_),
      options_(std::move(other.options_)),
      prefix_(std::move(other.prefix_)),
      queue_(std::move(other.queue_)),
      rendered_(std::move(other.rendered_)),
      prepared_(std::move(other.prepared_)) {}

Connection& Connection::operator=(Connection&& other) noexcept {
  std::swap(connection_, other.connection_);
  std::swap(owned_, other.owned_);
  std::swap(options_, other.options_);
  std::swap(prefix_, other.prefix_);
  std::swap(queue_, other.queue_);
  std::swap(rendered_, other.rendered_);
  std::swap(prepared_, other.prepared_);
  return *this;
}

Connection::~Connection() {
  if (connection_ == nullptr) return;
  if (owned_)
    PQfinish(connection_);
  else
    forget_statements();
}

// A borrowed connection outlives this object; its server keeps prepared statements until they are told to go.
void Connection::forget_statements() {
  const auto status = PQtransactionStatus(connection_);
  if (is_broken() || PQpipelineStatus(connection_) != PQ_PIPELINE_OFF ||
      (status != PQTRANS_IDLE && status != PQTRANS_INTRANS))
    return;
  std::string sql;
  for (const auto& [statement, prepared] : prepared_)
    if (prepared) sql += "DEALLOCATE " + quote_identifier(prepared_name(*statement)) + ";";
  // Within a transaction a failure would abort it; there a few statements are left instead.
  if (!sql.empty() && status == PQTRANS_IDLE) ResultPtr ignored(PQexec(connection_, sql.c_str()));
}

Result<Connection> Connection::open(const std::string& conninfo, ConnectionOptions options) {
  PGconn* raw = connect(conninfo);
  Connection connection(raw, true, std::move(options));
  if (PQstatus(raw) != CONNECTION_OK) {
    return fail(ErrorCode::database_unavailable, "can't connect to PostgreSQL: " + one_line(PQerrorMessage(raw)),
                "Check that the server runs and that the database URL names it.");
  }
  PQsetNoticeReceiver(raw, ignore_notice, nullptr);
  return connection;
}

Connection Connection::borrow(pg_conn* connection, ConnectionOptions options) {
  return {connection, false, std::move(options)};
}

const std::string& Connection::rendered(const Statement& statement) {
  auto [entry, inserted] = rendered_.try_emplace(&statement);
  if (inserted) entry->second = render_schema(statement.sql, options_.schema);
  return entry->second;
}

std::string Connection::prepared_name(const Statement& statement) const { return prefix_ + statement.name; }

void Connection::queue(const Statement& statement, Params params) { queue_.push_back({&statement, std::move(params)}); }

Status Connection::enter_pipeline() {
  if (PQstatus(connection_) != CONNECTION_OK) return std::unexpected(connection_error("connect"));
  const auto busy = [] {
    return fail(ErrorCode::invalid_request, "the connection is busy with another query or in pipeline mode",
                "Read all results and leave pipeline mode before calling Kudos on its connection.");
  };
  if (PQpipelineStatus(connection_) != PQ_PIPELINE_OFF || PQtransactionStatus(connection_) == PQTRANS_ACTIVE)
    return busy();
  was_nonblocking_ = PQisnonblocking(connection_) == 1;
  // Non-blocking: a blocking send could wait for a server that waits for us to read.
  PQsetnonblocking(connection_, 1);
  if (PQenterPipelineMode(connection_) == 1) return {};
  PQsetnonblocking(connection_, was_nonblocking_ ? 1 : 0);
  return busy();
}

void Connection::leave_pipeline() {
  PQexitPipelineMode(connection_);
  PQsetnonblocking(connection_, was_nonblocking_ ? 1 : 0);
}

bool Connection::send(const Queued& queued) {
  const auto count = queued.params.values_.size();
  std::vector<const char*> values(count);
  std::vector<int> lengths(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = queued.params.nulls_[i] ? nullptr : queued.params.values_[i].data();
    lengths[i] = static_cast<int>(queued.params.values_[i].size());
  }
  const int* formats = queued.params.formats_.data();
  if (options_.prepare)
    return PQsendQueryPrepared(connection_, prepared_name(*queued.statement).c_str(), queued.params.count(),
                               values.data(), lengths.data(), formats, 1) == 1;
  return PQsendQueryParams(connection_, rendered(*queued.statement).c_str(), queued.params.count(), nullptr,
                           values.data(), lengths.data(), formats, 1) == 1;
}

// Writes everything out while reading whatever arrives, so that neither side can block the other.
bool Connection::drain_output() {
  for (;;) {
    const int pending = PQflush(connection_);
    if (pending <= 0) return pending == 0;
    pollfd descriptor{PQsocket(connection_), POLLIN | POLLOUT, 0};
    if (poll(&descriptor, 1, -1) < 0 && errno != EINTR) return false;
    if ((descriptor.revents & POLLIN) != 0 && PQconsumeInput(connection_) == 0) return false;
  }
}

Result<std::vector<Rows>> Connection::flush() {
  const auto clear = [this] { queue_.clear(); };
  if (auto entered = enter_pipeline(); !entered) {
    clear();
    return std::unexpected(entered.error());
  }
  std::vector<bool> prepared_first(queue_.size(), false);
  bool sent = true;
  for (std::size_t i = 0; i < queue_.size() && sent; ++i) {
    const Statement* statement = queue_[i].statement;
    if (options_.prepare && !std::exchange(prepared_[statement], true)) {
      prepared_first[i] = true;
      sent =
          PQsendPrepare(connection_, prepared_name(*statement).c_str(), rendered(*statement).c_str(), 0, nullptr) == 1;
    }
    sent = sent && send(queue_[i]);
  }
  sent = sent && PQpipelineSync(connection_) == 1 && drain_output();
  auto results = sent ? collect(prepared_first) : std::unexpected(connection_error("send"));
  leave_pipeline();
  clear();
  return results;
}

Result<std::vector<Rows>> Connection::collect(const std::vector<bool>& prepared_first) {
  std::vector<Rows> rows;
  rows.reserve(queue_.size());
  std::optional<Error> first_error;
  const auto accept = [&](const Statement& statement, bool preparing) {
    ResultPtr result(PQgetResult(connection_));
    if (result != nullptr) ResultPtr end(PQgetResult(connection_));
    const auto status = result ? PQresultStatus(result.get()) : PGRES_FATAL_ERROR;
    const bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    if (preparing && !good) prepared_[&statement] = false;
    if (!good && !first_error)
      first_error = result ? result_error(result.get(), statement.name) : connection_error(statement.name);
    if (good && !preparing) rows.emplace_back(result.release());
    return result != nullptr || good;
  };
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    if (prepared_first[i]) accept(*queue_[i].statement, true);
    accept(*queue_[i].statement, false);
    if (is_broken()) return std::unexpected(std::move(*first_error));
  }
  ResultPtr sync(PQgetResult(connection_));
  // Somebody deallocated our statements (DISCARD ALL, say): prepared anew at the next try.
  if (first_error && first_error->sqlstate == kUnknownStatement) {
    prepared_.clear();
    first_error->recovery = Recovery::retry;
  }
  if (first_error) return std::unexpected(std::move(*first_error));
  if (sync == nullptr || PQresultStatus(sync.get()) != PGRES_PIPELINE_SYNC)
    return std::unexpected(connection_error("sync"));
  return rows;
}

Result<Rows> Connection::execute(const Statement& statement, Params params) {
  queue(statement, std::move(params));
  KUDOS_ASSIGN(auto results, flush());
  return std::move(results.front());
}

Status Connection::run_script(const std::string& sql) {
  ResultPtr result(PQexec(connection_, render_schema(sql, options_.schema).c_str()));
  const auto status = result ? PQresultStatus(result.get()) : PGRES_FATAL_ERROR;
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY) return {};
  return std::unexpected(result && !is_broken() ? result_error(result.get(), "script") : connection_error("script"));
}

void Connection::roll_back() {
  queue_.clear();
  if (!is_broken() && in_transaction()) ResultPtr ignored(PQexec(connection_, "ROLLBACK"));
}

bool Connection::in_transaction() const {
  const auto status = PQtransactionStatus(connection_);
  return status == PQTRANS_INTRANS || status == PQTRANS_INERROR || status == PQTRANS_ACTIVE;
}

bool Connection::is_broken() const { return connection_ == nullptr || PQstatus(connection_) != CONNECTION_OK; }
int Connection::server_version() const { return PQserverVersion(connection_); }
int Connection::backend_pid() const { return PQbackendPID(connection_); }
int Connection::socket() const { return PQsocket(connection_); }

Error Connection::connection_error(const char* statement) const {
  // A COMMIT that was sent may have been done: only the event's id can tell.
  bool commit_sent = false;
  for (const Queued& queued : queue_) commit_sent |= queued.statement == &kCommit;
  return lost_connection(one_line(PQerrorMessage(connection_)), statement, commit_sent);
}

Error Connection::result_error(pg_result* result, const char* statement) const {
  const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const char* hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
  if (sqlstate == nullptr || is_broken()) return connection_error(statement);
  return server_error(sqlstate, message ? message : PQresultErrorMessage(result), hint ? hint : "", statement);
}

}  // namespace kudos::db
