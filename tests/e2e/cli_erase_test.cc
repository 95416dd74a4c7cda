// user erase, and that an event's hash can be recomputed from what `event show --json` prints, before and after.
#include <cstdio>
#include <ctime>

#include "base/sha256.h"
#include "e2e/cli_fixture.h"
#include "kudos/uuid.h"

namespace kudos::testing {
namespace {

using Json = boost::json::value;

class CliEraseTest : public CliTest {
 protected:
  static std::string topup_with_metadata(const std::string& user) {
    const auto receipt = json({"topup", user, "12.5", "--metadata", R"({"invoice":"A-17"})", "--key", "key-" + user});
    return std::string(receipt.at("event_id").as_string());
  }
  // `kudos …` on a terminal, answered by `answer`.
  static Outcome on_terminal(const std::string& arguments, const std::string& answer) {
    auto options = command({});
    options.argv = {"/bin/sh", "-c",
                    "echo " + answer + " | script -qec '" + kudos_binary() + " " + arguments + "' /dev/null"};
    return run(options);
  }
};

// The rules of docs/reference/digests.md, written a second time.
class Hasher {
 public:
  void text(std::string_view value) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes_ += static_cast<char>(value.size() >> shift);
    bytes_ += value;
  }
  void text_or_absent(const Json& value) { value.is_null() ? absent() : text(value.as_string()); }
  void number_or_absent(const Json& value) { value.is_null() ? absent() : text(std::to_string(value.as_int64())); }
  void uuid_or_absent(const Json& value) {
    if (value.is_null()) return absent();
    const Uuid id = *Uuid::parse(value.as_string());
    text({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
  }
  void hex_or_absent(const Json& value) {
    if (value.is_null()) return absent();
    std::string raw;
    const std::string hex(value.as_string());
    for (std::size_t i = 0; i < hex.size(); i += 2) raw += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    text(raw);
  }
  void time(const Json& value) {
    std::tm when{};
    int micros = 0;
    std::sscanf(value.as_string().c_str(), "%d-%d-%d %d:%d:%d.%d", &when.tm_year, &when.tm_mon, &when.tm_mday,
                &when.tm_hour, &when.tm_min, &when.tm_sec, &micros);
    when.tm_year -= 1900;
    when.tm_mon -= 1;
    text(std::to_string(static_cast<std::int64_t>(::timegm(&when)) * 1'000'000 + micros));
  }
  std::string finish() const { return to_hex(sha256(bytes_)); }

 private:
  void absent() { bytes_ += "\xFF\xFF\xFF\xFF"; }
  std::string bytes_;
};

void add_posting(Hasher& hash, const Json& posting) {
  hash.text("posting");
  hash.number_or_absent(posting.at("line"));
  hash.text_or_absent(posting.at("entry_type"));
  hash.number_or_absent(posting.at("user_id"));
  hash.text(posting.at("escrow").as_bool() ? "escrow" : "spendable");
  hash.text_or_absent(posting.at("amount"));
  hash.number_or_absent(posting.at("hold_id"));
  hash.text_or_absent(posting.at("detail_text"));
}

void add_statistic(Hasher& hash, const Json& statistic) {
  hash.text("statistic");
  hash.number_or_absent(statistic.at("line"));
  for (const char* name : {"entry_type", "unit", "target"}) hash.text_or_absent(statistic.at(name));
  for (const char* name : {"user_id", "worker_user_id"}) hash.number_or_absent(statistic.at(name));
  for (const char* name : {"worker_id", "team_id"}) hash.uuid_or_absent(statistic.at(name));
  for (const char* name : {"amount", "stat_action", "record", "detail_text"}) hash.text_or_absent(statistic.at(name));
}

std::string recomputed_hash(const Json& event) {
  const auto& postings = event.at("postings").as_array();
  const auto& statistics = event.at("statistics").as_array();
  Hasher hash;
  hash.text("kudos-event-1");
  hash.number_or_absent(event.at("seq"));
  hash.uuid_or_absent(event.at("event_id"));
  hash.time(event.at("created"));
  hash.uuid_or_absent(event.at("job_id"));
  hash.text_or_absent(event.at("wp_type"));
  hash.hex_or_absent(event.at("request_digest"));
  hash.hex_or_absent(event.at("metadata_hash"));
  hash.text(event.at("inline").as_bool() ? "inline" : "queued");
  hash.text(std::to_string(postings.size() + statistics.size()));
  for (const auto& posting : postings) add_posting(hash, posting);
  for (const auto& statistic : statistics) add_statistic(hash, statistic);
  return hash.finish();
}

TEST_F(CliEraseTest, TheHashFollowsFromWhatIsShown) {
  create("era-hash");
  const std::string worker = create_worker("era-w", "ext:era-hash", {"--team", create_team("era-t", "ext:era-hash")});
  const std::vector<Arguments> commands = {
      {"topup", "ext:era-hash", "9", "--key", "era-1", "--metadata", R"({"a":1})"},
      {"adjust", "ext:era-hash", "-1", "--reason", "a \"quoted\" reason, ümlaut"},
      {"settle", "--requester", "ext:era-hash", "--worker", worker, "--cost", "3", "--job", worker},
  };
  for (const Arguments& arguments : commands) {
    const auto event = json({"event", "show", std::string(json(arguments).at("event_id").as_string())});
    EXPECT_EQ(recomputed_hash(event), event.at("hash").as_string());
  }
}

TEST_F(CliEraseTest, MetadataNameAndProfileGoFactsStay) {
  create("era-person");
  create("era-other");
  const auto number = std::to_string(json({"user", "show", "ext:era-person"}).at("user_id").as_int64());
  const std::string event = topup_with_metadata("ext:era-person");
  const std::string others = topup_with_metadata("ext:era-other");
  ASSERT_EQ(kudos({"award", "ext:era-person", "1"}).code, 0);  // has no metadata to lose
  ASSERT_EQ(kudos({"drain"}).code, 0);
  const auto before = json({"event", "show", event});
  const Outcome erased = kudos({"user", "erase", "ext:era-person", "--yes"});
  EXPECT_EQ(erased.code, 0) << erased.err;
  EXPECT_EQ(erased.out, "user " + number + " (ext:era-person) was erased; events that lost their metadata: 1\n");
  const auto after = json({"event", "show", event});
  EXPECT_EQ(before.at("metadata").at("invoice").as_string(), "A-17");
  EXPECT_TRUE(after.at("metadata").is_null());
  EXPECT_FALSE(after.at("metadata_hash").is_null());
  EXPECT_EQ(after.at("hash"), before.at("hash"));
  EXPECT_EQ(recomputed_hash(after), after.at("hash").as_string());
  EXPECT_EQ(kudos({"event", "show", event}).out.find("A-17"), std::string::npos);
  EXPECT_EQ(json({"event", "show", others}).at("metadata").at("invoice").as_string(), "A-17");
  EXPECT_EQ(balance(number), "13.50");
  const auto user = json({"user", "show", number});
  EXPECT_EQ(user.at("external_id").as_string(), "");
  EXPECT_EQ(user.at("deleted").as_bool(), true);
  expect_refused({"balance", "ext:era-person"}, "unknown_user");
  expect_refused({"topup", number, "1"}, "account_deleted");
  const auto again = json({"user", "erase", number, "--yes"});
  EXPECT_EQ(again.at("events_wiped").as_int64(), 0);
  EXPECT_EQ(std::to_string(again.at("user_id").as_int64()), number);
}

TEST_F(CliEraseTest, AScriptMustSayThatItMeansIt) {
  create("era-careful");
  expect_refused({"user", "erase", "ext:era-careful"}, "invalid_request");
  EXPECT_NE(kudos({"user", "erase", "ext:era-careful"}).err.find("Give --yes"), std::string::npos);
  EXPECT_EQ(json({"user", "show", "ext:era-careful"}).at("deleted").as_bool(), false);
}

TEST_F(CliEraseTest, APersonIsAsked) {
  create("era-asked");
  const Outcome no = on_terminal("user erase ext:era-asked", "no");
  EXPECT_EQ(no.code, 1);
  EXPECT_NE(no.out.find("Type yes to go on"), std::string::npos) << no.out << no.err;
  EXPECT_NE(no.out.find("nothing was erased"), std::string::npos) << no.out;
  EXPECT_EQ(json({"user", "show", "ext:era-asked"}).at("deleted").as_bool(), false);
  const Outcome yes = on_terminal("user erase ext:era-asked", "yes");
  EXPECT_EQ(yes.code, 0);
  EXPECT_NE(yes.out.find("was erased"), std::string::npos) << yes.out << yes.err;
  expect_refused({"user", "show", "ext:era-asked"}, "unknown_user");
}

TEST_F(CliEraseTest, WhoCannotBeErased) {
  expect_refused({"user", "erase", "ext:era-nobody", "--yes"}, "unknown_user");
  expect_refused({"user", "erase", "-1", "--yes"}, "system_account");
  expect_refused({"user", "erase", "era", "--yes"}, "invalid_request");
}

}  // namespace
}  // namespace kudos::testing
