#include "core/classify.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace kudos {
namespace {

using namespace std::string_view_literals;

struct RecordType {
  std::string_view name;
  Unit unit;
};
constexpr std::array kRecordTypes = {
    RecordType{"CONTRIBUTION", Unit::things}, RecordType{"USAGE", Unit::things}, RecordType{"FULFILLMENT", Unit::count},
    RecordType{"REQUEST", Unit::count},       RecordType{"STYLE", Unit::count},
};

std::expected<Target, QuarantineReason> classify_record(const StatPosting& statistic) {
  const auto unit = record_unit(statistic.stat_action);
  if (!statistic.user || !unit || statistic.record.empty())
    return std::unexpected(QuarantineReason::invalid_stat_record);
  if (statistic.unit != *unit) return std::unexpected(QuarantineReason::invalid_stat_record_unit);
  return Target::user_record;
}

std::expected<Target, QuarantineReason> classify_contribution(const StatPosting& statistic) {
  if (statistic.worker && statistic.record == "contributions" && statistic.unit == Unit::things)
    return Target::worker_contributions;
  if (statistic.worker && statistic.record == "fulfilments" && statistic.unit == Unit::count)
    return Target::worker_fulfilments;
  return std::unexpected(QuarantineReason::invalid_stat_contribution);
}

std::expected<Target, QuarantineReason> classify_activity(const StatPosting& statistic) {
  if (statistic.user && statistic.record == "user_activity") return Target::user_activity;
  return std::unexpected(QuarantineReason::invalid_stat_activity);
}

std::expected<Target, QuarantineReason> classify_kudos(const StatPosting& statistic) {
  const bool counted = statistic.unit == Unit::kudos && !statistic.stat_action.empty();
  if (statistic.record == "user_kudos") {
    if (statistic.user && counted) return Target::user_stat;
    return std::unexpected(QuarantineReason::invalid_user_kudos);
  }
  if (statistic.record == "worker_kudos") {
    if (statistic.worker && counted) return Target::worker_stat;
    return std::unexpected(QuarantineReason::invalid_worker_kudos);
  }
  return std::unexpected(QuarantineReason::unknown_projection);
}

// The entry type doesn't say which counter is repaired.
std::expected<Target, QuarantineReason> classify_repair(const StatPosting& statistic) {
  if (!statistic.target) return classify_kudos(statistic);
  switch (*statistic.target) {
    case Target::user_record:
      return classify_record(statistic);
    case Target::user_activity:
      return classify_activity(statistic);
    case Target::worker_contributions:
    case Target::worker_fulfilments:
      return classify_contribution(statistic);
    case Target::user_stat:
    case Target::worker_stat:
      break;
  }
  return classify_kudos(statistic);
}

}  // namespace

bool touches_last_active(const StatPosting& statistic) {
  // PostgreSQL writes jsonb in one way only.
  return statistic.target == Target::user_activity ||
         statistic.detail.find(R"("touch_last_active": true)") != std::string::npos;
}

std::optional<Unit> record_unit(std::string_view record_type) {
  const auto found = std::ranges::find(kRecordTypes, record_type, &RecordType::name);
  if (found == kRecordTypes.end()) return std::nullopt;
  return found->unit;
}

std::expected<Target, QuarantineReason> classify(const StatPosting& statistic) {
  if (utf8_characters(statistic.stat_action) > kMaxStatAction)
    return std::unexpected(QuarantineReason::stat_action_too_long);
  if (utf8_characters(statistic.record) > kMaxRecord) return std::unexpected(QuarantineReason::record_too_long);
  switch (statistic.entry_type) {
    case EntryType::stat_record:
      return classify_record(statistic);
    case EntryType::stat_contribution:
      return classify_contribution(statistic);
    case EntryType::stat_activity:
      return classify_activity(statistic);
    case EntryType::reconciliation:
      return classify_repair(statistic);
    default:
      return classify_kudos(statistic);
  }
}

std::optional<QuarantineReason> find_defect(const StatPosting& statistic) {
  const auto target = classify(statistic);
  if (!target) return target.error();
  if (statistic.target != *target) return QuarantineReason::unknown_projection;
  return std::nullopt;
}

}  // namespace kudos
