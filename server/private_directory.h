// What the server keeps is for its own user alone.
#pragma once

#include <filesystem>
#include <string>

namespace kedge::server {

// Only this process's user can read the files and folders that it makes from now on, for any umask.
void keep_new_files_private();

// Makes a data directory that other users can read private, with all that is in it. Returns what was done, in words;
// empty if nothing was open, or there is no such directory yet. Errors: kUnavailable if all users can read the
// directory and it belongs to another user, or has files that are not a server's: then others may need it as it is. One
// of another user that a group alone can read is a volume that an orchestrator has made for this process, and stays.
std::string make_private(const std::filesystem::path& directory);

}  // namespace kedge::server
