#include "core/produce.h"

#include <array>
#include <boost/json.hpp>

#include "base/check.h"
#include "base/try.h"
#include "core/event_builder.h"
#include "core/validate.h"

namespace kudos {
namespace {

// The name space of event ids made from idempotency keys, a random constant.
constexpr Uuid kKeyNamespace{
    {0xc4, 0x3b, 0x70, 0x19, 0xe5, 0x6d, 0x4f, 0x02, 0x8f, 0x5a, 0x2c, 0x91, 0xd7, 0x48, 0x0b, 0xa6}};

struct Divisor {
  std::string_view wp_type;
  std::int64_t units_per_thing;
};
constexpr std::array kDivisors = {Divisor{"image", 1'000'000}, Divisor{"text", 1}, Divisor{"interrogation", 1}};

// For credits at somebody's wish; a job that was under way is settled even for a deleted account.
Result<const UserFacts*> find_living_user(const Directory& directory, const UserRef& user) {
  KUDOS_ASSIGN(const UserFacts* facts, find_user(directory, user));
  if (facts->deleted) return fail(ErrorCode::account_deleted, "user " + user.to_string() + " is deleted");
  return facts;
}

Result<const WorkerFacts*> find_worker(const Directory& directory, const Uuid& id) {
  const auto found = directory.workers.find(id);
  if (found == directory.workers.end()) return fail(ErrorCode::unknown_worker, "there is no worker " + id.to_string());
  return &found->second;
}

Status require_change(Amount amount) {
  if (!amount.is_zero()) return {};
  return fail(ErrorCode::invalid_amount, "the amount is 0, which changes nothing");
}

Status require_not_negative(Amount amount, std::string_view what) {
  if (!amount.is_negative()) return {};
  return fail(ErrorCode::amount_not_positive,
              std::string(what) + " is " + amount.to_string() + "; it can't be negative");
}

// {"reason": …} as PostgreSQL writes jsonb; empty for no reason.
std::string reason_detail(const std::string& reason) {
  if (reason.empty()) return {};
  return R"({"reason": )" + boost::json::serialize(boost::json::string(reason)) + "}";
}

// One user against treasury or sink, paired with the user's statistic.
struct Change {
  EntryType type;
  std::string_view action;
  std::string reason = {};
};

Result<EventBuilder> change_of(const Directory& directory, const UserRef& user, Amount amount, const Change& change) {
  KUDOS_TRY(validate_reason(change.reason));
  KUDOS_ASSIGN(const UserFacts* facts, find_living_user(directory, user));
  EventBuilder event;
  event.spendable(change.type, facts->id, amount, reason_detail(change.reason));
  event.balance(change.type);
  event.user_stat(change.type, facts->id, change.action, amount);
  return event;
}

Result<Event> credit(const Directory& directory, const UserRef& user, Amount amount, const Change& change) {
  KUDOS_TRY(require_positive(amount, "the amount"));
  KUDOS_ASSIGN(auto event, change_of(directory, user, amount, change));
  return std::move(event).take();
}

// Text and interrogation workers work for no team (docs/decisions/0003).
bool works_for_team(std::string_view worker_type) { return worker_type != "text" && worker_type != "interrogation"; }

// The reward as currency; returns its spendable part.
Amount pay_owner(EventBuilder& event, const UserFacts& owner, Amount reward) {
  if (owner.earns_spendable()) {
    event.spendable(EntryType::generation, owner.id, reward);
    return reward;
  }
  const Amount escrow = *reward.scaled(1, 2);
  const Amount spendable = *(Total(reward) - escrow).to_amount();
  event.spendable(EntryType::generation, owner.id, spendable);
  event.escrow(EntryType::generation, owner.id, escrow);
  return spendable;
}

void count_production(EventBuilder& event, const Uuid& id, const WorkerFacts& worker, Amount reward, Amount spendable,
                      Amount things, std::string_view wp_type) {
  const UserId owner = worker.owner.id;
  event.user_stat(EntryType::generation, owner, "accumulated", spendable);
  event.user_record(owner, "FULFILLMENT", wp_type, Amount::whole(1));
  event.user_record(owner, "CONTRIBUTION", wp_type, things);
  event.activity(owner);
  const auto team = works_for_team(worker.type) ? worker.team : std::nullopt;
  event.worker(id, owner, team);
  event.worker_stat(EntryType::generation, "generated", reward);
  event.worker_contributions(things);
  event.worker_fulfilments(Amount::whole(1));
}

Status count_consumption(EventBuilder& event, const UserFacts& requester, Amount cost, Amount things,
                         std::string_view wp_type) {
  KUDOS_ASSIGN(const Amount usage, things.scaled(requester.usage_multiplier, 10'000));
  event.user_stat(EntryType::generation, requester.id, "accumulated", -cost);
  event.user_record(requester.id, "REQUEST", wp_type, Amount::whole(1));
  event.user_record(requester.id, "USAGE", wp_type, usage);
  event.activity(requester.id);
  return {};
}

Result<Event> settlement(const Settlement& job, const Directory& directory) {
  const Amount reward = job.reward.value_or(job.cost);
  KUDOS_TRY(require_not_negative(job.cost, "the cost"));
  KUDOS_TRY(require_not_negative(reward, "the reward"));
  KUDOS_TRY(require_not_negative(job.things, "the number of things"));
  KUDOS_ASSIGN(const UserFacts* requester, find_user(directory, job.requester));
  KUDOS_ASSIGN(const WorkerFacts* worker, find_worker(directory, job.worker));
  const std::string& wp_type = job.wp_type.empty() ? worker->type : job.wp_type;
  KUDOS_ASSIGN(const Amount things, things_of(job.things, wp_type));
  const Amount cost = job.outcome == JobOutcome::censored ? Amount() : job.cost;
  EventBuilder event;
  event.job(job.job_id, wp_type);
  event.spendable(EntryType::generation, requester->id, -cost);
  const Amount spendable = pay_owner(event, worker->owner, reward);
  event.balance(EntryType::generation);
  count_production(event, job.worker, *worker, reward, spendable, things, wp_type);
  KUDOS_TRY(count_consumption(event, *requester, cost, things, wp_type));
  return std::move(event).take();
}

Result<Event> build(const TopUp& topup, const Directory& directory) {
  return credit(directory, topup.user, topup.amount, {EntryType::topup, "topped_up"});
}

Result<Event> build(const Award& award, const Directory& directory) {
  return credit(directory, award.user, award.amount, {EntryType::award, "awarded", award.reason});
}

Result<Event> build(const Opening& opening, const Directory& directory) {
  KUDOS_TRY(require_change(opening.amount));
  KUDOS_ASSIGN(const UserFacts* facts, find_living_user(directory, opening.user));
  if (opening.amount.is_negative() && !facts->may_owe)
    return fail(ErrorCode::amount_not_positive,
                "the opening of user " + opening.user.to_string() + " is " + opening.amount.to_string() +
                    "; its class can't owe",
                "Only a class whose shortfall is debt (postpaid) may open below 0.");
  KUDOS_ASSIGN(auto event, change_of(directory, opening.user, opening.amount, {EntryType::opening, "opening"}));
  return std::move(event).take();
}

Result<Event> build(const AdminAdjustment& adjustment, const Directory& directory) {
  KUDOS_TRY(require_change(adjustment.amount));
  KUDOS_ASSIGN(auto event, change_of(directory, adjustment.user, adjustment.amount,
                                     {EntryType::admin_adjustment, "admin", adjustment.reason}));
  return std::move(event).take();
}

Result<Event> build(const StyleReward& style, const Directory& directory) {
  KUDOS_TRY(require_positive(style.amount, "the amount"));
  const std::string wp_type = style.wp_type.empty() ? "image" : style.wp_type;
  KUDOS_ASSIGN(auto event, change_of(directory, style.user, style.amount, {EntryType::style_reward, "styled"}));
  event.job({}, wp_type);
  event.user_record((*find_user(directory, style.user))->id, "STYLE", wp_type, Amount::whole(1));
  return std::move(event).take();
}

Result<Event> build(const Charge& charge, const Directory& directory) {
  KUDOS_TRY(require_positive(charge.amount, "the amount"));
  KUDOS_TRY(validate_reason(charge.reason));
  KUDOS_ASSIGN(const UserFacts* payer, find_user(directory, charge.payer));
  const UserFacts* payee = nullptr;
  if (charge.payee) {
    KUDOS_ASSIGN(payee, find_user(directory, *charge.payee));
    if (payee->id == payer->id) return fail(ErrorCode::invalid_request, "payer and payee are the same user");
    KUDOS_TRY(find_living_user(directory, *charge.payee));
  }
  EventBuilder event;
  event.spendable(EntryType::charge, payer->id, -charge.amount, reason_detail(charge.reason));
  if (payee != nullptr) event.spendable(EntryType::charge, payee->id, charge.amount);
  event.balance(EntryType::charge);
  event.user_stat(EntryType::charge, payer->id, "charged", -charge.amount);
  if (payee != nullptr) event.user_stat(EntryType::charge, payee->id, "received", charge.amount);
  return std::move(event).take();
}

Result<Event> build(const UptimeReward& uptime, const Directory& directory) {
  KUDOS_TRY(require_positive(uptime.amount, "the amount"));
  KUDOS_ASSIGN(const WorkerFacts* worker, find_worker(directory, uptime.worker));
  const UserFacts& owner = worker->owner;
  const bool spendable = owner.earns_spendable() || uptime.bypass_evaluation;
  EventBuilder event;
  event.job({}, worker->type);
  if (spendable)
    event.spendable(EntryType::uptime_reward, owner.id, uptime.amount);
  else
    event.escrow(EntryType::uptime_reward, owner.id, uptime.amount);
  event.balance(EntryType::uptime_reward);
  event.worker(uptime.worker, owner.id, {});
  event.worker_stat(EntryType::uptime_reward, "uptime", uptime.amount);
  if (spendable) event.user_stat(EntryType::uptime_reward, owner.id, "accumulated", uptime.amount);
  event.activity(owner.id);
  return std::move(event).take();
}

Result<Event> build(const InterrogationSettlement& job, const Directory& directory) {
  Settlement same;
  same.requester = job.requester;
  same.worker = job.worker;
  same.cost = job.cost;
  same.reward = job.reward;
  same.things = job.things;
  same.job_id = job.form;
  same.wp_type = "interrogation";
  same.outcome = job.cancelled ? JobOutcome::cancelled : JobOutcome::completed;
  return settlement(same, directory);
}

Result<Event> build(const Settlement& job, const Directory& directory) { return settlement(job, directory); }

Result<Event> build(const ActivationTax& tax, const Directory& directory) {
  KUDOS_TRY(require_positive(tax.tax, "the tax"));
  KUDOS_ASSIGN(const UserFacts* requester, find_user(directory, tax.requester));
  const std::string wp_type = tax.wp_type.empty() ? "image" : tax.wp_type;
  EventBuilder event;
  event.job(tax.prompt, wp_type);
  event.spendable(EntryType::generation, requester->id, -tax.tax);
  event.balance(EntryType::generation);
  event.user_stat(EntryType::generation, requester->id, "accumulated", -tax.tax);
  event.user_record(requester->id, "REQUEST", wp_type, Amount::whole(1));
  event.user_record(requester->id, "USAGE", wp_type, Amount());
  if (!requester->is_anonymous()) event.activity(requester->id);
  return std::move(event).take();
}

Result<Event> build(const Transfer& transfer, const Directory& directory) {
  return transfer_event(transfer, directory);
}

// Commands on holds: they don't come here.
template <class Command>
Result<Event> build(const Command&, const Directory&) {
  KUDOS_CHECK(false);
}

struct AccountVisitor {
  const std::function<void(const UserRef&)>& user;
  const std::function<void(const Uuid&)>& worker;

  template <class Command>
  void operator()(const Command& command) const {
    if constexpr (requires { command.user; }) user(command.user);
    if constexpr (requires { command.requester; }) user(command.requester);
    if constexpr (requires { command.payer; }) user(command.payer);
    if constexpr (requires { command.payee; }) {
      if (command.payee) user(*command.payee);
    }
    if constexpr (requires { command.recipient; }) user(command.recipient);
    if constexpr (requires { command.worker; }) worker(command.worker);
  }
};

bool is_fake(const Command& command) {
  const auto* job = std::get_if<Settlement>(&command);
  return job != nullptr && job->outcome == JobOutcome::fake;
}

Status validate_options(const EventOptions& options) {
  if (options.key) KUDOS_TRY(validate_key_names(*options.key));
  return validate_metadata(options.metadata);
}

}  // namespace

Result<const UserFacts*> find_user(const Directory& directory, const UserRef& user) {
  const auto found = directory.users.find(user);
  if (found == directory.users.end())
    return fail(ErrorCode::unknown_user, "there is no user " + user.to_string(),
                "Create the user first, or check the number or external id.");
  if (is_system(found->second.id))
    return fail(ErrorCode::system_account, "user " + user.to_string() + " is a system account",
                "System accounts are named by the ledger only.");
  return &found->second;
}

Status require_positive(Amount amount, std::string_view what) {
  if (amount.is_positive()) return {};
  return fail(ErrorCode::amount_not_positive, std::string(what) + " is " + amount.to_string() + "; it must be above 0");
}

void visit_accounts(const Command& command, const std::function<void(const UserRef&)>& user,
                    const std::function<void(const Uuid&)>& worker) {
  std::visit(AccountVisitor{user, worker}, command);
}

Uuid make_event_id(const Command& command) {
  const auto& key = command_options(command).key;
  if (!key) return command_options(command).event_id.value_or(Uuid::v7());
  // Names have no control characters, so a newline separates them without doubt.
  return Uuid::v5(kKeyNamespace, key->principal + "\n" + std::string(command_kind(command)) + "\n" + key->key);
}

Result<Produced> produce(const Command& command, const Directory& directory) {
  KUDOS_TRY(validate_options(command_options(command)));
  auto event = std::visit([&](const auto& each) { return build(each, directory); }, command);
  if (!event) return std::unexpected(std::move(event).error());
  KUDOS_TRY(validate(*event));
  event->id = make_event_id(command);
  return Produced{std::move(*event), !is_fake(command)};
}

Result<Amount> things_of(Amount raw, std::string_view wp_type) {
  for (const Divisor& divisor : kDivisors)
    if (divisor.wp_type == wp_type) return raw.scaled(1, divisor.units_per_thing);
  return raw;
}

}  // namespace kudos
