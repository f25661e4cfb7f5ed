#ifndef CHATROOM_FAULT_VFS_H
#define CHATROOM_FAULT_VFS_H

#include <stdint.h>

// A disk that can fail, for tests only: an SQLite VFS around the default one. The file on the real disk holds what has
// been synced; what has only been written is kept in memory and is lost, wholly or in part, when the power is cut.
// Every call is safe from any thread. Database files, write-ahead logs and journals are covered; the shared-memory
// index is not, because SQLite rebuilds it whenever nobody has the database open.

typedef struct chatroom_fault_vfs chatroom_fault_vfs;

// Registers a disk under `name`, which must be unique in the process. NULL when memory or SQLite refuses.
chatroom_fault_vfs *chatroom_fault_vfs_create(const char *name);

// Unregisters the disk. No file may be open on it. Unsynced writes reach the real file, as they would in time.
void chatroom_fault_vfs_destroy(chatroom_fault_vfs *disk);

// The next `count` syncs fail; negative: all of them, until set again. As on Linux, what a failed sync was to write is
// still seen by reads and is never written, also when a later sync succeeds.
void chatroom_fault_vfs_fail_syncs(chatroom_fault_vfs *disk, int64_t count);

// While set, every write fails because the disk is full.
void chatroom_fault_vfs_set_full(chatroom_fault_vfs *disk, int full);

// While set, every write to a database file fails because the disk is full; those to write-ahead logs succeed.
void chatroom_fault_vfs_set_database_full(chatroom_fault_vfs *disk, int full);

// While set, every write fails with an input/output error, and nothing of it is seen.
void chatroom_fault_vfs_set_failing_writes(chatroom_fault_vfs *disk, int failing);

// The disk is full, as above, when `writes` more have been done.
void chatroom_fault_vfs_fill_up_after(chatroom_fault_vfs *disk, int64_t writes);

// Every sync takes that much longer.
void chatroom_fault_vfs_delay_syncs(chatroom_fault_vfs *disk, uint32_t microseconds);

// Cuts the power now: everything on this disk fails until `chatroom_fault_vfs_power_on`.
void chatroom_fault_vfs_cut_power(chatroom_fault_vfs *disk);

// Cuts the power when `operations` more writes, truncations, syncs and deletions have been done; negative: never.
void chatroom_fault_vfs_cut_power_after(chatroom_fault_vfs *disk, int64_t operations);

// Ends a power cut. Seed 0: everything unsynced is gone. Any other seed: of each unsynced write an arbitrary part of
// its 512-byte sectors has survived, in no order. Returns the number of files still open; unless that is 0, nothing
// has been done.
int chatroom_fault_vfs_power_on(chatroom_fault_vfs *disk, uint64_t seed);

int chatroom_fault_vfs_is_powered(chatroom_fault_vfs *disk);

// Writes, truncations, syncs and deletions so far.
int64_t chatroom_fault_vfs_operations(chatroom_fault_vfs *disk);

// Successful syncs so far.
int64_t chatroom_fault_vfs_syncs(chatroom_fault_vfs *disk);

#endif
