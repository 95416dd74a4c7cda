// import: accounts and openings from a file, all of it or nothing.
#include "e2e/cli_fixture.h"

namespace kudos::testing {
namespace {

class CliImportTest : public CliTest {
 protected:
  std::string file(const std::string& rows) const {
    return files_.write("balances.csv", "external_id,balance,class\n" + rows);
  }
  static void expect_counts(const boost::json::value& answer, std::int64_t created, std::int64_t kept,
                            std::int64_t stored, std::int64_t replayed, const std::string& sum) {
    EXPECT_EQ(answer.at("accounts_created").as_int64(), created);
    EXPECT_EQ(answer.at("accounts_kept").as_int64(), kept);
    EXPECT_EQ(answer.at("openings_stored").as_int64(), stored);
    EXPECT_EQ(answer.at("openings_replayed").as_int64(), replayed);
    EXPECT_EQ(answer.at("sum").as_string(), sum);
  }
  // Refused as bad_row, naming the line and `what`.
  void expect_bad_row(const std::string& rows, int line, const std::string& what) {
    const std::string path = file(rows);
    expect_refused({"import", path}, "bad_row");
    const std::string err = kudos({"import", path}).err;
    EXPECT_NE(err.find("balances.csv, line " + std::to_string(line) + ": "), std::string::npos) << err;
    EXPECT_NE(err.find(what), std::string::npos) << err;
  }
};

TEST_F(CliImportTest, AccountsAndOpeningsOnce) {
  ASSERT_EQ(kudos({"user", "create", "imp-there", "--class", "registered"}).code, 0);
  ASSERT_EQ(kudos({"topup", "ext:imp-there", "5"}).code, 0);
  const std::string path = file(
      "imp-a,10.5,standard\nimp-zero,0.00,pseudonymous\nimp-owes,-4,postpaid\n"
      "imp-there,2,registered\n\"imp, quoted\",1,standard\n");
  const auto shown = json({"import", path, "--dry-run"});
  EXPECT_EQ(shown.at("dry_run").as_bool(), true);
  expect_counts(shown, 4, 1, 4, 0, "9.50");  // 10.50 − 4 + 2 + 1
  expect_refused({"user", "show", "ext:imp-a"}, "unknown_user");
  const auto first = json({"import", path});
  expect_counts(first, 4, 1, 4, 0, "9.50");
  EXPECT_EQ(first.at("rows").as_int64(), 5);
  EXPECT_EQ(first.at("zero_balances").as_int64(), 1);
  EXPECT_EQ(first.at("sum_stored").as_string(), "9.50");
  const auto again = json({"import", path});
  expect_counts(again, 0, 5, 0, 4, "9.50");
  EXPECT_EQ(again.at("sum_stored").as_string(), "0.00");
  EXPECT_EQ(balance("ext:imp-a"), "10.50");
  EXPECT_EQ(balance("ext:imp-zero"), "0.00");
  EXPECT_EQ(balance("ext:imp-owes"), "-4.00");
  EXPECT_EQ(balance("ext:imp-there"), "7.00");  // 5 + 2
  EXPECT_EQ(balance("ext:imp, quoted"), "1.00");
  EXPECT_EQ(json({"user", "show", "ext:imp-zero"}).at("account_class").as_string(), "pseudonymous");
}

TEST_F(CliImportTest, APersonReadsASummary) {
  const std::string path = file("imp-person,3,standard\nimp-person-2,0,standard\n");
  EXPECT_EQ(kudos({"import", path, "--dry-run"}).out,
            "dry run: nothing was committed\n"
            "rows             2\n"
            "accounts         2 created, 0 were there already\n"
            "openings         1 stored, 0 were there already, 1 not needed for a balance of 0\n"
            "sum of balances  3.00, stored now 3.00\n");
  ASSERT_EQ(kudos({"import", path}).code, 0);
  const Outcome again = kudos({"import", path});
  EXPECT_EQ(again.err, "");
  EXPECT_EQ(again.out,
            "rows             2\n"
            "accounts         0 created, 2 were there already\n"
            "openings         0 stored, 1 were there already, 1 not needed for a balance of 0\n"
            "sum of balances  3.00, stored now 0.00\n");
}

TEST_F(CliImportTest, AFileWithoutRowsIsFine) { expect_counts(json({"import", file("")}), 0, 0, 0, 0, "0.00"); }

TEST_F(CliImportTest, ManyBatchesAreOneTransaction) {
  std::string rows;
  for (int i = 0; i < 1'001; ++i) rows += "imp-many-" + std::to_string(i) + ",1.01,standard\n";
  expect_bad_row(rows + "imp-many-last,1.001,standard\n", 1'003, "amount_too_precise");
  expect_refused({"user", "show", "ext:imp-many-0"}, "unknown_user");  // committed in no earlier batch
  expect_counts(json({"import", file(rows)}), 1'001, 0, 1'001, 0, "1011.01");
  EXPECT_EQ(balance("ext:imp-many-1000"), "1.01");
}

TEST_F(CliImportTest, BadRows) {
  ASSERT_EQ(kudos({"user", "create", "imp-class", "--class", "registered"}).code, 0);
  const std::string good = "imp-bad,1,standard\n";
  const struct {
    std::string rows;
    int line;
    std::string what;
  } cases[] = {
      {good + "x,1.234,standard\n", 3, "column balance has '1.234': amount_too_precise: "},
      {"x,1e3,standard\n", 2, "invalid_amount"},
      {"x,,standard\n", 2, "invalid_amount"},
      {"x,NaN,standard\n", 2, "invalid_amount"},
      {"x,1000000000000000000,standard\n", 2, "amount_out_of_range"},
      {good + good, 3, "column external_id has 'imp-bad': it stands on line 2 too"},
      {"x,1,royal\n", 2, "column class has 'royal': invalid_request"},
      {"x,1,system\n", 2, "invalid_request"},
      {"x,1,\n", 2, "invalid_request"},
      {"x,-1,standard\n", 2, "amount_not_positive: class standard can't owe"},
      {good + "imp-class,1,standard\n", 3, "already_exists: user ext:imp-class exists already, with class registered"},
      {",1,standard\n", 2, "the external id has 0 bytes"},
      {std::string(201, 'x') + ",1,standard\n", 2, "invalid_request"},
      {"a\x01,1,standard\n", 2, "control characters"},
      {"x,1\n", 2, "2 fields where 3 are expected"},
      {"x,1,standard,more\n", 2, "4 fields where 3 are expected"},
      {"\n", 2, "1 fields where 3"},
      {"\xFF,1,standard\n", 2, "UTF-8"},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.rows);
    expect_bad_row(each.rows, each.line, each.what);
  }
  expect_refused({"user", "show", "ext:imp-bad"}, "unknown_user");
}

TEST_F(CliImportTest, WrongFiles) {
  for (const std::string& content :
       {"", "\n", "external_id,balance\n", "balance,external_id,class\n", "External_id,balance,class\n",
        "external_id,balance,class,note\n", "external_id;balance;class\n", "\xFF\n"})
    expect_refused({"import", files_.write("wrong.csv", content)}, "wrong_format");
  expect_refused({"import", (files_ / "none.csv").string()}, "file_unreadable");
  expect_refused({"import", (files_ / "").string()}, "file_unreadable");
  expect_refused({"import", "/dev/null"}, "file_unreadable");
}

// An account that was erased since isn't given its opening a second time under a new number.
TEST_F(CliImportTest, AnErasedAccountIsNotOpenedAgain) {
  const std::string path = file("imp-erased,3,standard\n");
  ASSERT_EQ(kudos({"import", path}).code, 0);
  ASSERT_EQ(kudos({"user", "erase", "ext:imp-erased", "--yes"}).code, 0);
  expect_bad_row("imp-erased,3,standard\n", 2, "idempotency_conflict");
  expect_refused({"user", "show", "ext:imp-erased"}, "unknown_user");
}

}  // namespace
}  // namespace kudos::testing
