#include "kudos/commands.h"

#include <charconv>

#include "base/try.h"
#include "core/validate.h"

namespace kudos {
namespace {

constexpr std::size_t kMaxExternalId = 200;

struct KindOf {
  std::string_view operator()(const TopUp&) const { return "topup"; }
  std::string_view operator()(const Award&) const { return "award"; }
  std::string_view operator()(const Opening&) const { return "opening"; }
  std::string_view operator()(const AdminAdjustment&) const { return "adjust"; }
  std::string_view operator()(const StyleReward&) const { return "style"; }
  std::string_view operator()(const Charge&) const { return "charge"; }
  std::string_view operator()(const UptimeReward&) const { return "uptime"; }
  std::string_view operator()(const InterrogationSettlement&) const { return "interrogation"; }
  std::string_view operator()(const Settlement&) const { return "settle"; }
  std::string_view operator()(const ActivationTax&) const { return "tax"; }
  std::string_view operator()(const Transfer&) const { return "transfer"; }
  std::string_view operator()(const Reserve&) const { return "reserve"; }
  std::string_view operator()(const Extend&) const { return "extend"; }
  std::string_view operator()(const Release&) const { return "release"; }
  std::string_view operator()(const Capture&) const { return "capture"; }
};

}  // namespace

Result<UserRef> UserRef::parse(std::string_view text) {
  constexpr std::string_view kPrefix = "ext:";
  if (text.starts_with(kPrefix)) {
    const auto name = text.substr(kPrefix.size());
    KUDOS_TRY(validate_name(name, "the external id", kMaxExternalId));
    return external(std::string(name));
  }
  std::int32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(ErrorCode::invalid_request, "'" + std::string(text.substr(0, 40)) + "' doesn't name a user",
                "Give the user's number, or ext:NAME for an external id.");
  return number({id});
}

std::string UserRef::to_string() const { return id ? std::to_string(id->value) : "ext:" + external_id; }

std::string_view command_kind(const Command& command) { return std::visit(KindOf(), command); }

const EventOptions& command_options(const Command& command) {
  return std::visit([](const auto& each) -> const EventOptions& { return each.options; }, command);
}

}  // namespace kudos
