#include "core/mend.h"

#include <charconv>

#include "base/check.h"
#include "core/classify.h"
#include "core/validate.h"

namespace kudos {
namespace {

// The name space of repairs' ids, a random constant.
constexpr Uuid kNamespace{
    {0x3b, 0x8e, 0x61, 0xd4, 0x0a, 0x5f, 0x4c, 0x27, 0xb1, 0x9c, 0xe8, 0x12, 0x74, 0x6d, 0xa3, 0xf0}};
constexpr std::string_view kActiveAt = R"("active_at": )";

// As PostgreSQL writes jsonb: shorter keys first.
std::string detail_for(const Event& set_aside, const StatPosting& statistic) {
  std::string detail = R"({"reason": "quarantine", "event_id": ")" + set_aside.id.to_string() + '"';
  if (touches_last_active(statistic)) {
    detail += ", " + std::string(kActiveAt) + std::to_string(activity_time(set_aside, statistic).micros);
    if (statistic.target != Target::user_activity) detail += R"(, "touch_last_active": true)";
  }
  return detail + "}";
}

std::optional<QuarantineReason> why_not(const StatPosting& statistic, const std::set<UserId>& users) {
  const auto target = classify(statistic);
  if (!target) return target.error();
  if (statistic.target && *statistic.target != *target) return QuarantineReason::unknown_projection;
  if (statistic.user && !users.contains(*statistic.user)) return QuarantineReason::missing_user;
  return std::nullopt;
}

StatPosting mended(const Event& set_aside, StatPosting statistic) {
  statistic.target = *classify(statistic);
  statistic.detail = detail_for(set_aside, statistic);
  statistic.entry_type = EntryType::reconciliation;
  KUDOS_CHECK(!find_defect(statistic));
  return statistic;
}

}  // namespace

Mending mend(const Event& set_aside, const std::set<UserId>& users) {
  Mending mending;
  Event& event = mending.event;
  event.id = repair_id(set_aside.id);
  event.job_id = set_aside.job_id;
  // A foreign writer's may be one that emission refuses.
  if (validate_wp_type(set_aside.wp_type)) event.wp_type = set_aside.wp_type;
  for (const StatPosting& statistic : set_aside.statistics) {
    if (const auto reason = why_not(statistic, users)) {
      mending.left_out.push_back({statistic.line, *reason});
    } else {
      mending.kept.push_back(statistic.line);
      event.statistics.push_back(mended(set_aside, statistic));
    }
  }
  number_lines(event);
  return mending;
}

Uuid repair_id(const Uuid& set_aside) { return Uuid::v5(kNamespace, set_aside.to_string()); }

Timestamp activity_time(const Event& event, const StatPosting& statistic) {
  if (statistic.entry_type != EntryType::reconciliation) return event.created;
  const auto found = statistic.detail.find(kActiveAt);
  if (found == std::string::npos) return event.created;
  Timestamp at;
  const char* begin = statistic.detail.data() + found + kActiveAt.size();
  std::from_chars(begin, statistic.detail.data() + statistic.detail.size(), at.micros);
  return at;
}

}  // namespace kudos
