/// C that Swift cannot express: variadic C functions, thread-local storage, and system calls whose flags are macros.
///
/// Functions that can fail return a negative `errno` value, which on Unix is also libuv's error code.
#ifndef CHATROOM_CSHIMS_H
#define CHATROOM_CSHIMS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct sqlite3;

/// Leaves the write-ahead log in place when the last connection closes (SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE).
/// Returns an SQLite result code. `sqlite3_db_config` is variadic, which Swift does not import.
int chatroom_sqlite_no_checkpoint_on_close(struct sqlite3 *database);

/// Refuses functions and virtual tables with side effects in a schema (SQLITE_DBCONFIG_TRUSTED_SCHEMA off).
/// Returns an SQLite result code.
int chatroom_sqlite_trusted_schema_off(struct sqlite3 *database);

/// Whether the processor has the instruction of the next function.
int chatroom_has_crc32c(void);

/// The remainder of CRC-32C after further bytes, by the processor's instruction for it. Swift has none for it.
uint32_t chatroom_crc32c(uint32_t remainder, const void *bytes, size_t count);

/// The event loop whose thread this is; NULL on every other thread. Use the two functions below.
extern _Thread_local const void *chatroom_thread_loop;

/// The identity of the event loop that runs on the calling thread, or NULL.
static inline const void *chatroom_current_loop(void) { return chatroom_thread_loop; }

/// Declares the calling thread to be the thread of `loop`; NULL when it ends.
static inline void chatroom_set_current_loop(const void *loop) { chatroom_thread_loop = loop; }

/// Starts a detached thread named by the first 15 bytes of `name`. Returns 0 or a negative errno value.
int chatroom_start_thread(const char *name, void (*body)(void *context), void *context);

/// A descriptor that can be read after each wake (eventfd(2)). Returns it or a negative errno value.
int chatroom_make_wakeup(void);

/// From any thread.
void chatroom_wake(int wakeup);

/// It can't be read any more until the next wake.
void chatroom_take_wakeup(int wakeup);

/// The calling thread keeps its share of the CPUs, but no longer pushes another thread from one when it wakes up
/// (SCHED_BATCH, sched(7)). Returns 0 or a negative errno value.
int chatroom_wait_for_cpu(void);

/// The calling thread gets about a tenth of the CPU that it would get, where there is too little for all (nice(2), which holds for
/// one thread on Linux). Returns 0 or a negative errno value.
int chatroom_give_way(void);

/// Has the disk begin with a part of a file that was written, without waiting for it (sync_file_range(2)). It promises nothing.
/// Returns 0 or a negative errno value.
int chatroom_begin_writing(int descriptor, int64_t offset, int64_t count);

/// Opens a file that is there for writing past the page cache (O_DIRECT).
///
/// `block` becomes the size of what is written: offset, length and memory are multiples of it. Returns the descriptor or a negative
/// errno value; -EINVAL where the file system can't, or does not say how.
int chatroom_open_direct(const char *path, uint32_t *block);

/// Writes past the page cache, and returns what was written or a negative errno value. `durable`: it is on the disk then (RWF_DSYNC).
int64_t chatroom_write_direct(int descriptor, const void *bytes, size_t count, int64_t offset, int durable);

/// Ignores SIGPIPE in the whole process, so that writing to a closed socket is an error and not the end.
void chatroom_ignore_sigpipe(void);

/// The CPU time that the calling thread has used, in nanoseconds; 0 where the system does not tell.
uint64_t chatroom_thread_cpu_nanoseconds(void);

/// A listening, non-blocking TCP socket bound to `address` with SO_REUSEADDR and, when `reuse_port` is not 0,
/// SO_REUSEPORT (libuv 1.44 cannot set the latter). Returns the descriptor or a negative errno value.
int chatroom_listen(const struct sockaddr *address, socklen_t length, int reuse_port, int backlog);

/// A non-blocking TCP socket with TCP_NODELAY for an outgoing connection to an address of `family`. It is bound to
/// `source` when that is not NULL; the source port is chosen at connect. Returns the descriptor or a negative errno.
int chatroom_outgoing_socket(int family, const struct sockaddr *source, socklen_t length);

/// Accepts one connection as a non-blocking socket with TCP_NODELAY. Returns the descriptor or a negative errno
/// value; a connection that failed before it was accepted is -ECONNABORTED.
int chatroom_accept(int listener);

/// Whether bytes of the peer wait to be read; 0 too where the peer has only ended.
static inline int chatroom_has_input(int descriptor) {
    char byte;
    return recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/// Sends what the system takes of the bytes at once. Returns how many it took or a negative errno value.
static inline ssize_t chatroom_send(int descriptor, const void *bytes, size_t count) {
    ssize_t taken = send(descriptor, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    return taken < 0 ? -errno : taken;
}

/// A descriptor on /dev/null, to be closed when descriptors run out. Returns it or a negative errno value.
int chatroom_reserve_descriptor(void);

/// Closes a descriptor that libuv does not own.
void chatroom_close(int descriptor);

#endif
