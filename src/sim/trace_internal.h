// What the trace formats share. Only for src/sim/trace*.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/csv.h"
#include "sim/trace.h"

namespace kudos::sim::trace_internal {

// A fixed hash with well-spread bits (Steele et al., "Fast splittable pseudorandom number generators", 2014): the same
// on every platform, unlike std::hash.
constexpr std::uint64_t splitmix64(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15ull;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
  return value ^ (value >> 31);
}

// "gpu-07": `number` with at least `width` digits.
std::string numbered(std::string_view prefix, std::uint64_t number, std::size_t width);

// Digits only, at most `max_digits` ≤ 18 of them; nullopt otherwise.
std::optional<std::int64_t> parse_digits(std::string_view text, std::size_t max_digits);

// A column that must be a whole number of at most `max_digits` digits, or that must not be empty.
Result<std::int64_t> whole_number(const CsvReader& csv, std::string_view column, std::string_view value,
                                  std::size_t max_digits);
Status not_empty(const CsvReader& csv, std::string_view column, std::string_view value);

// The part of a reader that's the same for all formats.
class CsvTraceReader : public TraceReader {
 public:
  explicit CsvTraceReader(CsvReader csv) : csv_(std::move(csv)) {}
  std::int64_t bytes_read() const override { return csv_.bytes_read(); }
  std::int64_t bytes_total() const override { return csv_.bytes_total(); }
  std::int64_t line() const override { return csv_.line(); }

 protected:
  CsvReader& csv() { return csv_; }
  const CsvReader& csv() const { return csv_; }

 private:
  CsvReader csv_;
};

// Each takes a reader that has just passed the header.
inline constexpr std::string_view kSlurmHeader =
    "cluster,job_id,partition,qos,account,user,submit,start,end,elapsed,state,nnodes,ncpus,alloctres";
std::unique_ptr<TraceReader> make_slurm_reader(CsvReader csv);

inline constexpr std::string_view kAzureHeader = "TIMESTAMP,ContextTokens,GeneratedTokens";
std::unique_ptr<TraceReader> make_azure_reader(CsvReader csv);

inline constexpr std::string_view kServegenHeader = "client,t_s,rate_rps,cv,pattern,arg1,arg2";
std::unique_ptr<TraceReader> make_servegen_reader(CsvReader csv, std::int64_t one_in);

}  // namespace kudos::sim::trace_internal
