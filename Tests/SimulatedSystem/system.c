// The functions of the C library that look at clock, chance, threads, sockets and disks. On threads that are not
// simulated they are what they were.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "network.h"

static void fill(void *bytes, size_t count);

#define REAL(name, type) \
    static type real; \
    if (real == NULL) real = (type)dlsym(RTLD_NEXT, name)

/// Libraries draw random numbers by this, and wait for locks. Everything but chance goes on to the kernel.
long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long arguments[6];
    for (int place = 0; place < 6; place++) arguments[place] = va_arg(list, long);
    va_end(list);
    if (number == SYS_getrandom && sim_self != NULL) {
        fill((void *)arguments[0], (size_t)arguments[1]);
        return arguments[1];
    }
#if defined(__x86_64__)
    register long fourth __asm__("r10") = arguments[3];
    register long fifth __asm__("r8") = arguments[4];
    register long sixth __asm__("r9") = arguments[5];
    long result;
    __asm__ volatile(
        "syscall" : "=a"(result)
        : "a"(number), "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]), "r"(fourth), "r"(fifth), "r"(sixth)
        : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long which __asm__("x8") = number;
    register long result __asm__("x0") = arguments[0];
    register long second __asm__("x1") = arguments[1];
    register long third __asm__("x2") = arguments[2];
    register long fourth __asm__("x3") = arguments[3];
    register long fifth __asm__("x4") = arguments[4];
    register long sixth __asm__("x5") = arguments[5];
    __asm__ volatile(
        "svc 0" : "+r"(result)
        : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth) : "memory");
#else
#error "how this processor calls the kernel is to be written here"
#endif
    if (result >= 0 || result < -4095) return result;
    errno = (int)-result;
    return -1;
}

// MARK: - The clock

/// Some day, in seconds since 1970.
static const int64_t began = 1790000000;

static int64_t wall(void) { return began * 1000000000 + (int64_t)sim_now() + sim_self->host->skew; }

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (sim_self == NULL) return (int)syscall(SYS_clock_gettime, clock, time);
    int64_t now = 0;
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE: now = wall(); break;
    default:
        sim_work(60);
        now = (int64_t)sim_now();
    }
    time->tv_sec = now / 1000000000;
    time->tv_nsec = now % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    if (sim_self == NULL) return (int)syscall(SYS_gettimeofday, time, zone);
    int64_t now = wall();
    time->tv_sec = now / 1000000000;
    time->tv_usec = now % 1000000000 / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result != NULL) *result = now.tv_sec;
    return now.tv_sec;
}

int nanosleep(const struct timespec *duration, struct timespec *rest) {
    if (sim_self == NULL) return (int)syscall(SYS_nanosleep, duration, rest);
    sim_sleep((uint64_t)duration->tv_sec * 1000000000u + (uint64_t)duration->tv_nsec);
    return 0;
}

int usleep(useconds_t microseconds) {
    struct timespec duration = {microseconds / 1000000, (long)(microseconds % 1000000) * 1000};
    return nanosleep(&duration, NULL);
}

unsigned int sleep(unsigned int seconds) {
    struct timespec duration = {seconds, 0};
    nanosleep(&duration, NULL);
    return 0;
}

// MARK: - Chance

static void fill(void *bytes, size_t count) {
    unsigned char *place = bytes;
    while (count > 0) {
        uint64_t number = sim_host_random();
        size_t part = count < sizeof number ? count : sizeof number;
        memcpy(place, &number, part);
        place += part;
        count -= part;
    }
}

/// Of Swift's standard library.
void swift_stdlib_random(void *bytes, size_t count);
void swift_stdlib_random(void *bytes, size_t count) {
    if (sim_self != NULL) return fill(bytes, count);
    while (count > 0) {
        ssize_t got = syscall(SYS_getrandom, bytes, count, 0);
        if (got <= 0) abort();
        bytes = (char *)bytes + got;
        count -= (size_t)got;
    }
}

ssize_t getrandom(void *bytes, size_t count, unsigned int flags) {
    if (sim_self == NULL) return syscall(SYS_getrandom, bytes, count, flags);
    fill(bytes, count);
    return (ssize_t)count;
}

/// Of OpenSSL.
int RAND_bytes(unsigned char *bytes, int count);
int RAND_bytes(unsigned char *bytes, int count) {
    swift_stdlib_random(bytes, (size_t)count);
    return 1;
}

// MARK: - Threads

typedef struct {
    void *(*body)(void *);
    void *argument;
} start;

