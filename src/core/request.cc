#include "core/request.h"

#include "base/check.h"

namespace kudos {
namespace {

class Writer {
 public:
  Writer(std::string_view kind, const Directory& directory) : directory_(directory) {
    text_ = "kudos-request-1\n" + std::string(kind) + "\n";
  }
  Writer& field(std::string_view name, std::string_view value) {
    text_ += std::string(name) + "=" + std::string(value) + "\n";
    return *this;
  }
  Writer& field(std::string_view name, const UserRef& user) {
    const auto found = directory_.users.find(user);
    KUDOS_CHECK(found != directory_.users.end());
    return field(name, std::to_string(found->second.id.value));
  }
  Writer& field(std::string_view name, Amount amount) { return field(name, amount.to_string()); }
  Writer& field(std::string_view name, const Uuid& id) { return field(name, id.to_string()); }
  Writer& field(std::string_view name, const std::optional<Uuid>& id) {
    return field(name, id ? id->to_string() : std::string());
  }
  std::string take() { return std::move(text_); }

 private:
  const Directory& directory_;
  std::string text_;
};

std::string_view outcome_name(JobOutcome outcome) {
  switch (outcome) {
    case JobOutcome::completed:
      return "completed";
    case JobOutcome::cancelled:
      return "cancelled";
    case JobOutcome::censored:
      return "censored";
    case JobOutcome::fake:
      return "fake";
  }
  return {};
}

void write(Writer& out, const TopUp& topup) { out.field("user", topup.user).field("amount", topup.amount); }
void write(Writer& out, const Award& award) {
  out.field("user", award.user).field("amount", award.amount).field("reason", award.reason);
}
void write(Writer& out, const Opening& opening) { out.field("user", opening.user).field("amount", opening.amount); }
void write(Writer& out, const AdminAdjustment& adjustment) {
  out.field("user", adjustment.user).field("amount", adjustment.amount).field("reason", adjustment.reason);
}
void write(Writer& out, const StyleReward& style) {
  out.field("user", style.user).field("amount", style.amount).field("type", style.wp_type);
}
void write(Writer& out, const Charge& charge) {
  out.field("payer", charge.payer).field("amount", charge.amount);
  if (charge.payee)
    out.field("payee", *charge.payee);
  else
    out.field("payee", "");
  out.field("reason", charge.reason);
}
void write(Writer& out, const UptimeReward& uptime) {
  out.field("worker", uptime.worker)
      .field("amount", uptime.amount)
      .field("bypass", uptime.bypass_evaluation ? "true" : "false");
}
void write(Writer& out, const InterrogationSettlement& job) {
  out.field("requester", job.requester)
      .field("worker", job.worker)
      .field("cost", job.cost)
      .field("reward", job.reward.value_or(job.cost))
      .field("things", job.things)
      .field("form", job.form)
      .field("cancelled", job.cancelled ? "true" : "false");
}
void write(Writer& out, const Settlement& job) {
  out.field("requester", job.requester)
      .field("worker", job.worker)
      .field("cost", job.cost)
      .field("reward", job.reward.value_or(job.cost))
      .field("things", job.things)
      .field("job", job.job_id)
      .field("type", job.wp_type)
      .field("outcome", outcome_name(job.outcome));
}
void write(Writer& out, const ActivationTax& tax) {
  out.field("requester", tax.requester).field("tax", tax.tax).field("prompt", tax.prompt).field("type", tax.wp_type);
}

}  // namespace

std::string canonical_request(const Command& command, const Directory& directory) {
  Writer out(command_kind(command), directory);
  std::visit([&](const auto& each) { write(out, each); }, command);
  return out.take();
}

Digest request_digest(const Command& command, const Directory& directory) {
  return sha256(canonical_request(command, directory));
}

}  // namespace kudos
