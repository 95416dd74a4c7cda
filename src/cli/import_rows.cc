#include "cli/import_rows.h"

#include <algorithm>
#include <array>

#include "base/try.h"
#include "core/validate.h"

namespace kudos::cli {
namespace {

using namespace std::string_view_literals;

constexpr std::array kColumns = {"external_id"sv, "balance"sv, "class"sv};
constexpr std::size_t kMaxExternalId = 200;

std::string named(const Error& error) { return std::string(error_name(error.code)) + ": " + error.message; }

std::unexpected<Error> with_hint(std::unexpected<Error> error, const std::string& hint) {
  error.error().hint = hint;
  return error;
}

std::unexpected<Error> wrong_header(const std::string& path) {
  return fail(ErrorCode::wrong_format, path + " doesn't begin with the line external_id,balance,class",
              "Those are the columns, in this order; put that line first.");
}

Status check_header(sim::CsvReader& csv) {
  auto row = csv.next();
  if (!row && row.error().code != ErrorCode::bad_row) return std::unexpected(std::move(row).error());
  if (!row || !*row || !std::ranges::equal((**row).fields, kColumns)) return wrong_header(csv.path());
  return {};
}

}  // namespace

ImportReader::ImportReader(sim::CsvReader csv, const std::vector<store::AccountClass>& classes) : csv_(std::move(csv)) {
  for (const auto& each : classes) may_owe_.emplace(each.name, each.may_owe);
}

Result<ImportReader> ImportReader::open(const std::string& path, const std::vector<store::AccountClass>& classes) {
  KUDOS_ASSIGN(auto csv, sim::CsvReader::open(path));
  KUDOS_TRY(check_header(csv));
  csv.expect_fields(kColumns.size());
  return ImportReader(std::move(csv), classes);
}

Result<std::vector<ImportRow>> ImportReader::next_batch(std::size_t limit) {
  std::vector<ImportRow> rows;
  while (rows.size() < limit) {
    KUDOS_ASSIGN(const auto fields, csv_.next());
    if (!fields) break;
    KUDOS_ASSIGN(auto row, parse(*fields));
    KUDOS_TRY(check(row));
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<ImportRow> ImportReader::parse(const sim::CsvRow& row) {
  ImportRow parsed{row.line, std::string(row.fields[0]), {}, std::string(row.fields[2])};
  const auto balance = Amount::parse(row.fields[1]);
  if (!balance)
    return with_hint(csv_.bad_value("balance", row.fields[1], named(balance.error())), balance.error().hint);
  parsed.balance = *balance;
  return parsed;
}

Status ImportReader::check(const ImportRow& row) {
  if (const auto valid = validate_name(row.external_id, "the external id", kMaxExternalId); !valid)
    return csv_.bad_row(named(valid.error()));
  const auto known = may_owe_.find(row.account_class);
  if (known == may_owe_.end())
    return with_hint(csv_.bad_value("class", row.account_class, "invalid_request: there is no such account class"),
                     "The classes stand in kudos_account_policies.");
  if (row.balance.is_negative() && !known->second)
    return csv_.bad_value("balance", row.balance.to_string(),
                          "amount_not_positive: class " + row.account_class + " can't owe");
  const auto [first, is_new] = lines_of_.emplace(row.external_id, row.line);
  if (!is_new)
    return csv_.bad_value("external_id", row.external_id,
                          "it stands on line " + std::to_string(first->second) + " too");
  return {};
}

std::unexpected<Error> ImportReader::refuse(const ImportRow& row, const Error& why) const {
  return fail(ErrorCode::bad_row, csv_.path() + ", line " + std::to_string(row.line) + ": " + named(why), why.hint);
}

}  // namespace kudos::cli
