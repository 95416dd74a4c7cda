#include "db/private_server_dirs.h"

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <vector>

#include "base/try.h"

namespace kudos::db {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) { return std::generic_category().message(error); }

std::unexpected<Error> refused(const fs::path& path, const std::string& why, std::string hint = {}) {
  return fail(ErrorCode::data_directory, path.string() + ": " + why, std::move(hint));
}

std::string account_name(uid_t uid) {
  const passwd* entry = ::getpwuid(uid);
  return entry == nullptr ? "uid " + std::to_string(uid) : "\"" + std::string{entry->pw_name} + "\"";
}

std::optional<Identity> account_called(const char* name) {
  const passwd* entry = ::getpwnam(name);
  if (entry == nullptr || entry->pw_uid == 0) return std::nullopt;
  return Identity{entry->pw_uid, entry->pw_gid};
}

std::optional<struct stat> status_of(const fs::path& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return std::nullopt;
  return found;
}

Result<Identity> account_for_root(const fs::path& data_dir) {
  for (const fs::path& dir : {data_dir / "postgres", data_dir})
    if (const auto found = status_of(dir); found && found->st_uid != 0) return Identity{found->st_uid, found->st_gid};
  for (const char* name : {"postgres", "nobody"})
    if (const auto account = account_called(name)) return *account;
  return refused(data_dir, "PostgreSQL doesn't run as root, and there is no account \"postgres\" or \"nobody\"",
                 "Create one, or run kudos as an ordinary user.");
}

// The directories above that exist, outermost first.
std::vector<fs::path> ancestors(const fs::path& path) {
  std::vector<fs::path> found;
  for (fs::path dir = path.parent_path();; dir = dir.parent_path()) {
    if (status_of(dir)) found.push_back(dir);
    if (dir == dir.parent_path()) break;
  }
  std::ranges::reverse(found);
  return found;
}

Status check_reachable(const fs::path& data_dir, const Identity& account) {
  const std::vector<fs::path> above = ancestors(data_dir);
  const auto first_closed = [&above] {
    int number = 0;
    for (const fs::path& dir : above) {
      if (::access(dir.c_str(), X_OK) != 0) return number;
      if (++number == 100) break;
    }
    return 125;
  };
  KUDOS_ASSIGN(const int closed, ask_as(account, first_closed));
  if (closed == 125) return {};
  const std::string dir = above[static_cast<std::size_t>(closed)].string();
  return refused(data_dir,
                 "the account " + account_name(account.uid) + ", which runs PostgreSQL, can't pass through " + dir,
                 "Choose a data directory elsewhere, or allow it with `chmod o+x " + dir + "`.");
}

// Those above the data directory are ordinary directories: root's must let the account through.
Status make_parents(const fs::path& path, bool as_root) {
  if (path.empty() || status_of(path)) return {};
  KUDOS_TRY(make_parents(path.parent_path(), as_root));
  const mode_t mode = as_root ? 0755 : 0700;
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return refused(path, "can't be created: " + reason(errno));
  if (as_root) ::chmod(path.c_str(), mode);
  return {};
}

bool belongs_here(const std::string& name) {
  return name == "postgres" || name.starts_with("postgres.") || name.starts_with("kudos") || name == "socket" ||
         name == "connection" || name == "lost+found";
}

Status hand_over(const fs::path& data_dir, const Identity& account) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(data_dir, error))
    if (!belongs_here(entry.path().filename()))
      return refused(data_dir, "is root's and holds other files (" + entry.path().filename().string() + ")",
                     "Choose an empty or a new directory.");
  if (error) return refused(data_dir, "can't be read: " + error.message());
  if (::chmod(data_dir.c_str(), 0700) != 0 || ::chown(data_dir.c_str(), account.uid, account.gid) != 0)
    return refused(data_dir, "can't be given to " + account_name(account.uid) + ": " + reason(errno));
  return {};
}

Status check_owner(const fs::path& dir, uid_t wanted) {
  const auto found = status_of(dir);
  if (!found) return refused(dir, "can't be read: " + reason(errno));
  if (!S_ISDIR(found->st_mode)) return refused(dir, "is not a directory");
  if (found->st_uid != wanted)
    return refused(dir, "belongs to " + account_name(found->st_uid) + ", not to " + account_name(wanted),
                   "Run kudos as its owner, or choose another directory.");
  return {};
}

uid_t owner_of(const PrivateServerDirs& dirs) { return dirs.account ? dirs.account->uid : ::geteuid(); }

// FNV-1a: the same in every build and version, unlike std::hash.
std::string digest(const std::string& text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  std::array<char, 17> hex{};
  std::snprintf(hex.data(), hex.size(), "%016llx", static_cast<unsigned long long>(hash));
  return hex.data();
}