static void run_start(void *context) {
    start begun = *(start *)context;
    free(context);
    (void)begun.body(begun.argument);
}

typedef int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int sim_real_thread(void *(*body)(void *), void *argument) {
    REAL("pthread_create", create);
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int result = real(&thread, &attributes, body, argument);
    pthread_attr_destroy(&attributes);
    return result;
}

/// Whether a program's own code calls, and no library.
static bool is_own(const void *caller) {
    Dl_info own, other;
    return dladdr(caller, &other) != 0 && dladdr((const void *)(uintptr_t)sim_run, &own) != 0
        && own.dli_fbase == other.dli_fbase;
}

int pthread_create(
    pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*body)(void *),
    void *restrict argument) {
    if (sim_self != NULL && is_own(__builtin_return_address(0))) {
        start *begun = malloc(sizeof *begun);
        if (begun == NULL) return ENOMEM;
        *begun = (start){body, argument};
        sim_new_thread(sim_self->host, "thread", run_start, begun);
        *thread = pthread_self();
        return 0;
    }
    REAL("pthread_create", create);
    return real(thread, attributes, body, argument);
}

/// The caller does not have the thread that it believes to have.
int pthread_detach(pthread_t thread) {
    if (sim_self != NULL && pthread_equal(thread, pthread_self())) return 0;
    typedef int (*detach)(pthread_t);
    REAL("pthread_detach", detach);
    return real(thread);
}

enum { lock_poll_nanoseconds = 20000 };

/// A thread that holds a mutex may wait for its disk. Another one that wants the mutex lets simulated time go on until
/// then, because the process's other threads only run when it waits here.
int pthread_mutex_lock(pthread_mutex_t *mutex) {
    typedef int (*lock)(pthread_mutex_t *);
    REAL("pthread_mutex_lock", lock);
    if (sim_self == NULL) return real(mutex);
    int result;
    while ((result = pthread_mutex_trylock(mutex)) == EBUSY) sim_sleep(lock_poll_nanoseconds);
    return result;
}

// A condition's waiting threads, found by its address.
typedef struct waiter {
    struct waiter *next;
    sim_thread *thread;
    const void *condition;
    bool is_told;
} waiter;

static waiter *waiters;

static int wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until) {
    waiter own = {waiters, sim_self, condition, false};
    waiters = &own;
    pthread_mutex_unlock(mutex);
    while (!own.is_told && sim_now() < until) sim_wait_until(until);
    waiter **place = &waiters;
    while (*place != &own) place = &(*place)->next;
    *place = own.next;
    pthread_mutex_lock(mutex);
    return own.is_told ? 0 : ETIMEDOUT;
}

int pthread_cond_wait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex) {
    if (sim_self != NULL) return wait_for(condition, mutex, SIM_NEVER);
    typedef int (*wait)(pthread_cond_t *, pthread_mutex_t *);
    REAL("pthread_cond_wait", wait);
    return real(condition, mutex);
}

