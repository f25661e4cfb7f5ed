#include "CFaultVFS.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A write or truncation that has not been synced. `length` < 0: a truncation to `offset`.
typedef struct change {
    struct change *next;
    int64_t offset;
    int64_t length;
    unsigned char bytes[];
} change;

// One file as programs see it (`bytes`), and what of that the real file does not have yet (`first` ... `last`).
typedef struct node {
    struct node *next;
    char *path;
    unsigned char *bytes;
    int64_t size;
    int64_t capacity;
    change *first;
    change *last;
    int handles;
    // The file's name is on the disk: it was there when first opened, or its directory has been synced since.
    int named;
    // SQLite syncs the directory with the first sync of a new journal or write-ahead log, never with a database file.
    int syncs_directory;
} node;

// A file deleted without a sync of its directory: it may come back.
typedef struct ghost {
    struct ghost *next;
    char *path;
    char *kept;
} ghost;

struct chatroom_fault_vfs {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    char *name;
    pthread_mutex_t mutex;
    node *nodes;
    ghost *ghosts;
    int powered;
    int full;
    int database_full;
    int failing_writes;
    // Negative: does not fill up.
    int64_t writes_until_full;
    int64_t failing_syncs;
    int64_t operations_left;
    int64_t operations;
    int64_t syncs;
    uint32_t sync_delay;
};

typedef struct {
    sqlite3_file base;
    chatroom_fault_vfs *disk;
    // NULL for temporary files, which pass through.
    node *node;
    sqlite3_file *real;
} fault_file;

static void lock(chatroom_fault_vfs *disk) { pthread_mutex_lock(&disk->mutex); }
static void unlock(chatroom_fault_vfs *disk) { pthread_mutex_unlock(&disk->mutex); }

// Counts an operation. Returns whether the power is on for it.
static int tick(chatroom_fault_vfs *disk) {
    if (!disk->powered) return 0;
    if (disk->operations_left == 0) {
        disk->powered = 0;
        return 0;
    }
    if (disk->operations_left > 0) disk->operations_left -= 1;
    disk->operations += 1;
    return 1;
}

