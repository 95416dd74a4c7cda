// SHA-256, one-shot and incremental.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace kudos {

using Digest = std::array<std::uint8_t, 32>;

// Belongs to one thread. After `finish` the object starts over.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(std::string_view bytes);
  void update(std::span<const std::uint8_t> bytes);
  Digest finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

Digest sha256(std::string_view bytes);
std::string to_hex(std::span<const std::uint8_t> bytes);

}  // namespace kudos
