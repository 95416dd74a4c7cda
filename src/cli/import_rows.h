// The rows of a file of balances, checked: external_id,balance,class.
//
// Thread-safety: a reader belongs to one thread at a time.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "kudos/amount.h"
#include "sim/csv.h"
#include "store/accounts.h"

namespace kudos::cli {

struct ImportRow {
  std::int64_t line = 0;
  std::string external_id;
  Amount balance;
  std::string account_class;
};

class ImportReader {
 public:
  // Refuses a file whose header is another (wrong_format).
  static Result<ImportReader> open(const std::string& path, const std::vector<store::AccountClass>& classes);

  // The next rows, at most `limit`; none at the end. Refuses (bad_row, naming the line) what isn't an external id, an
  // amount or a class, a negative balance of a class that can't owe, and an external id that stood in the file before.
  Result<std::vector<ImportRow>> next_batch(std::size_t limit);

  // bad_row about a row that was read: "FILE, line N: NAME: MESSAGE".
  std::unexpected<Error> refuse(const ImportRow& row, const Error& why) const;

  std::int64_t bytes_read() const { return csv_.bytes_read(); }
  std::int64_t bytes_total() const { return csv_.bytes_total(); }

 private:
  ImportReader(sim::CsvReader csv, const std::vector<store::AccountClass>& classes);
  Result<ImportRow> parse(const sim::CsvRow& fields);
  Status check(const ImportRow& row);

  sim::CsvReader csv_;
  std::map<std::string, bool> may_owe_;                     // by class
  std::unordered_map<std::string, std::int64_t> lines_of_;  // where each external id stands
};

}  // namespace kudos::cli
