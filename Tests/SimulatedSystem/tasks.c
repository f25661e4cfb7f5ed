// Swift's global executor: jobs that belong to no actor of a loop, and sleeping tasks. Each host has one thread for them.
#define _GNU_SOURCE
#include <dlfcn.h>

#include "internal.h"

#define SWIFT_CC __attribute__((swiftcall))

typedef SWIFT_CC void (*enqueue)(void *job);
typedef SWIFT_CC void (*enqueue_after)(unsigned long long delay, void *job);
typedef SWIFT_CC void (*enqueue_at)(
    long long sec, long long nsec, long long tsec, long long tnsec, int clock, void *job);

extern SWIFT_CC void swift_job_run(void *job, void *executor, void *implementation);

static void put(sim_host_state *host, sim_job *entry) {
    if (host->last_job != NULL) host->last_job->next = entry; else host->first_job = entry;
    host->last_job = entry;
    if (host->pool_waits) sim_wake(host->pool);
}

static sim_job *make(void *job, void (*function)(void *)) {
    sim_job *entry = sim_calloc(sizeof *entry);
    entry->job = job;
    entry->function = function;
    entry->host = sim_self->host->number;
    return entry;
}

static void run_pool(void *context) {
    sim_host_state *host = context;
    while (true) {
        sim_job *entry = host->first_job;
        if (entry == NULL) {
            host->pool_waits = true;
            sim_wait_until(SIM_NEVER);
            host->pool_waits = false;
            continue;
        }
        host->first_job = entry->next;
        if (host->first_job == NULL) host->last_job = NULL;
        sim_job taken = *entry;
        free(entry);
        // NULL and NULL: the global executor itself.
        if (taken.function != NULL) taken.function(taken.job); else swift_job_run(taken.job, NULL, NULL);
        sim_work(1000);
    }
}

void sim_pool_start(sim_host_state *host) { host->pool = sim_new_thread(host, "pool", run_pool, host); }

static SWIFT_CC void take(void *job, enqueue original) {
    if (sim_self == NULL) return original(job);
    put(sim_self->host, make(job, NULL));
}

static void due(void *context, uint64_t tag) {
    (void)tag;
    sim_job *entry = context;
    sim_host_state *host = sim_hosts[entry->host];
    if (!host->is_dead) put(host, entry); else free(entry);
}

static SWIFT_CC void take_after(unsigned long long delay, void *job, enqueue_after original) {
    if (sim_self == NULL) return original(delay, job);
    sim_at(sim_now() + delay, due, make(job, NULL), 0);
}

static SWIFT_CC void take_at(
    long long sec, long long nsec, long long tsec, long long tnsec, int clock, void *job, enqueue_at original) {
    if (sim_self == NULL) return original(sec, nsec, tsec, tnsec, clock, job);
    long long time = sec < 0 ? 0 : sec > 1000000000 ? INT64_MAX : sec * 1000000000 + nsec;
    sim_at((uint64_t)time, due, make(job, NULL), 0);
}

/// Of libdispatch: Swift's sleeping tasks wait with it.
void dispatch_after_f(uint64_t when, void *queue, void *context, void (*function)(void *));
void dispatch_after_f(uint64_t when, void *queue, void *context, void (*function)(void *)) {
    if (sim_self == NULL) {
        void (*real)(uint64_t, void *, void *, void (*)(void *)) =
            (void (*)(uint64_t, void *, void *, void (*)(void *)))dlsym(RTLD_NEXT, "dispatch_after_f");
        return real(when, queue, context, function);
    }
    // The two highest bits tell which clock is meant; all go alike here. Times of the wall clock are negative.
    if ((when >> 62) == 3) sim_fail("a task sleeps until a time of the wall clock");
    sim_at(when & (UINT64_MAX >> 2), due, make(context, function), 0);
}

/// Puts a hook of Swift's runtime into its place, which is looked up in the library: a reference from here would be to a
/// copy.
static void hook(void *library, const char *name, const void *function) {
    const void **place = dlsym(library, name);
    if (place == NULL) sim_fail(name);
    *place = function;
}

void sim_tasks_start(void) {
    void *library = dlopen("libswift_Concurrency.so", RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL) sim_fail("Swift's concurrency is not a library of its own");
    hook(library, "swift_task_enqueueGlobal_hook", (const void *)(uintptr_t)take);
    hook(library, "swift_task_enqueueGlobalWithDelay_hook", (const void *)(uintptr_t)take_after);
    hook(library, "swift_task_enqueueGlobalWithDeadline_hook", (const void *)(uintptr_t)take_at);
}
