#include "sim/scratch_ledger.h"

#include <cstdio>
#include <cstdlib>
#include <libpq-fe.h>
#include <sys/stat.h>

#include "ledger/migrations.h"
#include "store/control.h"

namespace kudos::sim {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "scratch ledger: %s\n", result.error().to_string().c_str());
    std::abort();
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// Below the system's temporary directory, which an unprivileged account can reach.
std::filesystem::path make_directory() {
  std::string path = (std::filesystem::temp_directory_path() / "kudos-scratch-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) {
    std::perror("scratch ledger: mkdtemp");
    std::abort();
  }
  ::chmod(path.c_str(), 0755);
  return path;
}

}  // namespace

ScratchLedger::ScratchLedger(std::map<std::string, std::string> settings) : directory_(make_directory()) {
  server_.emplace(must(db::PrivateServer::start({directory_ / "data", "kudos", std::move(settings)})));
  conninfo_ = server_->conninfo();
  prepare();
}

ScratchLedger::~ScratchLedger() {
  server_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void ScratchLedger::prepare() const {
  auto connection = open();
  must(ledger::migrate(connection));
  must(store::switch_to_ledger(connection, store::lock_keys("public"), std::chrono::seconds(10)));
}

void ScratchLedger::fresh_database() {
  const std::string name = "scratch_" + std::to_string(++databases_);
  run("CREATE DATABASE " + name);
  conninfo_ = server_->conninfo() + " dbname=" + name;
  prepare();
}

db::Connection ScratchLedger::open() const { return must(db::Connection::open(conninfo_)); }

Client ScratchLedger::client() const {
  auto connection = open();
  auto session = must(Session::attach(connection.raw()));
  return {std::move(connection), std::move(session)};
}

void ScratchLedger::run(const std::string& sql) const {
  auto connection = open();
  must(connection.run_script(sql));
}

std::string ScratchLedger::ask(const std::string& sql) const {
  const auto connection = open();
  PGresult* result = PQexec(connection.raw(), sql.c_str());
  if (PQresultStatus(result) != PGRES_TUPLES_OK) {
    std::fprintf(stderr, "scratch ledger: %s\n", PQerrorMessage(connection.raw()));
    std::abort();
  }
  std::string answer = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
  PQclear(result);
  return answer;
}

}  // namespace kudos::sim
