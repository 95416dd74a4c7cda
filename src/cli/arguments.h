// Checks of what stands on the command line that need no ledger, and how a wrong command line is answered.
//
// The checks are for CLI::Option::check: they return what is wrong, or nothing. What fails them is a usage error (exit
// status 2); what the rules of the ledger refuse (amounts, users, ids) has a stable error name and exit status 1.
#pragma once

#include <CLI/App.hpp>
#include <chrono>
#include <string>

#include "kudos/error.h"

namespace kudos::cli {

// A positive time such as 500ms, 20s, 5m, 2h, 7d (a bare number is seconds); invalid_request otherwise.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

// The same in whole seconds, which is what deadlines are given in.
Result<std::chrono::seconds> parse_lifetime(std::string_view text);

std::string check_duration(const std::string& text);
std::string check_lifetime(const std::string& text);
std::string check_utf8(const std::string& text);
// UTF-8 and not empty: an empty value is nearly always a variable that the caller's script forgot to set.
std::string check_filled(const std::string& text);
// As `check_filled`, and at most the 63 bytes to which PostgreSQL would cut the name.
std::string check_schema(const std::string& text);

// Not empty; a path may have any other bytes.
std::string check_path(const std::string& text);

// For a file that is read more than once: refuses a pipe or device (file_unreadable).
Status refuse_stream(const std::string& path);

// Prints what is wrong and which --help tells more, on stderr.
void report_usage(const CLI::App& app, const CLI::ParseError& error);

// Ends the help of every command with the options that all of them take.
void mention_global_options(CLI::App& app);

}  // namespace kudos::cli
