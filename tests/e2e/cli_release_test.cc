// release: one or many, all or none, twice.
#include "e2e/cli_fixture.h"

namespace kudos::testing {
namespace {

std::string text(const boost::json::value& value) { return std::string(value.as_string()); }

using CliReleaseTest = CliTest;

TEST_F(CliReleaseTest, ManyAreReleasedAndSummed) {
  create_funded("rel-a", "100");
  create_funded("rel-b", "100");
  ASSERT_EQ(kudos({"reserve", "ext:rel-a", "10", "--id", "rel-1"}).code, 0);
  ASSERT_EQ(kudos({"reserve", "ext:rel-b", "20.25", "--id", "rel-2"}).code, 0);
  const auto done = json({"release", "rel-1", "rel-none", "rel-2"});
  EXPECT_EQ(text(done.at("released")), "30.25");
  const auto& each = done.at("holds").as_array();
  ASSERT_EQ(each.size(), 3U);
  EXPECT_EQ(text(each[0].at("amount")), "10.00");
  EXPECT_EQ(text(each[0].at("hold").at("state")), "released");
  EXPECT_EQ(text(each[0].at("available")), "100.00");
  EXPECT_EQ(text(each[1].at("reservation_id")), "rel-none");
  EXPECT_EQ(text(each[1].at("amount")), "0.00");
  EXPECT_TRUE(each[1].at("hold").is_null());
  EXPECT_EQ(text(each[2].at("amount")), "20.25");
  EXPECT_EQ(available("ext:rel-b"), "100.00");
}

// Scenario A6: the second time gives back 0, says so, and changes nothing.
TEST_F(CliReleaseTest, TwiceIsNoFailure) {
  create_funded("rel-twice", "100");
  ASSERT_EQ(kudos({"reserve", "ext:rel-twice", "10", "--id", "rel-twice-1"}).code, 0);
  ASSERT_EQ(kudos({"capture", "rel-twice-1", "4"}).code, 0);
  const Outcome first = kudos({"release", "rel-twice-1"});
  EXPECT_TRUE(first.out.starts_with("hold rel-twice-1 gave back 6.00\nuser ")) << first.out;
  EXPECT_NE(first.out.find(" has 96.00 available\n"), std::string::npos) << first.out;
  const Outcome second = kudos({"release", "rel-twice-1"});
  EXPECT_EQ(second.code, 0);
  EXPECT_EQ(second.out, "hold rel-twice-1 is not active: nothing was given back\n");
  EXPECT_EQ(text(json({"release", "rel-twice-1"}).at("released")), "0.00");
  EXPECT_EQ(available("ext:rel-twice"), "96.00");
}

TEST_F(CliReleaseTest, AllOrNone) {
  create_funded("rel-all", "10");
  ASSERT_EQ(kudos({"reserve", "ext:rel-all", "3", "--id", "rel-all-1"}).code, 0);
  expect_refused({"release", "rel-all-1", "transfer:1:x"}, "invalid_request");
  EXPECT_EQ(available("ext:rel-all"), "7.00");
}

TEST_F(CliReleaseTest, AKeyGivesTheFirstResult) {
  create_funded("rel-key", "10");
  ASSERT_EQ(kudos({"reserve", "ext:rel-key", "3", "--id", "rel-key-1"}).code, 0);
  const Arguments release = {"release", "rel-key-1", "--key", "rel-key-k"};
  EXPECT_EQ(text(json(release).at("released")), "3.00");
  // A new hold under the same id is none of the old request's business.
  ASSERT_EQ(kudos({"reserve", "ext:rel-key", "5", "--id", "rel-key-1"}).code, 0);
  const auto again = json(release);
  EXPECT_EQ(text(again.at("released")), "3.00");
  EXPECT_EQ(again.at("holds").at(0).at("replayed").as_bool(), true);
  EXPECT_EQ(available("ext:rel-key"), "5.00");
  expect_refused({"release", "rel-key-2", "--key", "rel-key-k"}, "idempotency_conflict");
  expect_usage({"release", "rel-key-1", "rel-key-2", "--key", "rel-key-n"}, "a key belongs to one release");
}

TEST_F(CliReleaseTest, ADryRunReleasesNothing) {
  create_funded("rel-dry", "10");
  ASSERT_EQ(kudos({"reserve", "ext:rel-dry", "3", "--id", "rel-dry-1"}).code, 0);
  ASSERT_EQ(kudos({"reserve", "ext:rel-dry", "4", "--id", "rel-dry-2"}).code, 0);
  const auto shown = json({"release", "rel-dry-1", "rel-dry-2", "--dry-run"});
  EXPECT_EQ(shown.at("dry_run").as_bool(), true);
  EXPECT_EQ(text(shown.at("released")), "7.00");
  const Outcome plain = kudos({"release", "rel-dry-1", "rel-dry-2", "--dry-run"});
  for (const char* part : {"dry run: nothing was committed", "7.00 given back in all", "has 10.00 available"})
    EXPECT_NE(plain.out.find(part), std::string::npos) << plain.out;
  EXPECT_EQ(available("ext:rel-dry"), "3.00");
}

TEST_F(CliReleaseTest, WrongCommandLines) {
  expect_usage({"release"}, "hold is required");
  expect_usage({"release", "a", ""}, "the value is empty");
}

}  // namespace
}  // namespace kudos::testing
