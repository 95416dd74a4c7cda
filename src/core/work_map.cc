#include "core/work_map.h"

#include <algorithm>

namespace kudos {

WorkMap advance(const WorkMap& map, const Sighting& sighting) {
  WorkMap next = map;
  next.frontier = std::max(map.frontier, sighting.highest);
  const SeqSet noticed = SeqSet::range(map.frontier + 1, next.frontier);
  next.young_gaps = (map.young_gaps | noticed) - sighting.settled;
  next.gaps = map.gaps - sighting.settled;
  if (sighting.snapshot_xmin < map.horizon) return next;
  // Every possible owner of the older gaps has ended: what isn't there now never will be.
  const SeqSet kept = next.gaps & sighting.waiting;
  next.gaps = kept | next.young_gaps;
  next.young_gaps = {};
  next.horizon = sighting.snapshot_xmax;
  return next;
}

}  // namespace kudos
