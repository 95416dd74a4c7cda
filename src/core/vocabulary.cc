#include "core/vocabulary.h"

#include <algorithm>
#include <array>

namespace kudos {
namespace {

using namespace std::string_view_literals;

// In the order of the enumerations.
constexpr std::array kEntryTypes = {"GENERATION"sv,
                                    "UPTIME_REWARD"sv,
                                    "EVALUATION_PROMOTION"sv,
                                    "TRANSFER"sv,
                                    "ADMIN_ADJUSTMENT"sv,
                                    "AWARD"sv,
                                    "STYLE_REWARD"sv,
                                    "STAT_RECORD"sv,
                                    "STAT_CONTRIBUTION"sv,
                                    "STAT_ACTIVITY"sv,
                                    "FLOOR_ADJUSTMENT"sv,
                                    "RECONCILIATION"sv,
                                    "CHARGE"sv,
                                    "TOPUP"sv,
                                    "OPENING"sv,
                                    "REVERSAL"sv};
constexpr std::array kUnits = {"kudos"sv, "things"sv, "count"sv};
constexpr std::array kTargets = {"user_stat"sv,   "user_record"sv,          "user_activity"sv,
                                 "worker_stat"sv, "worker_contributions"sv, "worker_fulfilments"sv};
constexpr std::array kQuarantineReasons = {
    "missing_user"sv,          "stat_action_too_long"sv, "record_too_long"sv,          "invalid_user_kudos"sv,
    "invalid_worker_kudos"sv,  "invalid_stat_record"sv,  "invalid_stat_record_unit"sv, "invalid_stat_contribution"sv,
    "invalid_stat_activity"sv, "unknown_projection"sv};
constexpr std::array kShortfalls = {"forgive"sv, "debt"sv, "unlimited"sv};

static_assert(kEntryTypes.size() == static_cast<std::size_t>(EntryType::reversal) + 1);
static_assert(kUnits.size() == static_cast<std::size_t>(Unit::count) + 1);
static_assert(kTargets.size() == static_cast<std::size_t>(Target::worker_fulfilments) + 1);
static_assert(kQuarantineReasons.size() == static_cast<std::size_t>(QuarantineReason::unknown_projection) + 1);
static_assert(kShortfalls.size() == static_cast<std::size_t>(Shortfall::unlimited) + 1);

template <class Enum, std::size_t N>
std::optional<Enum> find_label(const std::array<std::string_view, N>& labels, std::string_view text) {
  const auto found = std::ranges::find(labels, text);
  if (found == labels.end()) return std::nullopt;
  return static_cast<Enum>(found - labels.begin());
}

}  // namespace

std::string_view label(EntryType value) { return kEntryTypes[static_cast<std::size_t>(value)]; }
std::string_view label(Unit value) { return kUnits[static_cast<std::size_t>(value)]; }
std::string_view label(Target value) { return kTargets[static_cast<std::size_t>(value)]; }
std::string_view label(QuarantineReason value) { return kQuarantineReasons[static_cast<std::size_t>(value)]; }
std::string_view label(Shortfall value) { return kShortfalls[static_cast<std::size_t>(value)]; }

template <>
std::optional<EntryType> from_label(std::string_view text) {
  return find_label<EntryType>(kEntryTypes, text);
}
template <>
std::optional<Unit> from_label(std::string_view text) {
  return find_label<Unit>(kUnits, text);
}
template <>
std::optional<Target> from_label(std::string_view text) {
  return find_label<Target>(kTargets, text);
}
template <>
std::optional<QuarantineReason> from_label(std::string_view text) {
  return find_label<QuarantineReason>(kQuarantineReasons, text);
}
template <>
std::optional<Shortfall> from_label(std::string_view text) {
  return find_label<Shortfall>(kShortfalls, text);
}

}  // namespace kudos
