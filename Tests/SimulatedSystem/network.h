/// Sockets of the simulation, as a kernel has them.
#ifndef CHATROOM_SIMULATED_NETWORK_H
#define CHATROOM_SIMULATED_NETWORK_H

#include <netinet/in.h>
#include <sys/types.h>

#include "internal.h"

enum { sim_first_descriptor = 1 << 20 };

/// Bytes on their way. What is sent to many one after the other is one body of all of them.
typedef struct {
    size_t uses, count;
    /// For viewers: the number of the one message that it has and nothing else that they note; 0: not known yet;
    /// UINT32_MAX: it is to be read.
    uint32_t shows;
    unsigned char bytes[];
} sim_body;

typedef struct sim_segment {
    struct sim_segment *next;
    uint64_t due;
    /// Bytes, or the end of the stream, or a reset.
    enum { sim_bytes, sim_end, sim_abort } kind;
    sim_body *body;
} sim_segment;

typedef struct sim_socket {
    int descriptor;
    sim_host_state *host;
    enum { sim_fresh, sim_listening, sim_connecting, sim_connected, sim_closed } state;
    struct sockaddr_in local, remote;
    bool shares_port;
    struct sim_socket *peer;
    // What has come and was not read.
    unsigned char *bytes;
    size_t first, count, capacity;
    bool has_ended;
    int error;
    // What is on its way to the peer, oldest first.
    sim_segment *first_segment, *last_segment;
    uint64_t last_due;
    bool retries;
    uint64_t retry_wait;
    /// Bytes that the peer's program has not read yet; the window is full at `window`.
    size_t outstanding, window;
    bool has_shut_down;
    // A listener's connections that nobody has accepted.
    struct sim_socket *backlog, *backlog_last, *next_waiting;
    /// Called when it can be read or written, or its connection attempt has ended.
    void (*changed)(void *owner);
    void *owner;
    /// A client that is nothing but counters; NULL of all others.
    struct sim_viewer *viewer;
} sim_socket;

// Of viewers, which no program reads.
void sim_viewer_connected(sim_socket *socket);
void sim_viewer_receives(sim_socket *socket, sim_body *body);
void sim_viewer_ended(sim_socket *socket);

typedef struct sim_datagrams {
    struct sim_datagrams *next;
    sim_host_state *host;
    struct sockaddr_in local;
    bool is_open;
    void (*receive)(void *owner, const unsigned char *bytes, size_t count, const struct sockaddr_in *from);
    void *owner;
} sim_datagrams;

sim_socket *sim_socket_of(int descriptor);
sim_socket *sim_socket_new(sim_host_state *host);
int sim_socket_bind(sim_socket *socket, const struct sockaddr_in *address);
int sim_socket_listen(sim_socket *socket);
/// The next connection, or NULL.
sim_socket *sim_socket_accept(sim_socket *listener);
void sim_socket_connect(sim_socket *socket, const struct sockaddr_in *address);
/// As send(2) that does not block: how many bytes were taken, or a negative errno.
ssize_t sim_socket_send(sim_socket *socket, const void *bytes, size_t count);
/// How many bytes were read; 0 at the end, or a negative errno.
ssize_t sim_socket_receive(sim_socket *socket, void *bytes, size_t count);
void sim_socket_shutdown(sim_socket *socket);
void sim_socket_close(sim_socket *socket);
bool sim_socket_is_readable(const sim_socket *socket);

sim_datagrams *sim_datagrams_open(sim_host_state *host, struct sockaddr_in *address);
int sim_datagrams_send(sim_datagrams *from, const struct sockaddr_in *to, const void *bytes, size_t count);
void sim_datagrams_close(sim_datagrams *socket);

#endif