static uint64_t next_random(uint64_t *state) {
    *state += 0x9E3779B97F4A7C15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// MARK: - Contents

static int reserve(node *file, int64_t size) {
    if (size <= file->capacity) return SQLITE_OK;
    int64_t capacity = file->capacity > 0 ? file->capacity : 65536;
    while (capacity < size) capacity *= 2;
    unsigned char *bytes = realloc(file->bytes, (size_t)capacity);
    if (bytes == NULL) return SQLITE_IOERR_NOMEM;
    memset(bytes + file->capacity, 0, (size_t)(capacity - file->capacity));
    file->bytes = bytes;
    file->capacity = capacity;
    return SQLITE_OK;
}

static int record(node *file, int64_t offset, int64_t length, const void *bytes) {
    change *entry = malloc(sizeof(change) + (size_t)(length > 0 ? length : 0));
    if (entry == NULL) return SQLITE_IOERR_NOMEM;
    entry->next = NULL;
    entry->offset = offset;
    entry->length = length;
    if (length > 0) memcpy(entry->bytes, bytes, (size_t)length);
    if (file->last != NULL) file->last->next = entry; else file->first = entry;
    file->last = entry;
    return SQLITE_OK;
}

static void forget_changes(node *file) {
    while (file->first != NULL) {
        change *next = file->first->next;
        free(file->first);
        file->first = next;
    }
    file->last = NULL;
}

static void write_at(FILE *stream, int64_t offset, const unsigned char *bytes, int64_t length) {
    fseeko(stream, (off_t)offset, SEEK_SET);
    fwrite(bytes, 1, (size_t)length, stream);
}

// Brings changes to the real file; with a seed, only an arbitrary part of them.
static void settle(node *file, uint64_t *seed) {
    FILE *stream = fopen(file->path, "r+b");
    if (stream != NULL) {
        for (change *entry = file->first; entry != NULL; entry = entry->next) {
            if (seed != NULL && next_random(seed) % 2 == 0) continue;
            if (entry->length < 0) {
                fflush(stream);
                if (ftruncate(fileno(stream), (off_t)entry->offset) != 0) break;
                continue;
            }
            for (int64_t done = 0; done < entry->length; done += 512) {
                if (seed != NULL && next_random(seed) % 8 == 0) continue;
                int64_t length = entry->length - done < 512 ? entry->length - done : 512;
                write_at(stream, entry->offset + done, entry->bytes + done, length);
            }
        }
        fclose(stream);
    }
    forget_changes(file);
}

static node *find(chatroom_fault_vfs *disk, const char *path) {
    for (node *file = disk->nodes; file != NULL; file = file->next)
        if (strcmp(file->path, path) == 0) return file;
    return NULL;
}

static void discard(chatroom_fault_vfs *disk, node *file) {
    for (node **link = &disk->nodes; *link != NULL; link = &(*link)->next) {
        if (*link != file) continue;
        *link = file->next;
        break;
    }
    forget_changes(file);
    free(file->bytes);
    free(file->path);
    free(file);
}

// The node of a path; the first time, with what the real file holds.
static node *load(chatroom_fault_vfs *disk, const char *path, int existed, int syncs_directory) {
    node *file = find(disk, path);
    if (file != NULL) return file;
    file = calloc(1, sizeof(node));
    if (file == NULL) return NULL;
    file->path = strdup(path);
    file->named = existed;
    file->syncs_directory = syncs_directory;
    FILE *stream = fopen(path, "rb");
    if (stream != NULL) {
        fseeko(stream, 0, SEEK_END);
        int64_t size = (int64_t)ftello(stream);
        fseeko(stream, 0, SEEK_SET);
        if (size > 0 && reserve(file, size) == SQLITE_OK)
            file->size = (int64_t)fread(file->bytes, 1, (size_t)size, stream);
        fclose(stream);
    }
    file->next = disk->nodes;
    disk->nodes = file;
    return file;
}

// Ends the doubt about deleted files: with a seed, an arbitrary part of them comes back.
static void bury(chatroom_fault_vfs *disk, uint64_t *seed) {
    while (disk->ghosts != NULL) {
        ghost *left = disk->ghosts;
        disk->ghosts = left->next;
        if (seed != NULL && next_random(seed) % 2 == 0 && access(left->path, F_OK) != 0)
            rename(left->kept, left->path);
        else
            unlink(left->kept);
        free(left->path);
        free(left->kept);
        free(left);
    }
}

static size_t directory_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path);
}

// Names that were made or removed in the directory of `path` are on the disk from here on. Deletions elsewhere may be
// settled too early, which no user of one directory at a time notices.
static void sync_directory(chatroom_fault_vfs *disk, const char *path) {
    size_t length = directory_length(path);
    for (node *file = disk->nodes; file != NULL; file = file->next)
        if (directory_length(file->path) == length && strncmp(file->path, path, length) == 0) file->named = 1;
    bury(disk, NULL);
}

// MARK: - Files

static int fault_close(sqlite3_file *base) {
    fault_file *file = (fault_file *)base;
    lock(file->disk);
    if (file->node != NULL) file->node->handles -= 1;
    unlock(file->disk);
    int result = file->real->pMethods != NULL ? file->real->pMethods->xClose(file->real) : SQLITE_OK;
    free(file->real);
    return result;
}

static int fault_read(sqlite3_file *base, void *buffer, int amount, sqlite3_int64 offset) {
    fault_file *file = (fault_file *)base;
    if (file->node == NULL) return file->real->pMethods->xRead(file->real, buffer, amount, offset);
    lock(file->disk);
    int result = SQLITE_OK;
    if (!file->disk->powered) {
        result = SQLITE_IOERR_READ;
    } else {
        int64_t there = file->node->size - offset;
        if (there < 0) there = 0;
        if (there > amount) there = amount;
        if (there > 0) memcpy(buffer, file->node->bytes + offset, (size_t)there);
        if (there < amount) {
            memset((unsigned char *)buffer + there, 0, (size_t)(amount - there));
            result = SQLITE_IOERR_SHORT_READ;
        }
    }
    unlock(file->disk);
    return result;
}

