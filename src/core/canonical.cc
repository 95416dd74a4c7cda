#include "core/canonical.h"

#include <optional>

namespace kudos {
namespace {

void append_length(std::string& out, std::uint32_t length) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(length >> shift));
}

void append_text(std::string& out, std::string_view text) {
  append_length(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

void append_absent(std::string& out) { append_length(out, 0xFFFFFFFF); }

void append_optional(std::string& out, std::string_view text) {
  if (text.empty())
    append_absent(out);
  else
    append_text(out, text);
}

void append(std::string& out, std::int64_t number) { append_text(out, std::to_string(number)); }
void append(std::string& out, UserId user) { append(out, std::int64_t{user.value}); }
void append(std::string& out, Amount amount) { append_text(out, amount.to_string()); }
void append(std::string& out, const Uuid& id) {
  append_text(out, {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
}
void append(std::string& out, const Digest& digest) {
  append_text(out, {reinterpret_cast<const char*>(digest.data()), digest.size()});
}
void append(std::string& out, Target target) { append_text(out, label(target)); }

template <class T>
void append(std::string& out, const std::optional<T>& value) {
  if (value)
    append(out, *value);
  else
    append_absent(out);
}

void append(std::string& out, const Posting& posting) {
  append_text(out, "posting");
  append(out, std::int64_t{posting.line});
  append_text(out, label(posting.entry_type));
  append(out, posting.user);
  append_text(out, posting.escrow ? "escrow" : "spendable");
  append(out, posting.amount);
  append(out, posting.hold_id);
  append_optional(out, posting.detail);
}

void append(std::string& out, const StatPosting& statistic) {
  append_text(out, "statistic");
  append(out, std::int64_t{statistic.line});
  append_text(out, label(statistic.entry_type));
  append_text(out, label(statistic.unit));
  append(out, statistic.target);
  append(out, statistic.user);
  append(out, statistic.worker_user);
  append(out, statistic.worker);
  append(out, statistic.team);
  append(out, statistic.amount);
  append_text(out, statistic.stat_action);
  append_text(out, statistic.record);
  append_optional(out, statistic.detail);
}

}  // namespace

void append_canonical(std::string& out, const Event& event) {
  append_text(out, "kudos-event-1");
  append(out, event.seq.value);
  append(out, event.id);
  append(out, event.created.micros);
  append(out, event.job_id);
  append_optional(out, event.wp_type);
  append(out, event.request_digest);
  append(out, event.metadata_hash);
  append_text(out, event.applied_inline ? "inline" : "queued");
  append(out, static_cast<std::int64_t>(event.posting_count()));
  for (const Posting& posting : event.postings) append(out, posting);
  for (const StatPosting& statistic : event.statistics) append(out, statistic);
}

Digest event_digest(const Event& event) {
  std::string bytes;
  bytes.reserve(2048);
  append_canonical(bytes, event);
  return sha256(bytes);
}

FoldDigest::FoldDigest(FoldId fold, const Digest& previous) {
  append_text(bytes_, "kudos-fold-1");
  append(bytes_, previous);
  append(bytes_, fold.value);
}

void FoldDigest::add(const Event& event, Disposition disposition, std::string_view quarantine_reason) {
  append(bytes_, event_digest(event));
  bytes_.push_back(static_cast<char>(disposition));
  append_optional(bytes_, quarantine_reason);
}

Digest FoldDigest::finish() { return sha256(bytes_); }

}  // namespace kudos