Status write_all(int fd, const std::string& text, const fs::path& file) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(fd, text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) return refused(file, "can't be written: " + reason(errno));
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  return {};
}

Result<UniqueFd> open_for_account(const PrivateServerDirs& dirs, const fs::path& file, int flags) {
  UniqueFd fd{::open(file.c_str(), flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!fd) return refused(file, "can't be opened: " + reason(errno));
  if (dirs.account && ::fchown(fd.get(), dirs.account->uid, dirs.account->gid) != 0)
    return refused(file, "can't be given to " + account_name(dirs.account->uid) + ": " + reason(errno));
  return fd;
}

std::string holder_of(int fd) {
  std::array<char, 32> text{};
  const ssize_t got = ::pread(fd, text.data(), text.size() - 1, 0);
  const long pid = got > 0 ? std::strtol(text.data(), nullptr, 10) : 0;
  return pid > 0 ? "pid " + std::to_string(pid) : "its pid isn't known yet";
}

}  // namespace

bool PrivateServerDirs::socket_elsewhere() const {
  // Linux' sun_path holds 108 bytes with the final zero. Both libpq and PostgreSQL take a comma for the end of a
  // directory's name.
  constexpr std::size_t kLongest = 107;
  const std::string inside = data_dir / "socket" / ".s.PGSQL.5432.lock";
  return inside.size() >= kLongest || inside.contains(',');
}

fs::path PrivateServerDirs::socket() const {
  return socket_elsewhere() ? fs::path{"/tmp"} / ("kudos-" + digest(data_dir)) : data_dir / "socket";
}

Result<PrivateServerDirs> prepare_data_dir(const fs::path& data_dir) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(fs::absolute(data_dir, error), error);
  if (error) return refused(data_dir, "can't be resolved: " + error.message());
  if (!path.has_filename()) path = path.parent_path();
  PrivateServerDirs dirs{path, std::nullopt};
  if (::geteuid() == 0) {
    KUDOS_ASSIGN(dirs.account, account_for_root(path));
    KUDOS_TRY(check_reachable(path, *dirs.account));
  }
  KUDOS_TRY(make_parents(path.parent_path(), dirs.account.has_value()));
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return refused(path, "can't be created: " + reason(errno));
  if (const auto found = status_of(path); dirs.account && found && S_ISDIR(found->st_mode) && found->st_uid == 0)
    KUDOS_TRY(hand_over(path, *dirs.account));
  KUDOS_TRY(check_owner(path, owner_of(dirs)));
  if (status_of(dirs.cluster())) KUDOS_TRY(check_owner(dirs.cluster(), owner_of(dirs)));
  return dirs;
}

Status prepare_socket_dir(const PrivateServerDirs& dirs) {
  const fs::path dir = dirs.socket();
  if (::mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) return refused(dir, "can't be created: " + reason(errno));
  const UniqueFd opened{::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  struct stat found{};
  if (!opened || ::fstat(opened.get(), &found) != 0)
    return refused(dir, "is not a directory that can be used for the socket: " + reason(errno));
  if (dirs.account && found.st_uid == 0 && ::fchown(opened.get(), dirs.account->uid, dirs.account->gid) != 0)
    return refused(dir, "can't be given to " + account_name(dirs.account->uid) + ": " + reason(errno));
  KUDOS_TRY(check_owner(dir, owner_of(dirs)));
  if ((found.st_mode & 077) != 0)
    return refused(dir, "is open to other accounts, and the server trusts whoever can reach its socket",
                   "Close it with `chmod 0700 " + dir.string() + "`.");
  return {};
}

Result<UniqueFd> lock_data_dir(const PrivateServerDirs& dirs) {
  KUDOS_ASSIGN(UniqueFd fd, open_for_account(dirs, dirs.lock(), O_RDWR));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return refused(dirs.lock(), "can't be locked: " + reason(errno));
    return fail(ErrorCode::already_running,
                "a private server already runs in " + dirs.data_dir.string() + " (" + holder_of(fd.get()) + ")",
                "Use that one, stop it, or choose another --data-dir.");
  }
  if (::ftruncate(fd.get(), 0) != 0) return refused(dirs.lock(), "can't be written: " + reason(errno));
  KUDOS_TRY(write_all(fd.get(), std::to_string(::getpid()) + "\n", dirs.lock()));
  return fd;
}

Status write_file_atomically(const PrivateServerDirs& dirs, const fs::path& file, const std::string& text) {
  const fs::path fresh = file.string() + ".new";
  ::unlink(fresh.c_str());
  KUDOS_ASSIGN(const UniqueFd fd, open_for_account(dirs, fresh, O_WRONLY | O_EXCL));
  KUDOS_TRY(write_all(fd.get(), text, fresh));
  if (::rename(fresh.c_str(), file.c_str()) != 0) return refused(file, "can't be written: " + reason(errno));
  return {};
}

}  // namespace kudos::db