static int fault_write(sqlite3_file *base, const void *bytes, int amount, sqlite3_int64 offset) {
    fault_file *file = (fault_file *)base;
    if (file->node == NULL) return file->real->pMethods->xWrite(file->real, bytes, amount, offset);
    lock(file->disk);
    int result = SQLITE_OK;
    if (file->disk->writes_until_full >= 0 && file->disk->writes_until_full-- == 0) file->disk->full = 1;
    if (!tick(file->disk)) result = SQLITE_IOERR_WRITE;
    else if (file->disk->full) result = SQLITE_FULL;
    else if (file->disk->failing_writes) result = SQLITE_IOERR_WRITE;
    // As write-ahead logs write over their own bytes, for which there is always space.
    else if (file->disk->database_full && !file->node->syncs_directory) result = SQLITE_FULL;
    if (result == SQLITE_OK) result = reserve(file->node, offset + amount);
    if (result == SQLITE_OK) result = record(file->node, offset, amount, bytes);
    if (result == SQLITE_OK) {
        memcpy(file->node->bytes + offset, bytes, (size_t)amount);
        if (offset + amount > file->node->size) file->node->size = offset + amount;
    }
    unlock(file->disk);
    return result;
}

static int fault_truncate(sqlite3_file *base, sqlite3_int64 size) {
    fault_file *file = (fault_file *)base;
    if (file->node == NULL) return file->real->pMethods->xTruncate(file->real, size);
    lock(file->disk);
    int result = tick(file->disk) ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
    if (result == SQLITE_OK) result = record(file->node, size, -1, NULL);
    if (result == SQLITE_OK && size < file->node->size) {
        memset(file->node->bytes + size, 0, (size_t)(file->node->size - size));
        file->node->size = size;
    }
    unlock(file->disk);
    return result;
}

static int fault_sync(sqlite3_file *base, int flags) {
    fault_file *file = (fault_file *)base;
    if (file->node == NULL) return file->real->pMethods->xSync(file->real, flags);
    chatroom_fault_vfs *disk = file->disk;
    lock(disk);
    uint32_t delay = disk->sync_delay;
    unlock(disk);
    if (delay > 0) usleep(delay);
    lock(disk);
    int result = SQLITE_OK;
    if (!tick(disk)) {
        result = SQLITE_IOERR_FSYNC;
    } else if (disk->failing_syncs != 0) {
        if (disk->failing_syncs > 0) disk->failing_syncs -= 1;
        forget_changes(file->node);
        result = SQLITE_IOERR_FSYNC;
    } else {
        settle(file->node, NULL);
        if (file->node->syncs_directory && !file->node->named) sync_directory(disk, file->node->path);
        disk->syncs += 1;
    }
    unlock(disk);
    return result;
}

static int fault_size(sqlite3_file *base, sqlite3_int64 *size) {
    fault_file *file = (fault_file *)base;
    if (file->node == NULL) return file->real->pMethods->xFileSize(file->real, size);
    lock(file->disk);
    *size = file->node->size;
    int result = file->disk->powered ? SQLITE_OK : SQLITE_IOERR_FSTAT;
    unlock(file->disk);
    return result;
}

static sqlite3_file *real_of(sqlite3_file *base) { return ((fault_file *)base)->real; }

static int fault_lock(sqlite3_file *base, int level) { return real_of(base)->pMethods->xLock(real_of(base), level); }
static int fault_unlock(sqlite3_file *base, int level) { return real_of(base)->pMethods->xUnlock(real_of(base), level); }
static int fault_check(sqlite3_file *base, int *out) {
    return real_of(base)->pMethods->xCheckReservedLock(real_of(base), out);
}

static int fault_control(sqlite3_file *base, int operation, void *argument) {
    // These would change the real file behind its node.
    if (operation == SQLITE_FCNTL_SIZE_HINT || operation == SQLITE_FCNTL_CHUNK_SIZE) return SQLITE_OK;
    return real_of(base)->pMethods->xFileControl(real_of(base), operation, argument);
}

