/// An operating system in memory: clock, threads, network, disk faults and chance, all from one seed.
///
/// A program that links this target runs as it is, with everything that it is made of, but its `uv_…` calls, its threads,
/// its clock, its sockets and its random numbers come from here instead of libuv and the C library. One thread runs at a
/// time; another one goes on only where the running one waits. So a seed decides everything that happens, and several
/// machines, called hosts here, live in one process and can be frozen, killed and cut off.
///
/// Only threads that were started here are simulated. To all others the functions of the C library are what they were.
#ifndef CHATROOM_SIMULATED_SYSTEM_H
#define CHATROOM_SIMULATED_SYSTEM_H

#include <stdint.h>

/// Runs this program again without randomised addresses and hashes, if it has them. Returns if it has not.
void sim_prepare(char *const *arguments);

/// Makes the calling thread the first one of the simulation, on host 0, and runs `body`. Once in a process. Afterwards no
/// other thread of the simulation runs any more: the process is to end.
void sim_run(uint64_t seed, void (*body)(void *context), void *context);

// MARK: - Hosts

/// A machine with the address 127.0.0.`address`; its number is greater than 0. One that had the address before must have
/// been killed.
int sim_host(uint8_t address);

/// Runs `body` on a thread of the host.
void sim_start(int host, const char *name, void (*body)(void *context), void *context);

/// While a host is frozen none of its threads runs; its kernel goes on to take connections and bytes (SIGSTOP).
void sim_freeze(int host, int is_frozen);

/// Ends all threads of a host where they wait. Its connections are reset, unless its machine is lost with it: then nobody
/// hears of it.
void sim_kill(int host, int with_machine);

/// How far the host's wall clock is off, in nanoseconds.
void sim_skew(int host, int64_t nanoseconds);

/// What becomes of writes and syncs of a host.
enum sim_disk { sim_disk_sound = 0, sim_disk_full = 1, sim_disk_failing = 2, sim_disk_hanging = 3 };
void sim_disk(int host, enum sim_disk state);

/// What a machine that has lost its power has not synced is gone, wholly or in part: of each file some last changes. Call
/// it for a host that was killed, before its files are used again. Returns how many writes were lost.
uint64_t sim_lose_unsynced(int host);

/// How long a sync takes at least, in nanoseconds; up to three times as long.
void sim_sync_time(int host, uint64_t nanoseconds);

// MARK: - The network

/// Whether what goes from one address to another is lost.
void sim_cut(uint8_t from, uint8_t to, int is_cut);

/// How long bytes are on their way, in nanoseconds at least; sometimes several times as long.
void sim_latency(uint64_t nanoseconds);

/// Of 1,000 datagrams so many are lost.
void sim_datagram_loss(uint32_t permille);

/// Resets all connections between two addresses.
void sim_reset(uint8_t one, uint8_t other);

/// What one address has sent to another over TCP.
typedef struct {
    uint64_t bytes;
    /// Calls of the kernel that took some.
    uint64_t writes;
} sim_traffic;
sim_traffic sim_sent(uint8_t from, uint8_t to);

// MARK: - Viewers

/// What the viewers of one address have been given.
typedef struct {
    /// How many have connected, and of how many the connection has ended, or a push has said that they are put out.
    uint64_t connected, ended;
    uint64_t bytes;
    /// Numbered messages (`no.` and eight digits): how many were shown, again or in front of an earlier one, and how many
    /// were left out between two without a `gap`.
    uint64_t shown, repeated, missing;
    /// Of those that are connected: the least and the greatest number that was shown last.
    uint64_t least, greatest;
    /// How many were told that the room's leader is away, and how many that it is back without having been told so; and of
    /// those that are connected: how many were told that it is away, and not since that it is back.
    uint64_t lost, unexpected, away;
} sim_viewers;

/// Connects a client that is nothing but counters: it sends `hello` and reads all that comes, at once.
void sim_viewer(int host, uint8_t to, uint16_t port, const void *hello, uint64_t count);
sim_viewers sim_viewers_of(uint8_t to);
/// How often viewers that connect from now on say that they are there; 0: never.
void sim_viewers_ping(uint64_t nanoseconds);

// MARK: - Time and chance

/// Processor time that the host's threads have had, in nanoseconds; 0 before `sim_measure`.
uint64_t sim_processor_time(int host);
void sim_measure(void);

/// Nanoseconds since the beginning.
uint64_t sim_now(void);

/// Waits. On a thread of the simulation.
void sim_sleep(uint64_t nanoseconds);

/// The next number of the simulation's own chance; what hosts draw does not change it.
uint64_t sim_random(void);

/// A number that two runs of one seed have in common if they did the same until now.
uint64_t sim_fingerprint(void);

/// Number of turns that threads have had, for telling how much was simulated.
uint64_t sim_turns(void);

#endif
