#define _GNU_SOURCE
#include "CShims.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>

_Thread_local const void *chatroom_thread_loop = NULL;

/// Linux allows 15 bytes and the terminator.
enum { thread_name_capacity = 16 };

struct start {
    void (*body)(void *);
    void *context;
    char name[thread_name_capacity];
};

static void *run(void *argument) {
    struct start start = *(struct start *)argument;
    free(argument);
    // A thread that runs without its name is still right: the result does not matter.
    (void)pthread_setname_np(pthread_self(), start.name);
    start.body(start.context);
    return NULL;
}

int chatroom_start_thread(const char *name, void (*body)(void *), void *context) {
    struct start *start = calloc(1, sizeof *start);
    if (start == NULL) return -ENOMEM;
    start->body = body;
    start->context = context;
    strncpy(start->name, name, thread_name_capacity - 1);
    pthread_t thread;
    int result = pthread_create(&thread, NULL, run, start);
    if (result != 0) {
        free(start);
        return -result;
    }
    (void)pthread_detach(thread);
    return 0;
}

int chatroom_make_wakeup(void) {
    int wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return wakeup >= 0 ? wakeup : -errno;
}

// It fails only where 2^64 wakes have not been taken: it can be read then.
void chatroom_wake(int wakeup) { (void)eventfd_write(wakeup, 1); }

void chatroom_take_wakeup(int wakeup) {
    eventfd_t wakes;
    (void)eventfd_read(wakeup, &wakes);
}

int chatroom_wait_for_cpu(void) {
    struct sched_param priority = {.sched_priority = 0};
    // pthread_setschedparam would not know SCHED_BATCH of every C library; 0 is the calling thread.
    return sched_setscheduler(0, SCHED_BATCH, &priority) == 0 ? 0 : -errno;
}

int chatroom_give_way(void) {
    errno = 0;
    // -1 may be the thread's own.
    int niceness = getpriority(PRIO_PROCESS, 0);
    if (errno != 0) return -errno;
    return setpriority(PRIO_PROCESS, 0, niceness + 10) == 0 ? 0 : -errno;
}

void chatroom_ignore_sigpipe(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, NULL);
}

uint64_t chatroom_thread_cpu_nanoseconds(void) {
    struct timespec used;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) != 0) return 0;
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}