static int fault_sector(sqlite3_file *base) { return real_of(base)->pMethods->xSectorSize(real_of(base)); }
static int fault_device(sqlite3_file *base) { return real_of(base)->pMethods->xDeviceCharacteristics(real_of(base)); }
static int fault_shm_map(sqlite3_file *base, int page, int size, int extend, void volatile **out) {
    return real_of(base)->pMethods->xShmMap(real_of(base), page, size, extend, out);
}
static int fault_shm_lock(sqlite3_file *base, int offset, int count, int flags) {
    return real_of(base)->pMethods->xShmLock(real_of(base), offset, count, flags);
}
static void fault_shm_barrier(sqlite3_file *base) { real_of(base)->pMethods->xShmBarrier(real_of(base)); }
static int fault_shm_unmap(sqlite3_file *base, int drop) {
    return real_of(base)->pMethods->xShmUnmap(real_of(base), drop);
}

// Version 2: no memory mapping of file contents, which would pass the node by.
static const sqlite3_io_methods fault_methods = {
    .iVersion = 2,
    .xClose = fault_close,
    .xRead = fault_read,
    .xWrite = fault_write,
    .xTruncate = fault_truncate,
    .xSync = fault_sync,
    .xFileSize = fault_size,
    .xLock = fault_lock,
    .xUnlock = fault_unlock,
    .xCheckReservedLock = fault_check,
    .xFileControl = fault_control,
    .xSectorSize = fault_sector,
    .xDeviceCharacteristics = fault_device,
    .xShmMap = fault_shm_map,
    .xShmLock = fault_shm_lock,
    .xShmBarrier = fault_shm_barrier,
    .xShmUnmap = fault_shm_unmap,
};

// MARK: - The file system

static int fault_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *out_flags) {
    chatroom_fault_vfs *disk = (chatroom_fault_vfs *)vfs;
    fault_file *file = (fault_file *)base;
    memset(file, 0, sizeof *file);
    lock(disk);
    int powered = disk->powered;
    unlock(disk);
    if (!powered) return SQLITE_CANTOPEN;
    sqlite3_file *real = calloc(1, (size_t)disk->real->szOsFile);
    if (real == NULL) return SQLITE_NOMEM;
    int existed = path != NULL && access(path, F_OK) == 0;
    int result = disk->real->xOpen(disk->real, path, real, flags, out_flags);
    if (result != SQLITE_OK) {
        if (real->pMethods != NULL) real->pMethods->xClose(real);
        free(real);
        return result;
    }
    file->disk = disk;
    file->real = real;
    int kept = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL;
    if (path != NULL && (flags & kept) != 0 && (flags & SQLITE_OPEN_DELETEONCLOSE) == 0) {
        lock(disk);
        file->node = load(disk, path, existed, (flags & SQLITE_OPEN_MAIN_DB) == 0);
        if (file->node != NULL) file->node->handles += 1;
        unlock(disk);
    }
    file->base.pMethods = &fault_methods;
    return SQLITE_OK;
}

static int fault_delete(sqlite3_vfs *vfs, const char *path, int sync_directory) {
    chatroom_fault_vfs *disk = (chatroom_fault_vfs *)vfs;
    lock(disk);
    int result = SQLITE_OK;
    if (!tick(disk)) {
        result = SQLITE_IOERR_DELETE;
    } else {
        node *file = find(disk, path);
        int named = file == NULL || file->named;
        if (file != NULL && file->handles == 0) discard(disk, file);
        ghost *left = named && !sync_directory ? calloc(1, sizeof(ghost)) : NULL;
        if (left != NULL) {
            left->path = strdup(path);
            left->kept = malloc(strlen(path) + 16);
            sprintf(left->kept, "%s-deleted", path);
            if (rename(path, left->kept) != 0) result = SQLITE_IOERR_DELETE_NOENT;
            left->next = disk->ghosts;
            disk->ghosts = left;
        } else {
            result = disk->real->xDelete(disk->real, path, sync_directory);
        }
    }
    unlock(disk);
    return result;
}

static int fault_access(sqlite3_vfs *vfs, const char *path, int flags, int *out) {
    chatroom_fault_vfs *disk = (chatroom_fault_vfs *)vfs;
    if (!chatroom_fault_vfs_is_powered(disk)) return SQLITE_IOERR_ACCESS;
    return disk->real->xAccess(disk->real, path, flags, out);
}

