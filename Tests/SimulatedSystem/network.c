// Connections and datagrams between hosts. TCP keeps what a cut link loses and sends it again; datagrams are lost.
#include "network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

static sim_socket **sockets;
static size_t sockets_count, sockets_capacity;
static sim_socket **listeners;
static size_t listeners_count, listeners_capacity;
static sim_datagrams *datagrams;
static sim_traffic traffic[sim_addresses][sim_addresses];
static bool cuts[sim_addresses][sim_addresses];
static uint64_t latency = 100000;
static uint32_t loss;

void sim_latency(uint64_t nanoseconds) { latency = nanoseconds; }
void sim_datagram_loss(uint32_t permille) { loss = permille; }
sim_traffic sim_sent(uint8_t from, uint8_t to) { return traffic[from][to]; }

static uint8_t place(const struct sockaddr_in *address) { return (uint8_t)(ntohl(address->sin_addr.s_addr) & 255); }

static bool is_cut(uint8_t from, uint8_t to) { return from != to && cuts[from][to]; }

/// Whether a machine has the address.
static bool lives(uint8_t address) {
    for (int number = 0; number < sim_hosts_max && sim_hosts[number] != NULL; number++) {
        if (sim_hosts[number]->address == address && !sim_hosts[number]->is_dead) return true;
    }
    return false;
}

static uint64_t travel(uint8_t from, uint8_t to) {
    if (from == to) return 10000 + sim_random() % 10000;
    uint64_t chance = sim_random();
    uint64_t time = latency + chance % (latency / 2 + 1);
    // Now and then something holds it up.
    if ((chance >> 32) % 200 == 0) time += (chance >> 40) % 5000000;
    return time;
}

// MARK: - Descriptors

sim_socket *sim_socket_of(int descriptor) {
    size_t index = (size_t)descriptor - sim_first_descriptor;
    return descriptor >= sim_first_descriptor && index < sockets_count ? sockets[index] : NULL;
}

sim_socket *sim_socket_new(sim_host_state *host) {
    if (sockets_count == sockets_capacity) {
        sockets_capacity = sockets_capacity == 0 ? 256 : sockets_capacity * 2;
        sockets = realloc(sockets, sockets_capacity * sizeof *sockets);
        if (sockets == NULL) abort();
    }
    sim_socket *socket = sim_calloc(sizeof *socket);
    socket->descriptor = sim_first_descriptor + (int)sockets_count;
    socket->host = host;
    socket->window = 256 * 1024;
    socket->retry_wait = 200000000;
    sockets[sockets_count++] = socket;
    return socket;
}

static void tell(sim_socket *socket) {
    if (socket != NULL && socket->changed != NULL && !socket->host->is_dead) socket->changed(socket->owner);
}

int sim_socket_bind(sim_socket *socket, const struct sockaddr_in *address) {
    if (address->sin_family != AF_INET) return -EAFNOSUPPORT;
    socket->local = *address;
    if (socket->local.sin_port == 0) {
        socket->host->next_port += 1;
        socket->local.sin_port = htons(socket->host->next_port);
    }
    return 0;
}

static bool hears(const sim_socket *socket, const struct sockaddr_in *address) {
    return socket->state == sim_listening && !socket->host->is_dead && socket->local.sin_port == address->sin_port
        && (socket->local.sin_addr.s_addr == address->sin_addr.s_addr
            || (socket->local.sin_addr.s_addr == INADDR_ANY && socket->host->address == place(address)));
}

int sim_socket_listen(sim_socket *socket) {
    for (size_t index = 0; index < listeners_count; index++) {
        sim_socket *other = listeners[index];
        if (hears(other, &socket->local) && !(other->shares_port && socket->shares_port)) return -EADDRINUSE;
    }
    if (listeners_count == listeners_capacity) {
        listeners_capacity = listeners_capacity == 0 ? 64 : listeners_capacity * 2;
        listeners = realloc(listeners, listeners_capacity * sizeof *listeners);
        if (listeners == NULL) abort();
    }
    listeners[listeners_count++] = socket;
    socket->state = sim_listening;
    return 0;
}

/// One of those that share the port, by chance.
static sim_socket *listener(const struct sockaddr_in *address) {
    size_t count = 0;
    sim_socket *found = NULL;
    for (size_t index = 0; index < listeners_count; index++) {
        if (!hears(listeners[index], address)) continue;
        count += 1;
        if (sim_random() % count == 0) found = listeners[index];
    }
    return found;
}

sim_socket *sim_socket_accept(sim_socket *listener) {
    sim_socket *accepted = listener->backlog;
    if (accepted == NULL) return NULL;
    listener->backlog = accepted->next_waiting;
    if (listener->backlog == NULL) listener->backlog_last = NULL;
    return accepted;
}