int pthread_cond_timedwait(
    pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict time) {
    if (sim_self != NULL) {
        return wait_for(condition, mutex, (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec);
    }
    typedef int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    REAL("pthread_cond_timedwait", wait);
    return real(condition, mutex, time);
}

static void tell(const void *condition, bool all) {
    for (waiter *waiting = waiters; waiting != NULL; waiting = waiting->next) {
        if (waiting->condition != condition || waiting->is_told) continue;
        waiting->is_told = true;
        sim_wake(waiting->thread);
        if (!all) return;
    }
}

int pthread_cond_broadcast(pthread_cond_t *condition) {
    if (sim_self != NULL) {
        tell(condition, true);
        return 0;
    }
    typedef int (*broadcast)(pthread_cond_t *);
    REAL("pthread_cond_broadcast", broadcast);
    return real(condition);
}

int pthread_cond_signal(pthread_cond_t *condition) {
    if (sim_self != NULL) {
        tell(condition, false);
        return 0;
    }
    typedef int (*signal)(pthread_cond_t *);
    REAL("pthread_cond_signal", signal);
    return real(condition);
}

// MARK: - Sockets

int socket(int family, int type, int protocol) {
    if (sim_self == NULL || (type & SOCK_STREAM) == 0 || family != AF_INET) {
        return (int)syscall(SYS_socket, family, type, protocol);
    }
    return sim_socket_new(sim_self->host)->descriptor;
}

static int outcome(int result) {
    if (result >= 0) return result;
    errno = -result;
    return -1;
}

int bind(int descriptor, const struct sockaddr *address, socklen_t length) {
    sim_socket *socket = sim_socket_of(descriptor);
    if (socket == NULL) return (int)syscall(SYS_bind, descriptor, address, length);
    return outcome(sim_socket_bind(socket, (const struct sockaddr_in *)address));
}

int listen(int descriptor, int backlog) {
    sim_socket *socket = sim_socket_of(descriptor);
    if (socket == NULL) return (int)syscall(SYS_listen, descriptor, backlog);
    return outcome(sim_socket_listen(socket));
}

int accept4(int descriptor, struct sockaddr *restrict address, socklen_t *restrict length, int flags) {
    sim_socket *listener = sim_socket_of(descriptor);
    if (listener == NULL) return (int)syscall(SYS_accept4, descriptor, address, length, flags);
    sim_socket *accepted = sim_socket_accept(listener);
    return outcome(accepted == NULL ? -EAGAIN : accepted->descriptor);
}

int setsockopt(int descriptor, int level, int option, const void *value, socklen_t length) {
    sim_socket *socket = sim_socket_of(descriptor);
    if (socket == NULL) return (int)syscall(SYS_setsockopt, descriptor, level, option, value, length);
    if (level == SOL_SOCKET && option == SO_REUSEPORT) socket->shares_port = true;
    if (level == SOL_SOCKET && option == SO_RCVBUF && length >= sizeof(int) && socket->peer != NULL) {
        int bytes = 0;
        memcpy(&bytes, value, sizeof bytes);
        socket->peer->window = (size_t)bytes * 2;
    }
    return 0;
}

int getsockname(int descriptor, struct sockaddr *restrict name, socklen_t *restrict length) {
    sim_socket *socket = sim_socket_of(descriptor);
    if (socket == NULL) return (int)syscall(SYS_getsockname, descriptor, name, length);
    memcpy(name, &socket->local, sizeof socket->local);
    *length = sizeof socket->local;
    return 0;
}

ssize_t send(int descriptor, const void *bytes, size_t count, int flags) {
    sim_socket *socket = sim_socket_of(descriptor);
    if (socket == NULL) return syscall(SYS_sendto, descriptor, bytes, count, flags, NULL, 0);
    ssize_t taken = sim_socket_send(socket, bytes, count);
    if (taken >= 0) return taken;
    errno = (int)-taken;
    return -1;
}

int close(int descriptor) {
    sim_socket *socket = sim_socket_of(descriptor);
    if (socket == NULL) return (int)syscall(SYS_close, descriptor);
    sim_socket_close(socket);
    return 0;
}

// An eventfd is a socket to which nobody is connected: it can be read when it has been written.

int eventfd(unsigned count, int flags) {
    if (sim_self == NULL) return (int)syscall(SYS_eventfd2, count, flags);
    return sim_socket_new(sim_self->host)->descriptor;
}

int eventfd_write(int descriptor, eventfd_t value) {
    sim_socket *socket = sim_socket_of(descriptor);
    if (socket == NULL) return write(descriptor, &value, sizeof value) == sizeof value ? 0 : -1;
    bool was_readable = socket->count > 0;
    socket->count = 1;
    if (!was_readable && socket->changed != NULL) socket->changed(socket->owner);
    return 0;
}

int eventfd_read(int descriptor, eventfd_t *value) {
    sim_socket *socket = sim_socket_of(descriptor);
    if (socket == NULL) return read(descriptor, value, sizeof *value) == sizeof *value ? 0 : -1;
    *value = socket->count;
    socket->count = 0;
    return 0;
}

// MARK: - Disks

void sim_disk(int host, enum sim_disk state) { sim_hosts[host]->disk = state; }

/// Whether the host's disk takes what is written; sets errno if not.
static bool takes(int descriptor) {
    if (sim_self == NULL || sim_self->host->disk == sim_disk_sound) return true;
    struct stat status;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return true;
    while (sim_self->host->disk == sim_disk_hanging) sim_sleep(10000000);
    if (sim_self->host->disk == sim_disk_sound) return true;
    errno = sim_self->host->disk == sim_disk_full ? ENOSPC : EIO;
    return false;
}

// A write or truncation that has not been synced, with what was there before it.
typedef struct undo {
    struct undo *older;
    off64_t offset, size;
    size_t count;
    unsigned char bytes[];
} undo;

// A file with such changes.
typedef struct unsynced {
    struct unsynced *next;
    int host;
    dev_t device;
    ino_t file;
    /// Its own, since the program may close the other.
    int descriptor;
    undo *newest;
} unsynced;

static unsynced *unsynced_files;

static unsynced *find_unsynced(int descriptor, bool makes) {
    struct stat status;
    if (sim_self == NULL || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return NULL;
    int host = sim_self->host->number;
    for (unsynced *found = unsynced_files; found != NULL; found = found->next) {
        if (found->host == host && found->device == status.st_dev && found->file == status.st_ino) return found;
    }
    if (!makes || host == 0) return NULL;
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    int own = open(path, O_RDWR | O_CLOEXEC);
    if (own < 0) return NULL;
    unsynced *made = sim_calloc(sizeof *made);
    made->host = host;
    made->device = status.st_dev;
    made->file = status.st_ino;
    made->descriptor = own;
    made->next = unsynced_files;
    unsynced_files = made;
    return made;
}

/// Remembers what is at a place before it is changed.
static void remember(int descriptor, off64_t offset, size_t count) {
    unsynced *file = find_unsynced(descriptor, true);
    if (file == NULL) return;
    struct stat status;
    if (fstat(file->descriptor, &status) != 0) return;
    size_t old = offset >= status.st_size ? 0 : (size_t)(status.st_size - offset);
    if (old > count) old = count;
    undo *change = malloc(sizeof *change + old);
    if (change == NULL) abort();
    change->offset = offset;
    change->size = status.st_size;
    change->count = old;
    if (old > 0 && pread(file->descriptor, change->bytes, old, offset) != (ssize_t)old) change->count = 0;
    change->older = file->newest;
    file->newest = change;
}

static void forget_undo(unsynced *file) {
    while (file->newest != NULL) {
        undo *older = file->newest->older;
        free(file->newest);
        file->newest = older;
    }
}

static void forget_synced(int descriptor) {
    unsynced *file = find_unsynced(descriptor, false);
    if (file == NULL) return;
    forget_undo(file);
    unsynced **place = &unsynced_files;
    while (*place != file) place = &(*place)->next;
    *place = file->next;
    syscall(SYS_close, file->descriptor);
    free(file);
}

uint64_t sim_lose_unsynced(int host) {
    uint64_t lost = 0;
    for (unsynced **place = &unsynced_files; *place != NULL;) {
        unsynced *file = *place;
        if (file->host != host) {
            place = &file->next;
            continue;
        }
        size_t count = 0;
        for (undo *change = file->newest; change != NULL; change = change->older) count += 1;
        // All of them one time in three, else some of the last.
        size_t gone = sim_random() % 3 == 0 ? count : sim_random() % (count + 1);
        for (undo *change = file->newest; gone > 0; change = change->older, gone--) {
            lost += 1;
            if (change->count > 0) {
                (void)!syscall(SYS_pwrite64, file->descriptor, change->bytes, change->count, change->offset);
            }
            (void)!syscall(SYS_ftruncate, file->descriptor, change->size);
        }
        forget_undo(file);
        *place = file->next;
        syscall(SYS_close, file->descriptor);
        free(file);
    }
    return lost;
}

static int synced(int descriptor) {
    uint64_t time = sim_self->host->sync_time;
    sim_sleep(time + sim_host_random() % (2 * time + 1));
    while (sim_self->host->disk == sim_disk_hanging) sim_sleep(10000000);
    if (sim_self->host->disk != sim_disk_failing) {
        forget_synced(descriptor);
        return 0;
    }
    errno = EIO;
    return -1;
}

int fsync(int descriptor) { return sim_self == NULL ? (int)syscall(SYS_fsync, descriptor) : synced(descriptor); }

int fdatasync(int descriptor) {
    return sim_self == NULL ? (int)syscall(SYS_fdatasync, descriptor) : synced(descriptor);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    if (!takes(descriptor)) return -1;
    if (sim_self != NULL && sim_self->host->number > 0) {
        off64_t place = lseek64(descriptor, 0, SEEK_CUR);
        if (place >= 0) remember(descriptor, place, count);
    }
    return syscall(SYS_write, descriptor, bytes, count);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    if (!takes(descriptor)) return -1;
    remember(descriptor, offset, count);
    return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    return pwrite64(descriptor, bytes, count, offset);
}

int ftruncate64(int descriptor, off64_t length) {
    if (!takes(descriptor)) return -1;
    remember(descriptor, length, SIZE_MAX / 2);
    return (int)syscall(SYS_ftruncate, descriptor, length);
}
