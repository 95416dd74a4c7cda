#include "kudos/uuid.h"

#include <gtest/gtest.h>
#include <set>

namespace kudos {
namespace {

TEST(UuidTest, Version5MatchesTheStandard) {
  // RFC 4122's DNS name space; the value is the one that Python's uuid.uuid5(NAMESPACE_DNS, "python.org") documents.
  const Uuid dns = *Uuid::parse("6ba7b810-9dad-11d1-80b4-00c04fd430c8");
  EXPECT_EQ(Uuid::v5(dns, "python.org").to_string(), "886313e1-3b8a-5372-9b90-0c9aee199e5d");
}

TEST(UuidTest, Version7IsOrderedByTimeAndUnique) {
  std::set<Uuid> ids;
  for (int i = 0; i < 10'000; ++i) ids.insert(Uuid::v7());
  EXPECT_EQ(ids.size(), 10'000u);
  const Uuid id = *ids.begin();
  EXPECT_EQ(id.bytes[6] >> 4, 7);
  EXPECT_EQ(id.bytes[8] >> 6, 2);
}

TEST(UuidTest, ParseIsStrict) {
  EXPECT_EQ(Uuid::parse("6BA7B810-9DAD-11D1-80B4-00C04FD430C8")->to_string(), "6ba7b810-9dad-11d1-80b4-00c04fd430c8");
  for (const char* text : {"", "6ba7b810", "6ba7b8109dad11d180b400c04fd430c8", "6ba7b810-9dad-11d1-80b4-00c04fd430cg",
                           "6ba7b810-9dad-11d1-80b4-00c04fd430c8 ", "{6ba7b810-9dad-11d1-80b4-00c04fd430c8}"})
    EXPECT_FALSE(Uuid::parse(text).has_value()) << text;
}

}  // namespace
}  // namespace kudos
