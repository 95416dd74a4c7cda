#include "core/event.h"

namespace kudos {

Total currency_sum(const Event& event) {
  Total sum;
  for (const Posting& posting : event.postings) sum += posting.amount;
  return sum;
}

void number_lines(Event& event) {
  std::int16_t line = 0;
  for (Posting& posting : event.postings) posting.line = ++line;
  for (StatPosting& statistic : event.statistics) statistic.line = ++line;
}

}  // namespace kudos