chatroom_fault_vfs *chatroom_fault_vfs_create(const char *name) {
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    chatroom_fault_vfs *disk = calloc(1, sizeof *disk);
    if (real == NULL || disk == NULL) {
        free(disk);
        return NULL;
    }
    disk->real = real;
    disk->vfs = *real;
    disk->name = strdup(name);
    disk->vfs.zName = disk->name;
    disk->vfs.szOsFile = (int)sizeof(fault_file);
    disk->vfs.pNext = NULL;
    disk->vfs.xOpen = fault_open;
    disk->vfs.xDelete = fault_delete;
    disk->vfs.xAccess = fault_access;
    disk->powered = 1;
    disk->operations_left = -1;
    disk->writes_until_full = -1;
    pthread_mutex_init(&disk->mutex, NULL);
    if (sqlite3_vfs_register(&disk->vfs, 0) != SQLITE_OK) {
        free(disk->name);
        free(disk);
        return NULL;
    }
    return disk;
}

void chatroom_fault_vfs_destroy(chatroom_fault_vfs *disk) {
    sqlite3_vfs_unregister(&disk->vfs);
    while (disk->nodes != NULL) {
        settle(disk->nodes, NULL);
        discard(disk, disk->nodes);
    }
    bury(disk, NULL);
    pthread_mutex_destroy(&disk->mutex);
    free(disk->name);
    free(disk);
}

// MARK: - Faults

void chatroom_fault_vfs_fail_syncs(chatroom_fault_vfs *disk, int64_t count) {
    lock(disk);
    disk->failing_syncs = count;
    unlock(disk);
}

void chatroom_fault_vfs_set_full(chatroom_fault_vfs *disk, int full) {
    lock(disk);
    disk->full = full;
    disk->writes_until_full = -1;
    unlock(disk);
}

void chatroom_fault_vfs_set_database_full(chatroom_fault_vfs *disk, int full) {
    lock(disk);
    disk->database_full = full;
    unlock(disk);
}

void chatroom_fault_vfs_set_failing_writes(chatroom_fault_vfs *disk, int failing) {
    lock(disk);
    disk->failing_writes = failing;
    unlock(disk);
}

void chatroom_fault_vfs_fill_up_after(chatroom_fault_vfs *disk, int64_t writes) {
    lock(disk);
    disk->writes_until_full = writes;
    unlock(disk);
}

void chatroom_fault_vfs_delay_syncs(chatroom_fault_vfs *disk, uint32_t microseconds) {
    lock(disk);
    disk->sync_delay = microseconds;
    unlock(disk);
}

void chatroom_fault_vfs_cut_power(chatroom_fault_vfs *disk) {
    lock(disk);
    disk->powered = 0;
    unlock(disk);
}

void chatroom_fault_vfs_cut_power_after(chatroom_fault_vfs *disk, int64_t operations) {
    lock(disk);
    disk->operations_left = operations;
    unlock(disk);
}

int chatroom_fault_vfs_power_on(chatroom_fault_vfs *disk, uint64_t seed) {
    lock(disk);
    int handles = 0;
    for (node *file = disk->nodes; file != NULL; file = file->next) handles += file->handles;
    if (handles == 0) {
        uint64_t state = seed;
        uint64_t *random = seed == 0 ? NULL : &state;
        while (disk->nodes != NULL) {
            node *file = disk->nodes;
            int survives = file->named || (random != NULL && next_random(random) % 2 == 0);
            if (!survives) unlink(file->path);
            else if (random != NULL) settle(file, random);
            discard(disk, file);
        }
        bury(disk, random);
        disk->powered = 1;
        disk->operations_left = -1;
    }
    unlock(disk);
    return handles;
}

int chatroom_fault_vfs_is_powered(chatroom_fault_vfs *disk) {
    lock(disk);
    int powered = disk->powered;
    unlock(disk);
    return powered;
}

int64_t chatroom_fault_vfs_operations(chatroom_fault_vfs *disk) {
    lock(disk);
    int64_t operations = disk->operations;
    unlock(disk);
    return operations;
}

int64_t chatroom_fault_vfs_syncs(chatroom_fault_vfs *disk) {
    lock(disk);
    int64_t syncs = disk->syncs;
    unlock(disk);
    return syncs;
}