// MARK: - Connecting

static void attempt(void *context, uint64_t tries);

static void fail_attempt(sim_socket *socket, int error) {
    if (socket->state != sim_connecting) return;
    socket->error = error;
    tell(socket);
}

static void refused(void *context, uint64_t error) { fail_attempt(context, (int)error); }

static void established(void *context, uint64_t tag) {
    (void)tag;
    sim_socket *socket = context;
    if (socket->state != sim_connecting) return;
    socket->state = sim_connected;
    if (socket->viewer != NULL) sim_viewer_connected(socket);
    tell(socket);
}

/// The first packet arrives.
static void attempt(void *context, uint64_t tries) {
    sim_socket *socket = context;
    if (socket->state != sim_connecting || socket->host->is_dead) return;
    uint8_t from = socket->host->address, to = place(&socket->remote);
    bool is_there = lives(to);
    if (is_cut(from, to) || is_cut(to, from) || !is_there) {
        uint64_t wait = 1000000000u << (tries > 4 ? 4 : tries);
        // An address where no machine runs any more: the one before it refuses, sometimes.
        if (!is_there && !is_cut(from, to)) return sim_at(sim_now() + travel(to, from), refused, socket, ECONNREFUSED);
        return sim_at(sim_now() + wait, attempt, socket, tries + 1);
    }
    sim_socket *heard = listener(&socket->remote);
    if (heard == NULL) return sim_at(sim_now() + travel(to, from), refused, socket, ECONNREFUSED);
    sim_socket *other = sim_socket_new(heard->host);
    other->state = sim_connected;
    other->local = socket->remote;
    other->remote = socket->local;
    other->peer = socket;
    socket->peer = other;
    if (heard->backlog_last != NULL) heard->backlog_last->next_waiting = other; else heard->backlog = other;
    heard->backlog_last = other;
    tell(heard);
    sim_at(sim_now() + travel(to, from), established, socket, 0);
}

void sim_socket_connect(sim_socket *socket, const struct sockaddr_in *address) {
    socket->remote = *address;
    if (socket->local.sin_family == 0) {
        socket->local.sin_family = AF_INET;
        // Within one machine everybody is 127.0.0.1's neighbour: the address of the machine itself.
        socket->local.sin_addr.s_addr = htonl(0x7f000000u | socket->host->address);
        socket->host->next_port += 1;
        socket->local.sin_port = htons(socket->host->next_port);
    }
    socket->state = sim_connecting;
    sim_at(sim_now() + travel(socket->host->address, place(address)), attempt, socket, 0);
}

// MARK: - Bytes

static void deliver(void *context, uint64_t tag);

static void schedule(sim_socket *socket, uint64_t time) { sim_at(time, deliver, socket, 0); }

static void let_go(sim_body *body) {
    if (body != NULL && --body->uses == 0) free(body);
}

/// The body that was made last, if it is the same: a message to a million viewers is in memory once for each loop.
static sim_body *body_of(const void *bytes, size_t count) {
    static sim_body *last;
    if (last == NULL || last->count != count || memcmp(last->bytes, bytes, count) != 0) {
        let_go(last);
        last = malloc(sizeof *last + count);
        if (last == NULL) abort();
        last->uses = 1;
        last->count = count;
        last->shows = 0;
        memcpy(last->bytes, bytes, count);
    }
    last->uses += 1;
    return last;
}

static void append(sim_socket *socket, int kind, const void *bytes, size_t count) {
    sim_segment *segment = malloc(sizeof *segment);
    if (segment == NULL) abort();
    segment->next = NULL;
    segment->kind = kind;
    segment->body = count > 0 ? body_of(bytes, count) : NULL;
    uint64_t due = sim_now() + travel(socket->host->address, place(&socket->remote));
    if (due < socket->last_due) due = socket->last_due;
    segment->due = socket->last_due = due;
    if (socket->last_segment != NULL) socket->last_segment->next = segment; else socket->first_segment = segment;
    socket->last_segment = segment;
    schedule(socket, due);
}

static void keep(sim_socket *socket, const unsigned char *bytes, size_t count) {
    if (socket->first + socket->count + count > socket->capacity) {
        if (socket->first > 0) memmove(socket->bytes, socket->bytes + socket->first, socket->count);
        socket->first = 0;
        if (socket->count + count > socket->capacity) {
            size_t capacity = socket->capacity == 0 ? 4096 : socket->capacity;
            while (capacity < socket->count + count) capacity *= 2;
            socket->bytes = realloc(socket->bytes, capacity);
            if (socket->bytes == NULL) abort();
            socket->capacity = capacity;
        }
    }
    memcpy(socket->bytes + socket->first + socket->count, bytes, count);
    socket->count += count;
}

