// What a command left behind.
#pragma once

#include <cstdint>

#include "kudos/amount.h"
#include "kudos/ids.h"
#include "kudos/uuid.h"

namespace kudos {

struct Receipt {
  Uuid event_id = {};     // of the stored event; without one, of the request
  EventSeq seq = {};      // 0 when no event was stored
  bool replayed = false;  // the key had been used for the same request: this is the first result
  bool stored = true;     // false when nothing was: a fake job, a release of nothing
  // Holds and spends from what is available only:
  std::int64_t hold = 0;  // the number of the hold's row (kudos_reservations.id); 0: none
  Amount amount =
      {};  // reserve, extend: what the hold claims in all; release: what was given back; else what was charged
};

}  // namespace kudos
