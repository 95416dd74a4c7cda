#include "packaging/pgbouncer.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <libpq-fe.h>
#include <sys/stat.h>
#include <thread>

#include "packaging/packaging_fixture.h"

namespace kudos::testing {
namespace {

// The account that owns the server's data; only when we are root and may become it.
std::optional<db::Identity> server_account(const sim::ScratchLedger& ledger) {
  struct stat data{};
  if (geteuid() != 0 || ::stat((ledger.directory() / "data").c_str(), &data) != 0) return std::nullopt;
  return db::Identity{data.st_uid, data.st_gid};
}

}  // namespace

Pgbouncer::Pgbouncer(const sim::ScratchLedger& ledger) : directory_(ledger.directory() / "pgbouncer") {
  std::filesystem::create_directory(directory_);
  write_configuration(ledger.conninfo());
  const auto account = server_account(ledger);
  if (account && ::chown(directory_.c_str(), account->uid, account->gid) != 0) std::abort();
  process_ = must(db::Process::spawn({.argv = {kProgram, directory_ / "pgbouncer.ini"},
                                      .output_file = directory_ / "output",
                                      .run_as = account,
                                      .death_signal = SIGKILL}));
  wait_until_it_answers();
}

Pgbouncer::~Pgbouncer() {
  process_->signal(SIGTERM);  // at once
  process_->wait(std::chrono::seconds(10));
  process_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string Pgbouncer::conninfo() const { return "host=" + directory_.string() + " port=6432 user=kudos dbname=kudos"; }

void Pgbouncer::write_configuration(const std::string& database) const {
  std::string server;  // as libpq reads it: of two equal keywords the last
  PQconninfoOption* options = PQconninfoParse(database.c_str(), nullptr);
  for (const auto* option = options; option->keyword != nullptr; ++option)
    if (option->val != nullptr) server += std::string(" ") + option->keyword + "='" + option->val + "'";
  PQconninfoFree(options);
  std::ofstream(directory_ / "pgbouncer.ini")
      << "[databases]\nkudos =" << server << "\n[pgbouncer]\n"
      << "pool_mode = transaction\ndefault_pool_size = 2\nauth_type = any\n"
      << "listen_port = 6432\nunix_socket_dir = " << directory_.string() << "\n";
}

void Pgbouncer::wait_until_it_answers() const {
  for (int tries = 0; tries < 200; ++tries) {
    if (PQping(conninfo().c_str()) == PQPING_OK) return;
    if (!process_->running()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::fprintf(stderr, "pgbouncer didn't start:\n%s\n", read_text(directory_ / "output").c_str());
  std::abort();
}

}  // namespace kudos::testing
