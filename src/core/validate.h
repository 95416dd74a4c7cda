// What emission refuses before anything is stored. Source: contract, "Amounts", "Facts and their views" and rule 10.
#pragma once

#include "core/event.h"
#include "kudos/commands.h"
#include "kudos/error.h"

namespace kudos {

// Refuses, in this order: more than 1,000 postings or none (too_many_postings, invalid_request), a zero currency amount
// (invalid_amount), a work type that is too long or has control characters (invalid_request), a statistic that the
// projector would set aside (invalid_statistic, with the reason), currency that doesn't sum to zero (unbalanced_event).
Status validate(const Event& event);

// The key and its principal: printable, 1 to 200 bytes each (invalid_request).
Status validate_key_names(const IdempotencyKey& key);

// Empty, or printable and at most 200 bytes (invalid_request).
Status validate_reason(std::string_view reason);

// Printable, 1 to 20 characters (invalid_request).
Status validate_wp_type(std::string_view wp_type);

// A flat JSON object of at most 2 KB (invalid_metadata). Empty text is no metadata and passes.
Status validate_metadata(std::string_view json);

// Printable UTF-8 without control characters, 1 to `max_bytes` bytes (invalid_request, naming `what`).
Status validate_name(std::string_view text, std::string_view what, std::size_t max_bytes);

}  // namespace kudos
