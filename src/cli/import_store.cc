#include "cli/import_store.h"

#include "base/try.h"
#include "kudos/accounts.h"

namespace kudos::cli {
namespace {

constexpr const char* kPrincipal = "import";

Error other_class(const ImportRow& row, const EnsuredUser& user) {
  return {ErrorCode::already_exists,
          "user ext:" + row.external_id + " exists already, with class " + user.account_class + ", not " +
              row.account_class,
          "Nothing was stored. Correct the class in the file, or leave the row out.",
          {},
          {},
          Recovery::none};
}

}  // namespace

Status Importer::add(std::span<const ImportRow> rows) {
  KUDOS_TRY(add_accounts(rows));
  KUDOS_TRY(add_openings(rows));
  totals_.rows += static_cast<std::int64_t>(rows.size());
  return {};
}

Status Importer::add_accounts(std::span<const ImportRow> rows) {
  std::vector<NewUser> users;
  for (const ImportRow& row : rows)
    users.push_back({.external_id = row.external_id, .account_class = row.account_class});
  KUDOS_ASSIGN(const auto found, ensure_users_reporting(session_, users));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (found[i].account_class != rows[i].account_class) return reader_.refuse(rows[i], other_class(rows[i], found[i]));
    ++(found[i].created ? totals_.created : totals_.kept);
  }
  return {};
}

Opening Importer::opening_of(const ImportRow& row) const {
  Opening opening{UserRef::external(row.external_id), row.balance, {}};
  opening.options.key = {kPrincipal, digest_ + ":" + std::to_string(row.line)};
  return opening;
}

Status Importer::add_openings(std::span<const ImportRow> rows) {
  std::vector<const ImportRow*> sources;
  std::vector<Command> openings;
  for (const ImportRow& row : rows) {
    totals_.sum += row.balance;
    if (row.balance.is_zero()) {
      ++totals_.empty;
      continue;
    }
    sources.push_back(&row);
    openings.emplace_back(opening_of(row));
  }
  if (openings.empty()) return {};
  KUDOS_ASSIGN(const auto receipts, emit(session_, openings));
  for (std::size_t i = 0; i < receipts.size(); ++i) {
    if (!receipts[i]) return reader_.refuse(*sources[i], receipts[i].error());
    ++(receipts[i]->replayed ? totals_.replayed : totals_.stored);
    if (!receipts[i]->replayed) totals_.sum_stored += sources[i]->balance;
  }
  return {};
}

}  // namespace kudos::cli
