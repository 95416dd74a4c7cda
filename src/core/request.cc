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
  Writer& field(std::string_view name, bool value) { return field(name, value ? "true" : "false"); }
  Writer& field(std::string_view name, const std::optional<std::chrono::seconds>& time) {
    return field(name, time ? std::to_string(time->count()) : std::string());
  }
  Writer& field(std::string_view name, const std::optional<Amount>& amount) {
    return field(name, amount ? amount->to_string() : std::string());
  }
  Writer& field(std::string_view name, const std::optional<UserRef>& user) {
    return user ? field(name, *user) : field(name, std::string());
  }
  // Only when it is there: the field is younger than the form.
  Writer& added(std::string_view name, std::string_view value) { return value.empty() ? *this : field(name, value); }
  Writer& field(std::string_view name, const char* value) { return field(name, std::string_view(value)); }
  Writer& field(std::string_view name, const std::string& value) { return field(name, std::string_view(value)); }
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
  out.field("payer", charge.payer)
      .field("amount", charge.amount)
      .field("payee", charge.payee)
      .field("reason", charge.reason)
      .added("hold", charge.hold)
      .added("check", charge.check ? "true" : "");
}
void write(Writer& out, const UptimeReward& uptime) {
  out.field("worker", uptime.worker).field("amount", uptime.amount).field("bypass", uptime.bypass_evaluation);
}
void write(Writer& out, const InterrogationSettlement& job) {
  out.field("requester", job.requester)
      .field("worker", job.worker)
      .field("cost", job.cost)
      .field("reward", job.reward.value_or(job.cost))
      .field("things", job.things)
      .field("form", job.form)
      .field("cancelled", job.cancelled);
}
void write(Writer& out, const Settlement& job) {
  out.field("requester", job.requester)
      .field("worker", job.worker)
      .field("cost", job.cost)
      .field("reward", job.reward.value_or(job.cost))
      .field("things", job.things)
      .field("job", job.job_id)
      .field("type", job.wp_type)
      .field("outcome", outcome_name(job.outcome))
      .added("hold", job.hold);
}
void write(Writer& out, const ActivationTax& tax) {
  out.field("requester", tax.requester).field("tax", tax.tax).field("prompt", tax.prompt).field("type", tax.wp_type);
}

void write(Writer& out, const Transfer& transfer) {
  out.field("payer", transfer.payer).field("recipient", transfer.recipient).field("amount", transfer.amount);
}
void write(Writer& out, const Reserve& reserve) {
  out.field("payer", reserve.payer)
      .field("amount", reserve.amount)
      .field("hold", reserve.hold)
      .field("lifetime", reserve.lifetime);
}
void write(Writer& out, const Extend& extend) {
  out.field("hold", extend.hold).field("amount", extend.amount).field("lifetime", extend.lifetime);
}
void write(Writer& out, const Release& release) { out.field("hold", release.hold); }
void write(Writer& out, const Capture& capture) {
  out.field("hold", capture.hold)
      .field("amount", capture.amount)
      .field("final", capture.final)
      .field("over", capture.over)
      .field("late", capture.late)
      .field("payee", capture.payee)
      .field("reason", capture.reason);
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
