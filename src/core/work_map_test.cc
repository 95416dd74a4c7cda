#include "core/work_map.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace kudos {
namespace {

SeqSet set_of(std::initializer_list<std::int64_t> seqs) {
  std::vector<EventSeq> list;
  for (const auto seq : seqs) list.push_back({seq});
  return SeqSet::of(list);
}

TEST(SeqSetTest, TextIsPostgresMultirange) {
  EXPECT_EQ(set_of({3, 1, 2, 9}).to_string(), "{[1,4),[9,10)}");
  EXPECT_EQ(SeqSet().to_string(), "{}");
  EXPECT_EQ(SeqSet::parse("{[1,4),[9,10)}").value(), set_of({1, 2, 3, 9}));
  for (const char* text : {"", "{", "[1,4)", "{[4,1)}", "{[1,4]}", "{[1,)}", "{[1,4)[5,6)}"})
    EXPECT_FALSE(SeqSet::parse(text).has_value()) << text;
}

// Against std::set on small universes.
TEST(SeqSetTest, AlgebraMatchesSets) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::set<std::int64_t> a, b;
    for (int i = 0; i < 12; ++i) {
      a.insert(static_cast<std::int64_t>(random() % 24));
      b.insert(static_cast<std::int64_t>(random() % 24));
    }
    const auto to_set = [](const std::set<std::int64_t>& numbers) {
      std::vector<EventSeq> list;
      for (const auto number : numbers) list.push_back({number});
      return SeqSet::of(list);
    };
    std::set<std::int64_t> both, left, common;
    std::ranges::set_union(a, b, std::inserter(both, both.end()));
    std::ranges::set_difference(a, b, std::inserter(left, left.end()));
    std::ranges::set_intersection(a, b, std::inserter(common, common.end()));
    ASSERT_EQ(to_set(a) | to_set(b), to_set(both));
    ASSERT_EQ(to_set(a) - to_set(b), to_set(left));
    ASSERT_EQ(to_set(a) & to_set(b), to_set(common));
    for (std::int64_t seq = 0; seq < 24; ++seq) ASSERT_EQ(to_set(a).contains({seq}), a.contains(seq));
  }
}

TEST(WorkMapTest, NumbersThatWereNotSeenBecomeGaps) {
  const WorkMap map = advance({}, {.settled = set_of({2, 5}), .highest = 5, .snapshot_xmin = 0, .snapshot_xmax = 20});
  EXPECT_EQ(map.frontier, 5);
  EXPECT_EQ(map.all_gaps(), set_of({1, 3, 4}));
}

TEST(WorkMapTest, ALateCommitLeavesItsGap) {
  const WorkMap before{.frontier = 5, .gaps = set_of({3, 4}), .young_gaps = {}, .horizon = 90};
  const WorkMap map = advance(before, {.settled = set_of({4}), .highest = 4, .snapshot_xmin = 10, .snapshot_xmax = 20});
  EXPECT_EQ(map.frontier, 5);
  EXPECT_EQ(map.all_gaps(), set_of({3}));
}

TEST(WorkMapTest, AGapIsDroppedOnlyWhenAllItsPossibleOwnersHaveEnded) {
  const WorkMap noticed{.frontier = 5, .gaps = set_of({3}), .young_gaps = set_of({4}), .horizon = 50};
  EXPECT_EQ(advance(noticed, {.snapshot_xmin = 49, .snapshot_xmax = 70}).all_gaps(), set_of({3, 4}));
  const WorkMap later = advance(noticed, {.snapshot_xmin = 50, .snapshot_xmax = 70});
  EXPECT_EQ(later.gaps, set_of({4})) << "the younger one waits for its own horizon";
  EXPECT_EQ(later.horizon, 70u);
  EXPECT_TRUE(advance(later, {.snapshot_xmin = 70, .snapshot_xmax = 80}).all_gaps().empty());
}

TEST(WorkMapTest, AnEventThatIsThereButLockedKeepsItsGap) {
  const WorkMap before{.frontier = 5, .gaps = set_of({3, 4}), .young_gaps = {}, .horizon = 50};
  const WorkMap map = advance(before, {.waiting = set_of({4}), .snapshot_xmin = 60, .snapshot_xmax = 70});
  EXPECT_EQ(map.all_gaps(), set_of({4}));
}

// A simulation: producers draw numbers, commit late or roll back in any order; the projector must fold all that was
// committed, and forget all that wasn't.
TEST(WorkMapTest, EverythingCommittedIsFoldedWhateverTheOrder) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    struct Writer {
      std::uint64_t xid;
      std::vector<std::int64_t> seqs;
    };
    std::vector<Writer> running;
    std::set<std::int64_t> unfolded;
    std::size_t committed = 0, folded = 0;
    std::uint64_t next_xid = 10;
    std::int64_t next_seq = 1;
    WorkMap map;
    const auto cycle = [&] {
      std::uint64_t xmin = next_xid;
      for (const Writer& writer : running) xmin = std::min(xmin, writer.xid);
      Sighting sighting{.snapshot_xmin = xmin, .snapshot_xmax = next_xid};
      std::vector<EventSeq> taken, waiting;
      const SeqSet gaps = map.all_gaps();
      for (const auto seq : unfolded) {
        if (seq <= map.frontier && !gaps.contains({seq})) continue;  // not where the map says
        const bool locked = random() % 4 == 0;
        if (!locked)
          taken.push_back({seq});
        else if (seq <= map.frontier)
          waiting.push_back({seq});
      }
      for (const EventSeq seq : taken) unfolded.erase(seq.value);
      folded += taken.size();
      sighting.settled = SeqSet::of(taken);
      sighting.waiting = SeqSet::of(waiting);
      if (!taken.empty()) sighting.highest = taken.back().value;
      map = advance(map, sighting);
    };
    for (int step = 0; step < 400; ++step) {
      const auto action = random() % 10;
      if (action < 3)
        running.push_back({next_xid++, {}});
      else if (action < 6 && !running.empty())
        running[random() % running.size()].seqs.push_back(next_seq++);
      else if (action < 8 && !running.empty()) {
        const auto at = running.begin() + static_cast<std::ptrdiff_t>(random() % running.size());
        if (random() % 3 != 0) {
          unfolded.insert(at->seqs.begin(), at->seqs.end());
          committed += at->seqs.size();
        }
        running.erase(at);
      } else
        cycle();
    }
    running.clear();
    for (int i = 0; i < 60; ++i) cycle();
    ASSERT_EQ(folded, committed) << "seed " << seed;
    ASSERT_TRUE(map.all_gaps().empty()) << "seed " << seed << ": " << map.all_gaps().to_string();
  }
}

}  // namespace
}  // namespace kudos
