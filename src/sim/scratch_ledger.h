// A throw-away ledger on a private PostgreSQL of its own: for tests, benchmarks and chaos runs. Durable settings are
// on, as in production. Everything is removed when it is destroyed.
//
// Thread-safety: `open` may be called from any thread; the rest belongs to the thread that made it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "db/connection.h"
#include "db/private_server.h"
#include "kudos/session.h"

namespace kudos::sim {

// An owned connection with a session on it.
struct Client {
  db::Connection connection;
  Session session;
};

class ScratchLedger {
 public:
  // Starts the server, applies the migrations and switches to ledger mode. Stops the process when it can't: without a
  // database there is nothing to test.
  explicit ScratchLedger(std::map<std::string, std::string> settings = {});
  ~ScratchLedger();
  ScratchLedger(const ScratchLedger&) = delete;

  // A new empty ledger in a database of its own on the same server; connections opened from now on go there.
  void fresh_database();

  const std::string& conninfo() const { return conninfo_; }
  const std::filesystem::path& directory() const { return directory_; }
  db::PrivateServer& server() { return *server_; }

  db::Connection open() const;
  Client client() const;
  // Runs SQL on a connection of its own; stops the process on an error.
  void run(const std::string& sql) const;
  // The first column of the first row as text; empty for NULL or no row. Stops the process on an error.
  std::string ask(const std::string& sql) const;

 private:
  void prepare() const;

  std::filesystem::path directory_;
  std::optional<db::PrivateServer> server_;
  std::string conninfo_;
  int databases_ = 0;
};

}  // namespace kudos::sim
