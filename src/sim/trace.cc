#include "sim/trace.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/sha256.h"
#include "base/try.h"
#include "sim/trace_internal.h"

namespace kudos::sim {
namespace {

using namespace trace_internal;

struct KnownFormat {
  TraceFormat format;
  std::string_view name;
  std::string_view header;
};

constexpr std::array kFormats = {
    KnownFormat{TraceFormat::slurm, "slurm", kSlurmHeader},
    KnownFormat{TraceFormat::azure_llm, "azure-llm", kAzureHeader},
    KnownFormat{TraceFormat::servegen, "servegen", kServegenHeader},
};

const KnownFormat& known(TraceFormat format) { return *std::ranges::find(kFormats, format, &KnownFormat::format); }

std::string joined(std::span<const std::string_view> fields) {
  std::string text;
  for (const std::string_view field : fields) text.append(field).append(",");
  return text.substr(0, text.size() - 1);
}

std::size_t count_columns(std::string_view header) {
  return static_cast<std::size_t>(std::ranges::count(header, ',')) + 1;
}

std::unexpected<Error> wrong_header(const std::string& path, const KnownFormat& expected, std::string_view found) {
  std::string message = path + " isn't in the format " + std::string(expected.name) + ": its first line must be '" +
                        std::string(expected.header) + "'";
  const auto* other = std::ranges::find(kFormats, found, &KnownFormat::header);
  if (other == kFormats.end()) return fail(ErrorCode::wrong_format, std::move(message));
  message += ". It looks like " + std::string(other->name);
  return fail(ErrorCode::wrong_format, std::move(message), "Name the format " + std::string(other->name) + ".");
}

Status check_header(CsvReader& csv, const KnownFormat& expected) {
  const auto row = csv.next();
  // A first line that isn't even a CSV row, as in a compressed file, says no more than that it's another format.
  if (!row && row.error().code != ErrorCode::bad_row) return std::unexpected(row.error());
  const std::string found = row && row->has_value() ? joined((*row)->fields) : std::string();
  if (found != expected.header) return wrong_header(csv.path(), expected, found);
  csv.expect_fields(count_columns(expected.header));
  return {};
}

Status check_options(TraceFormat format, const TraceOptions& options) {
  if (options.one_in < 1) {
    return fail(ErrorCode::invalid_request, "one request in " + std::to_string(options.one_in) + " can't be taken",
                "Give a whole number from 1.");
  }
  if (options.one_in == 1 || format == TraceFormat::servegen) return {};
  return fail(ErrorCode::invalid_request, "taking one request in " + std::to_string(options.one_in) +
                                              " is only possible for servegen, not for " +
                                              std::string(trace_format_name(format)));
}

}  // namespace

namespace trace_internal {

std::string numbered(std::string_view prefix, std::uint64_t number, std::size_t width) {
  const std::string digits = std::to_string(number);
  std::string text(prefix);
  text.append(width > digits.size() ? width - digits.size() : 0, '0');
  return text + digits;
}

std::optional<std::int64_t> parse_digits(std::string_view text, std::size_t max_digits) {
  if (text.empty() || text.size() > max_digits) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

Result<std::int64_t> whole_number(const CsvReader& csv, std::string_view column, std::string_view value,
                                  std::size_t max_digits) {
  if (const auto number = parse_digits(value, max_digits)) return *number;
  return csv.bad_value(column, value, "a whole number of 1 to " + std::to_string(max_digits) + " digits is expected");
}

Status not_empty(const CsvReader& csv, std::string_view column, std::string_view value) {
  if (value.empty()) return csv.bad_value(column, value, "it can't be empty");
  return {};
}

}  // namespace trace_internal

Result<TraceFormat> parse_trace_format(std::string_view name) {
  const auto* found = std::ranges::find(kFormats, name, &KnownFormat::name);
  if (found != kFormats.end()) return found->format;
  return fail(ErrorCode::invalid_request, "'" + std::string(name) + "' isn't a known format of recorded usage",
              "Use slurm, azure-llm or servegen.");
}

std::string_view trace_format_name(TraceFormat format) { return known(format).name; }

Result<std::unique_ptr<TraceReader>> open_trace(const std::string& path, TraceFormat format,
                                                const TraceOptions& options) {
  KUDOS_TRY(check_options(format, options));
  KUDOS_ASSIGN(CsvReader csv, CsvReader::open(path));
  KUDOS_TRY(check_header(csv, known(format)));
  switch (format) {
    case TraceFormat::slurm:
      return make_slurm_reader(std::move(csv));
    case TraceFormat::azure_llm:
      return make_azure_reader(std::move(csv));
    case TraceFormat::servegen:
      return make_servegen_reader(std::move(csv), options.one_in);
  }
  std::unreachable();
}

Result<std::string> file_digest(const std::string& path) {
  KUDOS_ASSIGN(InputFile file, InputFile::open(path));
  Sha256 hash;
  std::vector<char> buffer(std::size_t{64} << 10);
  while (true) {
    KUDOS_ASSIGN(const std::size_t count, file.read(buffer));
    if (count == 0) return to_hex(hash.finish());
    hash.update(std::string_view(buffer.data(), count));
  }
}

}  // namespace kudos::sim
