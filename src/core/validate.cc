#include "core/validate.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <cmath>
#include <set>

#include "base/try.h"
#include "base/utf8.h"
#include "core/classify.h"

namespace kudos {
namespace {

constexpr std::size_t kMaxKeyBytes = 200;
constexpr std::size_t kMaxReasonBytes = 200;
constexpr std::size_t kMaxMetadataBytes = 2048;

bool has_control_character(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

Status validate_statistic(const StatPosting& statistic) {
  const auto defect = find_defect(statistic);
  if (!defect) return {};
  return fail(ErrorCode::invalid_statistic, "statistic " + std::to_string(statistic.line) + " ('" +
                                                statistic.stat_action + "', '" + statistic.record +
                                                "') would be set aside: " + std::string(label(*defect)));
}

// Collects the keys of a flat object; refuses nesting and doubled keys, which the DOM would hide.
struct FlatObjectHandler {
  // Required by the parser; the whole text is bounded before it is parsed.
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t(-1);
  static constexpr std::size_t max_string_size = std::size_t(-1);
  using error_code = boost::system::error_code;
  std::set<std::string> keys;
  std::string key, defect;
  int depth = 0;

  bool refuse(std::string why) {
    if (defect.empty()) defect = std::move(why);
    return true;
  }
  bool value() { return depth > 0 || refuse("is not an object"); }
  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return depth++ == 0 || refuse("is not flat"); }
  bool on_object_end(std::size_t, error_code&) { return --depth >= 0; }
  bool on_array_begin(error_code&) { return refuse(depth == 0 ? "is not an object" : "is not flat"); }
  bool on_array_end(std::size_t, error_code&) { return true; }
  bool on_key_part(std::string_view part, std::size_t, error_code&) { return key += part, true; }
  bool on_key(std::string_view part, std::size_t, error_code&) {
    key += part;
    if (key.find('\0') != std::string::npos) refuse("has a NUL character");
    if (!keys.insert(std::exchange(key, {})).second) refuse("has a key twice");
    return true;
  }
  bool text(std::string_view part) {
    return part.find('\0') == std::string_view::npos ? value() : refuse("has a NUL character");
  }
  bool on_string_part(std::string_view part, std::size_t, error_code&) { return text(part); }
  bool on_string(std::string_view part, std::size_t, error_code&) { return text(part); }
  bool on_number_part(std::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, std::string_view, error_code&) { return value(); }
  bool on_uint64(std::uint64_t, std::string_view, error_code&) { return value(); }
  bool on_double(double number, std::string_view text, error_code&) {
    // PostgreSQL's numeric goes further than a double, but not without end.
    const bool vanished = number == 0 && text.find_first_of("123456789") < text.find_first_of("eE");
    return std::isfinite(number) && !vanished ? value() : refuse("has a number that is too large or too small");
  }
  bool on_bool(bool, error_code&) { return value(); }
  bool on_null(error_code&) { return value(); }
  bool on_comment_part(std::string_view, error_code&) { return true; }
  bool on_comment(std::string_view, error_code&) { return true; }
};

std::unexpected<Error> metadata_error(std::string_view why) {
  return fail(ErrorCode::invalid_metadata, "the metadata " + std::string(why),
              "Give a flat JSON object of at most 2 KB, such as {\"invoice\": \"A-17\"}.");
}

}  // namespace

Status validate(const Event& event) {
  if (event.posting_count() == 0) return fail(ErrorCode::invalid_request, "the event has no postings");
  if (event.posting_count() > kMaxPostings)
    return fail(ErrorCode::too_many_postings,
                "the event has " + std::to_string(event.posting_count()) + " postings; at most 1000 are allowed");
  for (const Posting& posting : event.postings)
    if (posting.amount.is_zero())
      return fail(ErrorCode::invalid_amount, "posting " + std::to_string(posting.line) + " is zero");
  if (!event.wp_type.empty()) KUDOS_TRY(validate_wp_type(event.wp_type));
  for (const StatPosting& statistic : event.statistics) KUDOS_TRY(validate_statistic(statistic));
  if (const Total sum = currency_sum(event); !sum.is_zero())
    return fail(ErrorCode::unbalanced_event, "the event's currency postings sum to " + sum.to_string() + ", not 0");
  return {};
}

Status validate_key_names(const IdempotencyKey& key) {
  KUDOS_TRY(validate_name(key.key, "the idempotency key", kMaxKeyBytes));
  return validate_name(key.principal, "the principal", kMaxKeyBytes);
}

Status validate_reason(std::string_view reason) {
  if (reason.empty()) return {};
  return validate_name(reason, "the reason", kMaxReasonBytes);
}

Status validate_wp_type(std::string_view wp_type) {
  KUDOS_TRY(validate_name(wp_type, "the work type", 4 * kMaxWpType));
  if (const auto length = utf8_characters(wp_type); length > kMaxWpType)
    return fail(ErrorCode::invalid_request, "the work type has " + std::to_string(length) + " characters; at most " +
                                                std::to_string(kMaxWpType) + " are allowed");
  return {};
}

Status validate_metadata(std::string_view json) {
  if (json.empty()) return {};
  if (json.size() > kMaxMetadataBytes) return metadata_error("has " + std::to_string(json.size()) + " bytes");
  boost::json::basic_parser<FlatObjectHandler> parser{boost::json::parse_options{}};
  boost::system::error_code error;
  const auto used = parser.write_some(false, json.data(), json.size(), error);
  if (error || used != json.size()) return metadata_error("is not JSON");
  if (const auto& defect = parser.handler().defect; !defect.empty()) return metadata_error(defect);
  return {};
}

Status validate_name(std::string_view text, std::string_view what, std::size_t max_bytes) {
  if (text.empty() || text.size() > max_bytes)
    return fail(ErrorCode::invalid_request, std::string(what) + " has " + std::to_string(text.size()) +
                                                " bytes; 1 to " + std::to_string(max_bytes) + " are allowed");
  if (has_control_character(text))
    return fail(ErrorCode::invalid_request, std::string(what) + " has control characters");
  if (!is_utf8(text)) return fail(ErrorCode::invalid_request, std::string(what) + " is not UTF-8");
  return {};
}

}  // namespace kudos