static void reset(sim_socket *socket) {
    if (socket == NULL || socket->state != sim_connected || socket->has_ended || socket->error != 0) return;
    socket->error = ECONNRESET;
    socket->count = 0;
    if (socket->viewer != NULL) sim_viewer_ended(socket);
    tell(socket);
}

static void unknown(void *context, uint64_t tag) {
    (void)tag;
    reset(context);
}

/// What is due on the way from a socket to its peer arrives, in order.
static void deliver(void *context, uint64_t tag) {
    sim_socket *socket = context;
    if (tag != 0) socket->retries = false;
    if (socket->retries) return;
    sim_socket *peer = socket->peer;
    bool has_come = false;
    while (socket->first_segment != NULL && socket->first_segment->due <= sim_now()) {
        sim_segment *segment = socket->first_segment;
        uint8_t from = socket->host->address, to = place(&socket->remote);
        if (is_cut(from, to)) {
            // Sent again until it gets through.
            socket->retries = true;
            uint64_t wait = socket->retry_wait;
            socket->retry_wait = wait * 2 > 2000000000u ? 2000000000u : wait * 2;
            sim_at(sim_now() + wait / 2 + sim_random() % wait, deliver, socket, 1);
            break;
        }
        socket->retry_wait = 200000000;
        socket->first_segment = segment->next;
        if (socket->first_segment == NULL) socket->last_segment = NULL;
        // Where another machine has the address by now, its kernel knows nothing of the connection.
        if (peer != NULL && peer->host->is_dead && lives(to)) sim_at(sim_now() + travel(to, from), unknown, socket, 0);
        if (peer != NULL && !peer->host->is_dead) {
            switch (segment->kind) {
            case sim_bytes:
                if (peer->state == sim_closed) {
                    // Nobody reads it: the kernel says so.
                    if (!is_cut(to, from)) reset(socket);
                } else if (peer->viewer != NULL) {
                    sim_viewer_receives(peer, segment->body);
                    socket->outstanding -= segment->body->count;
                } else if (peer->error == 0) {
                    keep(peer, segment->body->bytes, segment->body->count);
                }
                break;
            case sim_end:
                peer->has_ended = true;
                if (peer->viewer != NULL) sim_viewer_ended(peer);
                break;
            case sim_abort:
                reset(peer);
                break;
            }
            has_come = true;
        }
        let_go(segment->body);
        free(segment);
    }
    if (has_come) tell(peer);
}

ssize_t sim_socket_send(sim_socket *socket, const void *bytes, size_t count) {
    if (socket->state == sim_closed) return -EBADF;
    if (socket->error != 0) return -socket->error;
    if (socket->state != sim_connected) return -EAGAIN;
    if (socket->has_shut_down) return -EPIPE;
    size_t room = socket->outstanding < socket->window ? socket->window - socket->outstanding : 0;
    if (room == 0) return count == 0 ? 0 : -EAGAIN;
    size_t taken = count < room ? count : room;
    if (taken == 0) return 0;
    append(socket, sim_bytes, bytes, taken);
    socket->outstanding += taken;
    sim_traffic *sent = &traffic[socket->host->address][place(&socket->remote)];
    sent->bytes += taken;
    sent->writes += 1;
    sim_work(2000);
    return (ssize_t)taken;
}

/// The sender hears that its bytes have been read.
static void make_room(void *context, uint64_t count) {
    sim_socket *socket = context;
    uint8_t own = socket->host->address, other = place(&socket->remote);
    if (is_cut(other, own)) return sim_at(sim_now() + 300000000, make_room, socket, count);
    socket->outstanding -= count;
    tell(socket);
}

ssize_t sim_socket_receive(sim_socket *socket, void *bytes, size_t count) {
    if (socket->count == 0) {
        if (socket->error != 0) return -socket->error;
        return socket->has_ended ? 0 : -EAGAIN;
    }
    size_t taken = count < socket->count ? count : socket->count;
    memcpy(bytes, socket->bytes + socket->first, taken);
    socket->first += taken;
    socket->count -= taken;
    if (socket->count == 0) {
        socket->first = 0;
        // Of a million sockets hardly any has something to read.
        if (sockets_count > 100000) {
            free(socket->bytes);
            socket->bytes = NULL;
            socket->capacity = 0;
        }
    }
    sim_socket *peer = socket->peer;
    if (peer != NULL) {
        sim_at(sim_now() + travel(socket->host->address, place(&socket->remote)), make_room, peer, taken);
    }
    sim_work(2000);
    return (ssize_t)taken;
}

