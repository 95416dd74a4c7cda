#include "core/seq_set.h"

#include <algorithm>
#include <charconv>

namespace kudos {
namespace {

bool take(std::string_view& text, char expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(1);
  return true;
}

bool take(std::string_view& text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

// PostgreSQL writes discrete ranges as [first,end).
bool take(std::string_view& text, SeqRange& range) {
  std::int64_t end = 0;
  if (!take(text, '[') || !take(text, range.first) || !take(text, ',') || !take(text, end) || !take(text, ')'))
    return false;
  range.last = end - 1;
  return range.first <= range.last;
}

}  // namespace

void SeqSet::append(SeqRange range) {
  if (!ranges_.empty() && range.first <= ranges_.back().last + 1)
    ranges_.back().last = std::max(ranges_.back().last, range.last);
  else
    ranges_.push_back(range);
}

SeqSet SeqSet::of(std::span<const EventSeq> seqs) {
  std::vector<EventSeq> sorted(seqs.begin(), seqs.end());
  std::ranges::sort(sorted);
  SeqSet set;
  for (const EventSeq seq : sorted) set.append({seq.value, seq.value});
  return set;
}

SeqSet SeqSet::range(std::int64_t first, std::int64_t last) {
  SeqSet set;
  if (first <= last) set.ranges_.push_back({first, last});
  return set;
}

Result<SeqSet> SeqSet::parse(std::string_view text) {
  const auto malformed = [whole = std::string(text.substr(0, 60))] {
    return fail(ErrorCode::database_error, "'" + whole + "' is not a set of sequence numbers");
  };
  SeqSet set;
  if (!take(text, '{')) return malformed();
  while (!text.starts_with('}')) {
    SeqRange range;
    if (!set.empty() && !take(text, ',')) return malformed();
    if (!take(text, range)) return malformed();
    set.append(range);
  }
  return set;
}

std::string SeqSet::to_string() const {
  std::string text = "{";
  for (const SeqRange& range : ranges_) {
    if (text.size() > 1) text += ',';
    text += "[" + std::to_string(range.first) + "," + std::to_string(range.last + 1) + ")";
  }
  return text + "}";
}

bool SeqSet::contains(EventSeq seq) const {
  const auto after = std::ranges::upper_bound(ranges_, seq.value, {}, &SeqRange::first);
  return after != ranges_.begin() && std::prev(after)->last >= seq.value;
}

SeqSet operator|(const SeqSet& a, const SeqSet& b) {
  std::vector<SeqRange> merged;
  std::ranges::merge(a.ranges_, b.ranges_, std::back_inserter(merged));
  SeqSet set;
  for (const SeqRange& range : merged) set.append(range);
  return set;
}

SeqSet operator-(const SeqSet& a, const SeqSet& b) {
  SeqSet set;
  auto cut = b.ranges_.begin();
  for (SeqRange rest : a.ranges_) {
    while (cut != b.ranges_.end() && cut->last < rest.first) ++cut;
    for (auto at = cut; at != b.ranges_.end() && at->first <= rest.last && rest.first <= rest.last; ++at) {
      if (rest.first < at->first) set.append({rest.first, at->first - 1});
      rest.first = at->last + 1;
    }
    if (rest.first <= rest.last) set.append(rest);
  }
  return set;
}

}  // namespace kudos
