// The part of `kudos import` that stores, inside one transaction of the caller's.
//
// Thread-safety: one thread at a time.
#pragma once

#include <span>
#include <string>

#include "cli/import_rows.h"
#include "kudos/session.h"

namespace kudos::cli {

struct ImportTotals {
  std::int64_t rows = 0;
  std::int64_t created = 0;   // accounts
  std::int64_t kept = 0;      // accounts that were there
  std::int64_t stored = 0;    // openings
  std::int64_t replayed = 0;  // openings that were there, from this very file and row
  std::int64_t empty = 0;     // balances of 0, which need no opening
  Total sum;                  // of all balances
  Total sum_stored;           // of the openings stored now
};

class Importer {
 public:
  // `digest`: the file's, in hexadecimal; with the line it makes an opening's key.
  Importer(Session& session, const ImportReader& reader, std::string digest)
      : session_(session), reader_(reader), digest_(std::move(digest)) {}

  // Makes the accounts and their openings. After an error the caller rolls back.
  Status add(std::span<const ImportRow> rows);
  const ImportTotals& totals() const { return totals_; }

 private:
  Status add_accounts(std::span<const ImportRow> rows);
  Status add_openings(std::span<const ImportRow> rows);
  Opening opening_of(const ImportRow& row) const;

  Session& session_;
  const ImportReader& reader_;
  std::string digest_;
  ImportTotals totals_;
};

}  // namespace kudos::cli
