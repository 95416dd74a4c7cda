// Random events, some of them spoilt by statistics that can never fold, and a second account of what the good ones do:
// written line by line as they are made, without the fold.
#pragma once

#include <rapidcheck.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/event_builder.h"

namespace kudos::testing {

inline constexpr int kUsers = 4, kProducers = 2;
inline constexpr UserId kMissingUser{900};
inline Uuid worker_id(int i) { return Uuid::v5({}, "spoilt worker" + std::to_string(i)); }
inline Uuid team_id(int i) { return Uuid::v5({}, "spoilt team" + std::to_string(i)); }
// The last of each doesn't exist.
inline bool exists(int producer) { return producer < kProducers; }

// Sums by name, e.g. "user/1/kudos", "record/2/REQUEST/image", "team/…/fulfilments"; zeros don't count.
using Sums = std::map<std::string, Total>;
inline void drop_zeros(Sums& sums) {
  std::erase_if(sums, [](const auto& entry) { return entry.second.is_zero(); });
}

struct Case {
  Event event;                             // without sequence number
  std::optional<QuarantineReason> reason;  // nothing: its statistics fold
  Sums currency;
  Sums counters;
};

class CaseMaker {
 public:
  Case make() {
    add_currency();
    std::vector<StatPosting> lines;
    const int good = *rc::gen::inRange(0, 5);
    for (int i = 0; i < good; ++i) lines.push_back(good_line());
    if (*rc::gen::inRange(0, 3) == 0) spoil(lines);
    case_.event.statistics = std::move(lines);
    if (case_.event.posting_count() == 0) case_.event.statistics.push_back(good_line());
    number_lines(case_.event);
    if (case_.reason) case_.counters.clear();
    drop_zeros(case_.counters);
    drop_zeros(case_.currency);
    return std::move(case_);
  }

 private:
  static UserId any_user() { return {*rc::gen::inRange(1, kUsers + 1)}; }
  static Amount any_amount() { return Amount::from_hundredths(*rc::gen::inRange(-90000, 90000)); }
  static std::string name(const char* what, UserId user) { return what + std::to_string(user.value) + "/"; }

  void add_currency() {
    EventBuilder builder;
    const int postings = *rc::gen::inRange(0, 4);
    for (int i = 0; i < postings; ++i) {
      const UserId user = any_user();
      const Amount amount = any_amount();
      const bool escrow = *rc::gen::inRange(0, 4) == 0;
      escrow ? builder.escrow(EntryType::generation, user, amount) : builder.spendable(EntryType::charge, user, amount);
      case_.currency[name("user/", user) + (escrow ? "escrow" : "kudos")] += amount;
    }
    builder.balance(EntryType::charge);
    case_.event = std::move(builder).take();
  }

  StatPosting line(EntryType type, Unit unit, Target target, std::string action, std::string record) {
    StatPosting made;
    made.entry_type = type;
    made.unit = unit;
    made.target = target;
    made.stat_action = std::move(action);
    made.record = std::move(record);
    made.amount = any_amount();
    return made;
  }

  StatPosting good_line() { return *rc::gen::arbitrary<bool>() ? user_line() : worker_line(); }

  StatPosting user_line() {
    const UserId user = any_user();
    StatPosting made;
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        made = line(EntryType::award, Unit::kudos, Target::user_stat, "awarded", "user_kudos");
        case_.counters[name("stat/", user) + "awarded"] += made.amount;
        break;
      case 1:
        made = line(EntryType::stat_record, Unit::count, Target::user_record, "REQUEST", "image");
        case_.counters[name("record/", user) + "REQUEST/image"] += made.amount;
        break;
      default:
        made = line(EntryType::stat_activity, Unit::count, Target::user_activity, "activity", "user_activity");
    }
    made.user = user;
    return made;
  }

  StatPosting worker_line() {
    const int worker = *rc::gen::inRange(0, kProducers + 1), team = *rc::gen::inRange(-1, kProducers + 1);
    StatPosting made;
    const char* counter = "kudos";
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        made = line(EntryType::generation, Unit::kudos, Target::worker_stat, "generated", "worker_kudos");
        if (exists(worker))
          case_.counters["worker_stat/" + worker_id(worker).to_string() + "/generated"] += made.amount;
        break;
      case 1:
        made = line(EntryType::stat_contribution, Unit::things, Target::worker_contributions, "x",
                    counter = "contributions");
        break;
      default:
        made =
            line(EntryType::stat_contribution, Unit::count, Target::worker_fulfilments, "x", counter = "fulfilments");
    }
    made.worker = worker_id(worker);
    if (exists(worker)) case_.counters["worker/" + made.worker->to_string() + "/" + counter] += made.amount;
    if (team < 0) return made;
    made.team = team_id(team);
    if (exists(team)) case_.counters["team/" + made.team->to_string() + "/" + counter] += made.amount;
    return made;
  }

  // One or two bad lines anywhere; the first one gives the reason.
  void spoil(std::vector<StatPosting>& lines) {
    const auto at = *rc::gen::inRange<std::size_t>(0, lines.size() + 1);
    const auto reason = static_cast<QuarantineReason>(*rc::gen::inRange(0, 10));
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), bad_line(reason));
    if (*rc::gen::arbitrary<bool>()) lines.push_back(bad_line(static_cast<QuarantineReason>(*rc::gen::inRange(0, 10))));
    case_.reason = reason;
  }

  StatPosting bad_line(QuarantineReason reason) {
    StatPosting bad = line(EntryType::award, Unit::kudos, Target::user_stat, "awarded", "user_kudos");
    bad.user = any_user();
    switch (reason) {
      case QuarantineReason::missing_user:
        bad.user = kMissingUser;
        break;
      case QuarantineReason::stat_action_too_long:
        bad.stat_action = std::string(21, 'a');
        break;
      case QuarantineReason::record_too_long:
        bad.record = std::string(31, 'r');
        break;
      case QuarantineReason::invalid_user_kudos:
        bad.unit = Unit::things;
        break;
      case QuarantineReason::invalid_worker_kudos:
        bad.record = "worker_kudos";
        break;
      case QuarantineReason::invalid_stat_record:
        bad.entry_type = EntryType::stat_record;
        break;
      case QuarantineReason::invalid_stat_record_unit:
        bad.entry_type = EntryType::stat_record;
        bad.stat_action = "STYLE";
        break;
      case QuarantineReason::invalid_stat_contribution:
        bad.entry_type = EntryType::stat_contribution;
        break;
      case QuarantineReason::invalid_stat_activity:
        bad.entry_type = EntryType::stat_activity;
        break;
      case QuarantineReason::unknown_projection:
        *rc::gen::arbitrary<bool>() ? bad.target.reset() : void(bad.record = "nonsense");
        break;
    }
    return bad;
  }

  Case case_;
};

inline std::vector<Case> any_cases(int most) {
  std::vector<Case> cases;
  const int count = *rc::gen::inRange(1, most);
  for (int i = 0; i < count; ++i) cases.push_back(CaseMaker().make());
  return cases;
}

inline void add(Sums& sums, const Sums& more) {
  for (const auto& [key, value] : more) sums[key] += value;
}

// What all of them do together.
inline Sums expected_sums(const std::vector<Case>& cases) {
  Sums sums;
  for (const Case& each : cases) {
    add(sums, each.currency);
    add(sums, each.counters);
  }
  drop_zeros(sums);
  return sums;
}

}  // namespace kudos::testing
