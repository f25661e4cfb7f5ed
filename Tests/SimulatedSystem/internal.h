/// What the parts of the simulated system share.
#ifndef CHATROOM_SIMULATED_INTERNAL_H
#define CHATROOM_SIMULATED_INTERNAL_H

#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "include/SimulatedSystem.h"

enum { sim_hosts_max = 512, sim_addresses = 256 };
#define SIM_NEVER UINT64_MAX

typedef struct sim_host_state sim_host_state;

typedef struct sim_thread {
    struct sim_thread *next;
    sem_t turn;
    sim_host_state *host;
    /// It may run as soon as it is chosen.
    bool is_ready;
    bool has_ended;
    /// Counts its waits, so that an alarm of a former one wakes nobody.
    uint64_t wait;
    bool was_signalled;
    char name[16];
    void (*body)(void *);
    void *context;
} sim_thread;

typedef struct sim_job {
    struct sim_job *next;
    void *job;
    /// What to call with it; NULL: it is a job of Swift's.
    void (*function)(void *);
    int host;
} sim_job;

struct sim_host_state {
    int number;
    uint8_t address;
    bool is_frozen;
    bool is_dead;
    int64_t skew;
    int disk;
    uint64_t sync_time;
    uint64_t random;
    /// Threads that would run if the host were not frozen.
    sim_thread *parked[128];
    int parked_count;
    /// Swift's global executor on this host.
    sim_job *first_job, *last_job;
    sim_thread *pool;
    bool pool_waits;
    uint16_t next_port;
    uint64_t processor_time;
};

/// The thread of the simulation that runs here; NULL on every other thread.
extern _Thread_local sim_thread *sim_self;

extern sim_host_state *sim_hosts[sim_hosts_max];

/// Gives the processor to another thread until woken or until the time has come. False: the time has come.
bool sim_wait_until(uint64_t time);
/// Lets a thread that waits go on.
void sim_wake(sim_thread *thread);
sim_thread *sim_new_thread(sim_host_state *host, const char *name, void (*body)(void *), void *context);
/// Calls `act` at a time, between the turns of threads.
void sim_at(uint64_t time, void (*act)(void *context, uint64_t tag), void *context, uint64_t tag);
/// A thread of the C library's, for a thread of the simulation. Returns 0 or an error number.
int sim_real_thread(void *(*body)(void *), void *argument);
/// Lets the clock go on, as work does.
void sim_work(uint64_t nanoseconds);
void sim_note(uint64_t what);
uint64_t sim_draw(uint64_t *state);
/// Of a host, or of the simulation where there is none.
uint64_t sim_host_random(void);
_Noreturn void sim_fail(const char *why);

// Network, for hosts that end.
void sim_network_host_died(sim_host_state *host, bool with_machine);
// Swift's global executor.
void sim_tasks_start(void);
void sim_pool_start(sim_host_state *host);

static inline void *sim_calloc(size_t size) {
    void *memory = calloc(1, size);
    if (memory == NULL) abort();
    return memory;
}

#endif
