// Threads, one of which runs at a time, hosts, the clock and what is to happen.
#define _GNU_SOURCE
#include "internal.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    uint64_t at;
    uint64_t number;
    void (*act)(void *, uint64_t);
    void *context;
    uint64_t tag;
} event;

_Thread_local sim_thread *sim_self;
sim_host_state *sim_hosts[sim_hosts_max];

static int hosts_count;
static uint64_t now_nanoseconds;
static uint64_t chance, scheduling;
static uint64_t fingerprint = 0xcbf29ce484222325u;
static uint64_t turns;
static event *heap;
static size_t heap_count, heap_capacity;
static uint64_t events_made;
static sim_thread **ready;
static size_t ready_count, ready_capacity;

// MARK: - Chance and time

uint64_t sim_draw(uint64_t *state) {
    *state += 0x9E3779B97F4A7C15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint64_t sim_random(void) { return sim_draw(&chance); }
uint64_t sim_now(void) { return now_nanoseconds; }
void sim_work(uint64_t nanoseconds) { now_nanoseconds += nanoseconds; }
uint64_t sim_fingerprint(void) { return fingerprint; }
uint64_t sim_turns(void) { return turns; }

void sim_note(uint64_t what) {
    fingerprint ^= what + now_nanoseconds;
    fingerprint *= 0x100000001b3u;
}

uint64_t sim_host_random(void) { return sim_draw(sim_self == NULL ? &chance : &sim_self->host->random); }

void sim_fail(const char *why) {
    fprintf(stderr, "simulated system: %s, after %.6f s\n", why, (double)now_nanoseconds / 1e9);
    fflush(stderr);
    _exit(70);
}

// MARK: - What is to happen

static bool before(const event *one, const event *other) {
    return one->at != other->at ? one->at < other->at : one->number < other->number;
}

void sim_at(uint64_t time, void (*act)(void *, uint64_t), void *context, uint64_t tag) {
    if (heap_count == heap_capacity) {
        heap_capacity = heap_capacity == 0 ? 1024 : heap_capacity * 2;
        heap = realloc(heap, heap_capacity * sizeof(event));
        if (heap == NULL) abort();
    }
    event made = {time < now_nanoseconds ? now_nanoseconds : time, ++events_made, act, context, tag};
    size_t place = heap_count++;
    while (place > 0 && before(&made, &heap[(place - 1) / 2])) {
        heap[place] = heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    heap[place] = made;
}

static event take_event(void) {
    event first = heap[0], last = heap[--heap_count];
    size_t place = 0;
    while (true) {
        size_t child = 2 * place + 1;
        if (child >= heap_count) break;
        if (child + 1 < heap_count && before(&heap[child + 1], &heap[child])) child += 1;
        if (!before(&heap[child], &last)) break;
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = last;
    return first;
}

// MARK: - Threads

static void append_ready(sim_thread *thread) {
    if (ready_count == ready_capacity) {
        ready_capacity = ready_capacity == 0 ? 256 : ready_capacity * 2;
        ready = realloc(ready, ready_capacity * sizeof *ready);
        if (ready == NULL) abort();
    }
    ready[ready_count++] = thread;
}

void sim_wake(sim_thread *thread) {
    if (thread->is_ready || thread->has_ended || thread->host->is_dead) return;
    thread->is_ready = true;
    append_ready(thread);
}

/// Takes one of those that may run, by chance; NULL if there is none.
static sim_thread *take_ready(void) {
    while (ready_count > 0) {
        size_t place = sim_draw(&scheduling) % ready_count;
        sim_thread *thread = ready[place];
        memmove(&ready[place], &ready[place + 1], (--ready_count - place) * sizeof *ready);
        sim_host_state *host = thread->host;
        if (host->is_dead || thread->has_ended) continue;
        if (!host->is_frozen) return thread;
        if (host->parked_count == 128) sim_fail("too many threads of a frozen host");
        host->parked[host->parked_count++] = thread;
    }
    return NULL;
}

/// Lets time pass until a thread may run.
static sim_thread *choose(void) {
    while (true) {
        while (heap_count > 0 && heap[0].at <= now_nanoseconds) {
            event due = take_event();
            due.act(due.context, due.tag);
        }
        sim_thread *next = take_ready();
        if (next != NULL) {
            turns += 1;
            // A thread that is woken runs a little later.
            now_nanoseconds += 500 + sim_draw(&scheduling) % 8000;
            sim_note((uint64_t)next->host->number << 32 ^ (uint64_t)(unsigned char)next->name[0]);
            return next;
        }
        if (heap_count == 0) sim_fail("nothing will ever happen again");
        now_nanoseconds = heap[0].at;
    }
}

static void await_turn(sim_thread *self) {
    while (sem_wait(&self->turn) != 0 && errno == EINTR) {}
}

static bool measures;
static uint64_t measured_at;

uint64_t sim_processor_time(int host) { return sim_hosts[host]->processor_time; }

/// One thread runs at a time, so the process's time since the last change is the running thread's.
static void measure(sim_host_state *host) {
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &time);
    uint64_t now = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    host->processor_time += now - measured_at;
    measured_at = now;
}

void sim_measure(void) {
    measures = true;
    measure(sim_hosts[0]);
}

static void pass(sim_thread *self) {
    if (measures) measure(self->host);
    sim_thread *next = choose();
    // What the network does is the simulation's own.
    if (measures) measure(sim_hosts[0]);
    if (next == self) return;
    sem_post(&next->turn);
    if (!self->has_ended) await_turn(self);
}

static void alarm_rings(void *context, uint64_t wait) {
    sim_thread *thread = context;
    if (thread->wait == wait && !thread->is_ready) {
        thread->was_signalled = false;
        sim_wake(thread);
    }
}

bool sim_wait_until(uint64_t time) {
    sim_thread *self = sim_self;
    if (self == NULL) sim_fail("a thread that is not simulated waits");
    self->wait += 1;
    self->is_ready = false;
    self->was_signalled = true;
    if (time != SIM_NEVER) sim_at(time, alarm_rings, self, self->wait);
    pass(self);
    self->wait += 1;
    self->is_ready = false;
    return self->was_signalled;
}

void sim_sleep(uint64_t nanoseconds) {
    uint64_t until = now_nanoseconds + nanoseconds;
    while (now_nanoseconds < until) sim_wait_until(until);
}

static void *run_thread(void *argument) {
    sim_thread *self = argument;
    sim_self = self;
    await_turn(self);
    self->is_ready = false;
    self->body(self->context);
    self->has_ended = true;
    pass(self);
    sim_self = NULL;
    return NULL;
}

sim_thread *sim_new_thread(sim_host_state *host, const char *name, void (*body)(void *), void *context) {
    sim_thread *thread = sim_calloc(sizeof *thread);
    sem_init(&thread->turn, 0, 0);
    thread->host = host;
    thread->body = body;
    thread->context = context;
    strncpy(thread->name, name, sizeof thread->name - 1);
    if (sim_real_thread(run_thread, thread) != 0) sim_fail("no thread");
    sim_wake(thread);
    return thread;
}

// MARK: - Hosts

static sim_host_state *make_host(uint8_t address) {
    if (hosts_count == sim_hosts_max) sim_fail("too many hosts");
    sim_host_state *host = sim_calloc(sizeof *host);
    host->number = hosts_count;
    host->address = address;
    host->sync_time = 300000;
    host->random = sim_draw(&chance);
    host->next_port = (uint16_t)(32768 + sim_draw(&chance) % 16384);
    sim_hosts[hosts_count++] = host;
    return host;
}

int sim_host(uint8_t address) {
    sim_host_state *host = make_host(address);
    sim_pool_start(host);
    return host->number;
}

void sim_start(int host, const char *name, void (*body)(void *), void *context) {
    sim_new_thread(sim_hosts[host], name, body, context);
}

void sim_freeze(int number, int is_frozen) {
    sim_host_state *host = sim_hosts[number];
    host->is_frozen = is_frozen != 0;
    if (host->is_frozen) return;
    for (int place = 0; place < host->parked_count; place++) append_ready(host->parked[place]);
    host->parked_count = 0;
}

void sim_kill(int number, int with_machine) {
    sim_host_state *host = sim_hosts[number];
    if (host->is_dead) return;
    if (sim_self->host == host) sim_fail("a host kills itself");
    host->is_dead = true;
    host->parked_count = 0;
    sim_network_host_died(host, with_machine != 0);
}

void sim_skew(int host, int64_t nanoseconds) { sim_hosts[host]->skew = nanoseconds; }
void sim_sync_time(int host, uint64_t nanoseconds) { sim_hosts[host]->sync_time = nanoseconds; }

// MARK: - The beginning

void sim_prepare(char *const *arguments) {
    int persona = personality(0xffffffff);
    const char *hashing = getenv("SWIFT_DETERMINISTIC_HASHING");
    if (hashing != NULL && (persona & ADDR_NO_RANDOMIZE) != 0) return;
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1);
    setenv("MALLOC_ARENA_MAX", "1", 1);
    // Where it is refused the run goes on; it may then differ from another one of its seed.
    (void)personality((unsigned long)persona | ADDR_NO_RANDOMIZE);
    if (getenv("SIMULATION_STARTED") != NULL) return;
    setenv("SIMULATION_STARTED", "1", 1);
    execv("/proc/self/exe", arguments);
}

void sim_run(uint64_t seed, void (*body)(void *), void *context) {
    // One processor: another one would only wait.
    cpu_set_t set;
    CPU_ZERO(&set);
    int processor = sched_getcpu();
    CPU_SET(processor < 0 ? 0 : processor, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
    chance = seed;
    scheduling = sim_draw(&chance);
    now_nanoseconds = 1000000000;
    sim_thread *self = sim_calloc(sizeof *self);
    sem_init(&self->turn, 0, 0);
    strcpy(self->name, "simulation");
    self->host = make_host(0);
    sim_self = self;
    sim_tasks_start();
    sim_pool_start(self->host);
    body(context);
}