bool sim_socket_is_readable(const sim_socket *socket) {
    if (socket->state == sim_listening) return socket->backlog != NULL;
    return socket->count > 0 || socket->has_ended || socket->error != 0;
}

void sim_socket_shutdown(sim_socket *socket) {
    if (socket->state != sim_connected || socket->has_shut_down) return;
    socket->has_shut_down = true;
    append(socket, sim_end, NULL, 0);
}

void sim_socket_close(sim_socket *socket) {
    if (socket->state == sim_closed) return;
    bool was_connected = socket->state == sim_connected;
    if (socket->state == sim_listening) {
        for (sim_socket *waiting = socket->backlog; waiting != NULL; waiting = waiting->next_waiting) {
            append(waiting, sim_abort, NULL, 0);
            waiting->state = sim_closed;
        }
        socket->backlog = NULL;
    }
    socket->state = sim_closed;
    socket->changed = NULL;
    if (was_connected && socket->error == 0 && socket->peer != NULL) {
        // What was not read is lost, and the other side hears of that (RFC 1122, 4.2.2.13).
        if (socket->count > 0) append(socket, sim_abort, NULL, 0);
        else if (!socket->has_shut_down) append(socket, sim_end, NULL, 0);
    }
    free(socket->bytes);
    socket->bytes = NULL;
    socket->count = socket->first = socket->capacity = 0;
}

// MARK: - Datagrams

sim_datagrams *sim_datagrams_open(sim_host_state *host, struct sockaddr_in *address) {
    if (address->sin_port == 0) address->sin_port = htons(host->next_port += 1);
    for (sim_datagrams *other = datagrams; other != NULL; other = other->next) {
        if (other->is_open && !other->host->is_dead && other->local.sin_port == address->sin_port
            && other->local.sin_addr.s_addr == address->sin_addr.s_addr) return NULL;
    }
    sim_datagrams *socket = sim_calloc(sizeof *socket);
    socket->host = host;
    socket->local = *address;
    socket->is_open = true;
    socket->next = datagrams;
    datagrams = socket;
    return socket;
}

typedef struct {
    struct sockaddr_in from, to;
    size_t count;
    unsigned char bytes[];
} datagram;

static void datagram_arrives(void *context, uint64_t tag) {
    (void)tag;
    datagram *sent = context;
    for (sim_datagrams *socket = datagrams; socket != NULL; socket = socket->next) {
        if (!socket->is_open || socket->host->is_dead || socket->local.sin_port != sent->to.sin_port
            || socket->local.sin_addr.s_addr != sent->to.sin_addr.s_addr) continue;
        socket->receive(socket->owner, sent->bytes, sent->count, &sent->from);
        break;
    }
    free(sent);
}

int sim_datagrams_send(sim_datagrams *from, const struct sockaddr_in *to, const void *bytes, size_t count) {
    if (count > 65507) return -EMSGSIZE;
    uint8_t own = from->host->address, other = place(to);
    sim_work(2000);
    if (is_cut(own, other) || sim_random() % 1000 < loss) return 0;
    datagram *sent = malloc(sizeof *sent + count);
    if (sent == NULL) abort();
    sent->from = from->local;
    sent->to = *to;
    sent->count = count;
    memcpy(sent->bytes, bytes, count);
    sim_at(sim_now() + travel(own, other), datagram_arrives, sent, 0);
    return 0;
}

void sim_datagrams_close(sim_datagrams *socket) { socket->is_open = false; }

// MARK: - Faults

void sim_cut(uint8_t from, uint8_t to, int is_cut) { cuts[from][to] = is_cut != 0; }

void sim_reset(uint8_t one, uint8_t other) {
    for (size_t index = 0; index < sockets_count; index++) {
        sim_socket *socket = sockets[index];
        if (socket->state != sim_connected || socket->peer == NULL) continue;
        uint8_t own = socket->host->address, peer = place(&socket->remote);
        if (!(own == one && peer == other) && !(own == other && peer == one)) continue;
        reset(socket);
    }
}

void sim_network_host_died(sim_host_state *host, bool with_machine) {
    for (size_t index = 0; index < sockets_count; index++) {
        sim_socket *socket = sockets[index];
        if (socket->host != host || socket->state == sim_closed) continue;
        if (socket->state == sim_listening) {
            for (sim_socket *waiting = socket->backlog; waiting != NULL; waiting = waiting->next_waiting) {
                if (!with_machine) append(waiting, sim_abort, NULL, 0);
            }
        }
        if (socket->state == sim_connected && !with_machine) {
            if (socket->peer != NULL && socket->error == 0) append(socket, sim_abort, NULL, 0);
        }
        socket->state = sim_closed;
        socket->changed = NULL;
    }
}
