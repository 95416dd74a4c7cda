// Canonical bytes and digests: of an event with all its postings, of a fold, of a request.
//
// docs/reference/digests.md describes the bytes precisely enough to write another verifier. Nothing here depends on the
// order of JSON keys, time zones or text encodings: details arrive as PostgreSQL's normalised jsonb text in UTF-8,
// times as microseconds, amounts as two-decimal text.
#pragma once

#include <span>
#include <string>

#include "base/sha256.h"
#include "core/event.h"

namespace kudos {

// Appends the canonical bytes of the facts of `event` (not its marks).
void append_canonical(std::string& out, const Event& event);

Digest event_digest(const Event& event);

// How a fold disposed of an event.
enum class Disposition : std::uint8_t {
  applied = 'A',      // currency and statistics folded
  inline_only = 'I',  // had been applied inline: journalled
  set_aside = 'Q',    // currency folded, statistics quarantined
  born = 'B',         // a floor adjustment made by this fold
};

// Builds the digest of one fold, chained to the one before. Events are added in sequence order, then the fold's own
// floor adjustments. Belongs to one thread.
class FoldDigest {
 public:
  FoldDigest(FoldId fold, const Digest& previous);
  void add(const Event& event, Disposition disposition, std::string_view quarantine_reason = {});
  Digest finish();

 private:
  std::string bytes_;
};

}  // namespace kudos
