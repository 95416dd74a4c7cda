// quarantine, wait, worker delete and team delete, status: as a person and a program see them.
#include <csignal>

#include "e2e/cli_fixture.h"
#include "kudos/uuid.h"

namespace kudos::testing {
namespace {

class CliQuarantineTest : public CliTest {
 protected:
  // A foreign writer's event with a good statistic and one that no projection takes; its id.
  static std::string insert_spoilt(const std::string& user) {
    const auto number = std::to_string(json({"user", "show", user}).at("user_id").as_int64());
    const std::string id = Uuid::v7().to_string();
    sql("INSERT INTO kudos_events (event_id, posting_count) VALUES ('" + id +
        "', 2); INSERT INTO kudos_stat_postings (event_seq, line, entry_type, unit, target, user_id, amount, "
        "stat_action, "
        "record) VALUES (currval('kudos_events_seq'), 1, 'AWARD', 'kudos', 'user_stat', " +
        number + ", 3, 'awarded', 'user_kudos'), (currval('kudos_events_seq'), 2, 'AWARD', 'kudos', NULL, " + number +
        ", 3, 'awarded', 'nonsense')");
    EXPECT_EQ(kudos({"drain"}).code, 0);
    return id;
  }
  static std::string state_of(const std::string& event) {
    for (const auto& each : json({"quarantine", "list", "--all", "--limit", "1000"}).as_array())
      if (each.at("event_id").as_string() == event) return std::string(each.at("state").as_string());
    return "absent";
  }
};

TEST_F(CliQuarantineTest, AnOperatorLooksRepairsAndIsDone) {
  create("qua-1");
  const std::string event = insert_spoilt("ext:qua-1");
  EXPECT_EQ(state_of(event), "open");
  EXPECT_NE(kudos({"quarantine", "list"}).out.find(event), std::string::npos);
  const Outcome shown = kudos({"quarantine", "show", event});
  EXPECT_NE(shown.out.find("can't be mended: unknown_projection"), std::string::npos) << shown.out << shown.err;

  const Outcome dry = kudos({"quarantine", "repair", event, "--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_NE(dry.out.find("dry run: nothing was committed"), std::string::npos) << dry.out;
  EXPECT_EQ(state_of(event), "open");

  const auto done = json({"quarantine", "repair", event, "--by", "alice", "--note", "imported late"});
  EXPECT_EQ(done.at("replayed").as_bool(), false);
  EXPECT_EQ(done.at("mended_lines").as_array().size(), 1u);
  EXPECT_EQ(done.at("left_out").as_array().at(0).at("line").as_int64(), 2);
  EXPECT_EQ(done.at("left_out").as_array().at(0).at("reason").as_string(), "unknown_projection");
  EXPECT_EQ(done.at("event").at("statistics").as_array().at(0).at("entry_type").as_string(), "RECONCILIATION");
  EXPECT_EQ(state_of(event), "repaired");
  EXPECT_EQ(kudos({"quarantine", "list"}).out.find(event), std::string::npos);
  const auto again = json({"quarantine", "repair", event});
  EXPECT_EQ(again.at("replayed").as_bool(), true);
  EXPECT_EQ(again.at("event_id"), done.at("event_id"));
  const auto seen = json({"quarantine", "show", event});
  EXPECT_EQ(seen.at("reviews").as_array().at(0).at("by").as_string(), "alice");
  EXPECT_EQ(seen.at("reviews").as_array().at(0).at("repair_event_id"), done.at("event_id"));
  expect_refused({"quarantine", "accept", event, "--note", "too late"}, "already_exists");
}

TEST_F(CliQuarantineTest, AnAcceptanceSaysWhoAndWhy) {
  create("qua-2");
  const std::string event = insert_spoilt("ext:qua-2");
  expect_usage({"quarantine", "accept", event}, "--note");
  const Outcome done = kudos({"quarantine", "accept", event, "--note", "a load test"});
  EXPECT_NE(done.out.find(": a load test"), std::string::npos) << done.out << done.err;
  EXPECT_EQ(state_of(event), "accepted");
  EXPECT_EQ(json({"quarantine", "accept", event, "--note", "again"}).at("note").as_string(), "a load test");
}

TEST_F(CliQuarantineTest, WhatIsRefused) {
  create("qua-3");
  const std::string fine(json({"award", "ext:qua-3", "1"}).at("event_id").as_string());
  expect_refused({"quarantine", "show", fine}, "invalid_request");
  expect_refused({"quarantine", "repair", "00000000-0000-0000-0000-000000000000"}, "unknown_event");
  expect_refused({"quarantine", "repair", "nonsense"}, "invalid_request");
  expect_usage({"quarantine"}, "list, show, accept, repair");
}

TEST_F(CliQuarantineTest, StatusShowsWhatIsOpen) {
  create("qua-4");
  const auto before = json({"status"});
  insert_spoilt("ext:qua-4");
  const auto after = json({"status"});
  for (const char* field : {"quarantined_events", "open_quarantined_events"})
    EXPECT_EQ(after.at(field).as_int64(), before.at(field).as_int64() + 1) << field;
  EXPECT_EQ(after.at("quarantined_rows").as_int64(), before.at("quarantined_rows").as_int64() + 2);
  EXPECT_GE(after.at("quarantined_by_reason").at("unknown_projection").at("open_events").as_int64(), 1);
  for (const char* field : {"oldest_quarantined_seconds", "newest_quarantined_seconds"})
    EXPECT_TRUE(after.at(field).is_number()) << field;
  const Outcome plain = kudos({"status"});
  EXPECT_NE(plain.out.find("unknown_projection"), std::string::npos) << plain.out;
}

TEST_F(CliQuarantineTest, WaitEndsWhenAllIsFolded) {
  create("wai-1");
  const std::string event(json({"award", "ext:wai-1", "4"}).at("event_id").as_string());
  EXPECT_EQ(json({"wait", event}).at("outcome").as_string(), "folded");
  EXPECT_EQ(json({"balance", "ext:wai-1"}).at("kudos").as_string(), "4.00");
  EXPECT_NE(kudos({"wait"}).out.find("everything committed before is folded"), std::string::npos);
  expect_refused({"wait", "00000000-0000-0000-0000-000000000000"}, "unknown_event");
  expect_usage({"wait", "--timeout", "soon"}, "--timeout");
}

TEST_F(CliQuarantineTest, WorkersAndTeamsAreDeleted) {
  create("del-1");
  const std::string team = create_team("del-t", "ext:del-1");
  const std::string worker = create_worker("del-w", "ext:del-1", {"--team", team});
  ASSERT_EQ(kudos({"settle", "--requester", "ext:del-1", "--worker", worker, "--cost", "5"}).code, 0);
  ASSERT_EQ(kudos({"wait"}).code, 0);
  const Outcome dry = kudos({"worker", "delete", worker, "--dry-run"});
  EXPECT_NE(dry.out.find("(del-w) would be deleted: kudos 5.00"), std::string::npos) << dry.out << dry.err;
  const auto gone = json({"worker", "delete", worker});
  EXPECT_EQ(gone.at("name").as_string(), "del-w");
  EXPECT_EQ(gone.at("kudos").as_string(), "5.00");
  EXPECT_EQ(gone.at("counters").as_int64(), 1);
  expect_refused({"worker", "delete", worker}, "unknown_worker");
  expect_refused({"uptime", worker, "5"}, "unknown_worker");
  EXPECT_EQ(leader("teams", team).at("kudos").as_string(), "5.00");
  EXPECT_EQ(json({"team", "delete", team, "--dry-run"}).at("dry_run").as_bool(), true);
  EXPECT_EQ(json({"team", "delete", team}).at("workers").as_int64(), 0);
  expect_refused({"team", "delete", team}, "unknown_team");
}

TEST_F(CliQuarantineTest, WatchWritesAnObjectOrALineEachTimeAndEndsCleanly) {
  Background objects(command({"--json", "status", "--watch"}));
  ASSERT_TRUE(objects.wait_for_output("}\n{"));
  objects.signal(SIGINT);
  const Outcome json = objects.finish();
  EXPECT_EQ(json.code, 0);
  EXPECT_EQ(json.out.back(), '\n');
  Background lines(command({"status", "--watch"}));
  ASSERT_TRUE(lines.wait_for_output("\nmode ledger, "));
  lines.signal(SIGTERM);
  EXPECT_EQ(lines.finish().code, 0);
}

}  // namespace
}  // namespace kudos::testing
