// libuv's loops and handles over the simulated kernel: the functions that this project uses, as libuv 1.44 does them.
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <uv.h>

#include "network.h"

typedef struct sim_loop sim_loop;
typedef struct sim_handle sim_handle;

typedef struct sim_write {
    struct sim_write *next;
    uv_write_t *request;
    uv_write_cb done;
    uv_buf_t rest;
    int status;
} sim_write;

struct sim_handle {
    sim_handle *next, *previous;
    sim_loop *loop;
    uv_handle_t *handle;
    bool is_closing, is_active, is_noted;
    uv_close_cb closed;
    sim_handle *next_closing, *next_noted;
    // Timers
    uint64_t due, repeat, start;
    size_t place;
    uv_timer_cb rings;
    // Async, prepare, idle
    uv_async_cb async;
    uv_prepare_cb prepare;
    uv_idle_cb idle;
    bool is_sent;
    // Polls
    uv_poll_cb polled;
    int events;
    // Streams
    sim_socket *socket;
    uv_alloc_cb allocate;
    uv_read_cb read;
    uv_connect_t *connect;
    uv_connect_cb connected;
    uv_shutdown_t *shutdown;
    uv_shutdown_cb shut;
    sim_write *first_write, *last_write;
    // Datagrams
    sim_datagrams *datagrams;
    uv_udp_recv_cb received;
    /// Arrived and not received.
    struct sim_arrival *arrivals;
};

struct sim_loop {
    uv_loop_t *loop;
    sim_thread *waiting;
    sim_handle *handles;
    sim_handle *first_noted, *last_noted;
    sim_handle *first_closing, *last_closing;
    // There is one of each.
    sim_handle *idle, *prepare;
    sim_handle **timers;
    size_t timers_count, timers_capacity;
    uint64_t starts;
    uint64_t idle_nanoseconds;
};

static sim_loop *of_loop(const uv_loop_t *loop) { return (sim_loop *)(void *)loop->watchers; }
static sim_handle *of(const void *handle) { return ((const uv_handle_t *)handle)->u.reserved[3]; }

static sim_handle *make(uv_loop_t *loop, void *pointer, uv_handle_type type) {
    uv_handle_t *handle = pointer;
    sim_handle *made = sim_calloc(sizeof *made);
    memset(handle->u.reserved, 0, sizeof handle->u.reserved);
    handle->loop = loop;
    handle->type = type;
    handle->close_cb = NULL;
    handle->u.reserved[3] = made;
    made->handle = handle;
    made->loop = of_loop(loop);
    made->next = made->loop->handles;
    if (made->next != NULL) made->next->previous = made;
    made->loop->handles = made;
    return made;
}

static void rouse(sim_loop *loop) {
    if (loop->waiting != NULL) sim_wake(loop->waiting);
}

/// Something is to be looked at in the loop's next turn.
static void note(sim_handle *handle) {
    if (handle->is_noted || handle->is_closing) return;
    handle->is_noted = true;
    handle->next_noted = NULL;
    sim_loop *loop = handle->loop;
    if (loop->last_noted != NULL) loop->last_noted->next_noted = handle; else loop->first_noted = handle;
    loop->last_noted = handle;
    rouse(loop);
}

static void forget(sim_handle *handle) {
    sim_loop *loop = handle->loop;
    sim_handle **place = &loop->first_noted, *before = NULL;
    while (*place != NULL && *place != handle) before = *place, place = &(*place)->next_noted;
    if (*place == NULL) return;
    *place = handle->next_noted;
    if (loop->last_noted == handle) loop->last_noted = before;
}

static void changed(void *owner) { note(owner); }

// MARK: - Loops

int uv_loop_init(uv_loop_t *loop) {
    memset(loop, 0, sizeof *loop);
    sim_loop *made = sim_calloc(sizeof *made);
    made->loop = loop;
    loop->watchers = (void *)made;
    loop->time = sim_now() / 1000000;
    return 0;
}

int uv_loop_configure(uv_loop_t *loop, uv_loop_option option, ...) {
    (void)loop, (void)option;
    return 0;
}

int uv_loop_close(uv_loop_t *loop) {
    sim_loop *made = of_loop(loop);
    if (made->handles != NULL) return UV_EBUSY;
    free(made->timers);
    free(made);
    return 0;
}

uint64_t uv_now(const uv_loop_t *loop) { return loop->time; }

uint64_t uv_hrtime(void) {
    sim_work(120);
    return sim_now();
}

uint64_t uv_metrics_idle_time(uv_loop_t *loop) { return of_loop(loop)->idle_nanoseconds; }

void uv_walk(uv_loop_t *loop, uv_walk_cb body, void *argument) {
    sim_handle *handle = of_loop(loop)->handles;
    while (handle != NULL) {
        sim_handle *next = handle->next;
        body(handle->handle, argument);
        handle = next;
    }
}

// MARK: - Timers

static bool rings_before(const sim_handle *one, const sim_handle *other) {
    return one->due != other->due ? one->due < other->due : one->start < other->start;
}

static void put_timer(sim_loop *loop, sim_handle *timer, size_t place) {
    while (place > 0 && rings_before(timer, loop->timers[(place - 1) / 2])) {
        loop->timers[place] = loop->timers[(place - 1) / 2];
        loop->timers[place]->place = place;
        place = (place - 1) / 2;
    }
    loop->timers[place] = timer;
    timer->place = place;
}

static void sink_timer(sim_loop *loop, sim_handle *timer, size_t place) {
    while (true) {
        size_t child = 2 * place + 1;
        if (child >= loop->timers_count) break;
        if (child + 1 < loop->timers_count && rings_before(loop->timers[child + 1], loop->timers[child])) child += 1;
        if (!rings_before(loop->timers[child], timer)) break;
        loop->timers[place] = loop->timers[child];
        loop->timers[place]->place = place;
        place = child;
    }
    put_timer(loop, timer, place);
}

static void stop_timer(sim_handle *timer) {
    if (!timer->is_active) return;
    timer->is_active = false;
    sim_loop *loop = timer->loop;
    sim_handle *last = loop->timers[--loop->timers_count];
    if (last != timer) sink_timer(loop, last, timer->place);
}

int uv_timer_init(uv_loop_t *loop, uv_timer_t *timer) {
    make(loop, timer, UV_TIMER);
    return 0;
}

int uv_timer_start(uv_timer_t *handle, uv_timer_cb rings, uint64_t timeout, uint64_t repeat) {
    sim_handle *timer = of(handle);
    if (timer->is_closing || rings == NULL) return UV_EINVAL;
    stop_timer(timer);
    sim_loop *loop = timer->loop;
    timer->rings = rings;
    timer->due = loop->loop->time + timeout < timeout ? UINT64_MAX : loop->loop->time + timeout;
    timer->repeat = repeat;
    timer->start = loop->starts++;
    timer->is_active = true;
    if (loop->timers_count == loop->timers_capacity) {
        loop->timers_capacity = loop->timers_capacity == 0 ? 64 : loop->timers_capacity * 2;
        loop->timers = realloc(loop->timers, loop->timers_capacity * sizeof *loop->timers);
        if (loop->timers == NULL) abort();
    }
    put_timer(loop, timer, loop->timers_count++);
    return 0;
}

static void run_timers(sim_loop *loop) {
    while (loop->timers_count > 0 && loop->timers[0]->due <= loop->loop->time) {
        sim_handle *timer = loop->timers[0];
        stop_timer(timer);
        uv_timer_t *handle = (uv_timer_t *)timer->handle;
        if (timer->repeat > 0) uv_timer_start(handle, timer->rings, timer->repeat, timer->repeat);
        timer->rings(handle);
    }
}

// MARK: - Async, prepare, idle, poll

int uv_async_init(uv_loop_t *loop, uv_async_t *async, uv_async_cb body) {
    sim_handle *made = make(loop, async, UV_ASYNC);
    made->async = body;
    made->is_active = true;
    return 0;
}

int uv_async_send(uv_async_t *async) {
    sim_handle *handle = of(async);
    handle->is_sent = true;
    note(handle);
    return 0;
}

int uv_prepare_init(uv_loop_t *loop, uv_prepare_t *prepare) {
    of_loop(loop)->prepare = make(loop, prepare, UV_PREPARE);
    return 0;
}

int uv_prepare_start(uv_prepare_t *prepare, uv_prepare_cb body) {
    of(prepare)->prepare = body;
    of(prepare)->is_active = true;
    return 0;
}

int uv_idle_init(uv_loop_t *loop, uv_idle_t *idle) {
    of_loop(loop)->idle = make(loop, idle, UV_IDLE);
    return 0;
}

int uv_idle_start(uv_idle_t *idle, uv_idle_cb body) {
    of(idle)->idle = body;
    of(idle)->is_active = true;
    return 0;
}

int uv_idle_stop(uv_idle_t *idle) {
    of(idle)->is_active = false;
    return 0;
}

int uv_poll_init(uv_loop_t *loop, uv_poll_t *poll, int descriptor) {
    sim_socket *socket = sim_socket_of(descriptor);
    if (socket == NULL) return UV_EBADF;
    sim_handle *made = make(loop, poll, UV_POLL);
    made->socket = socket;
    socket->changed = changed;
    socket->owner = made;
    return 0;
}

int uv_poll_start(uv_poll_t *poll, int events, uv_poll_cb body) {
    sim_handle *handle = of(poll);
    handle->events = events;
    handle->polled = body;
    handle->is_active = true;
    note(handle);
    return 0;
}

int uv_poll_stop(uv_poll_t *poll) {
    of(poll)->is_active = false;
    return 0;
}

// MARK: - Streams

int uv_tcp_init(uv_loop_t *loop, uv_tcp_t *tcp) {
    make(loop, tcp, UV_TCP);
    return 0;
}

int uv_tcp_open(uv_tcp_t *tcp, uv_os_sock_t descriptor) {
    sim_handle *handle = of(tcp);
    sim_socket *socket = sim_socket_of(descriptor);
    if (socket == NULL) return UV_EBADF;
    handle->socket = socket;
    socket->changed = changed;
    socket->owner = handle;
    return 0;
}

int uv_tcp_getpeername(const uv_tcp_t *tcp, struct sockaddr *name, int *length) {
    sim_socket *socket = of(tcp)->socket;
    if (socket == NULL || socket->state != sim_connected) return UV_ENOTCONN;
    memcpy(name, &socket->remote, sizeof socket->remote);
    *length = sizeof socket->remote;
    return 0;
}

int uv_tcp_connect(uv_connect_t *request, uv_tcp_t *tcp, const struct sockaddr *address, uv_connect_cb body) {
    sim_handle *handle = of(tcp);
    if (address->sa_family != AF_INET) return UV_EAFNOSUPPORT;
    request->handle = (uv_stream_t *)tcp;
    handle->connect = request;
    handle->connected = body;
    handle->is_active = true;
    sim_socket_connect(handle->socket, (const struct sockaddr_in *)address);
    return 0;
}

int uv_read_start(uv_stream_t *stream, uv_alloc_cb allocate, uv_read_cb read) {
    sim_handle *handle = of(stream);
    if (handle->is_closing) return UV_EINVAL;
    if (handle->read != NULL) return UV_EALREADY;
    handle->allocate = allocate;
    handle->read = read;
    if (sim_socket_is_readable(handle->socket)) note(handle);
    return 0;
}

int uv_read_stop(uv_stream_t *stream) {
    of(stream)->read = NULL;
    return 0;
}

int uv_try_write(uv_stream_t *stream, const uv_buf_t buffers[], unsigned int count) {
    sim_handle *handle = of(stream);
    if (handle->socket == NULL || handle->is_closing) return UV_EBADF;
    if (handle->connect != NULL || handle->first_write != NULL) return UV_EAGAIN;
    size_t total = 0;
    for (unsigned int place = 0; place < count; place++) {
        if (buffers[place].len == 0) continue;
        ssize_t taken = sim_socket_send(handle->socket, buffers[place].base, buffers[place].len);
        if (taken < 0) return total > 0 ? (int)total : (int)taken;
        total += (size_t)taken;
        if ((size_t)taken < buffers[place].len) break;
    }
    return (int)total;
}

/// Hands over what waits, as far as the kernel takes it. What is done is told in a turn's I/O.
static void write_on(sim_handle *handle) {
    for (sim_write *write = handle->first_write; write != NULL; write = write->next) {
        while (write->status == 0 && write->rest.len > 0) {
            ssize_t taken = sim_socket_send(handle->socket, write->rest.base, write->rest.len);
            if (taken == -EAGAIN) return;
            if (taken < 0) {
                write->status = (int)taken;
            } else {
                write->rest.base += taken;
                write->rest.len -= (size_t)taken;
            }
        }
    }
}

int uv_write(uv_write_t *request, uv_stream_t *stream, const uv_buf_t buffers[], unsigned int count, uv_write_cb done) {
    sim_handle *handle = of(stream);
    if (handle->socket == NULL || handle->is_closing) return UV_EBADF;
    if (count != 1) sim_fail("uv_write with several buffers is not simulated");
    sim_write *write = sim_calloc(sizeof *write);
    request->handle = stream;
    write->request = request;
    write->done = done;
    write->rest = buffers[0];
    if (handle->last_write != NULL) handle->last_write->next = write; else handle->first_write = write;
    handle->last_write = write;
    if (handle->connect == NULL && handle->first_write == write) write_on(handle);
    note(handle);
    return 0;
}

int uv_shutdown(uv_shutdown_t *request, uv_stream_t *stream, uv_shutdown_cb body) {
    sim_handle *handle = of(stream);
    if (handle->socket == NULL || handle->is_closing || handle->socket->state != sim_connected) return UV_ENOTCONN;
    request->handle = stream;
    handle->shutdown = request;
    handle->shut = body;
    note(handle);
    return 0;
}

static void end_writes(sim_handle *handle, int status) {
    while (handle->first_write != NULL) {
        sim_write *write = handle->first_write;
        if (status == 0 && write->status == 0 && write->rest.len > 0) return;
        handle->first_write = write->next;
        if (handle->first_write == NULL) handle->last_write = NULL;
        uv_write_t *request = write->request;
        uv_write_cb done = write->done;
        int result = status != 0 ? status : write->status;
        free(write);
        done(request, result);
        if (handle->is_closing && status == 0) return;
    }
}

static void serve_stream(sim_handle *handle) {
    sim_socket *socket = handle->socket;
    if (socket == NULL) return;
    if (handle->connect != NULL) {
        if (socket->state == sim_connecting && socket->error == 0) return;
        uv_connect_t *request = handle->connect;
        handle->connect = NULL;
        handle->connected(request, socket->error != 0 ? -socket->error : 0);
        if (handle->is_closing) return;
    }
    if (handle->first_write != NULL) {
        write_on(handle);
        end_writes(handle, 0);
        if (handle->is_closing) return;
    }
    if (handle->shutdown != NULL && handle->first_write == NULL) {
        sim_socket_shutdown(socket);
        uv_shutdown_t *request = handle->shutdown;
        handle->shutdown = NULL;
        handle->shut(request, 0);
        if (handle->is_closing) return;
    }
    for (int round = 0; round < 32 && handle->read != NULL && sim_socket_is_readable(socket); round++) {
        uv_stream_t *stream = (uv_stream_t *)handle->handle;
        uv_buf_t buffer = {NULL, 0};
        handle->allocate((uv_handle_t *)stream, 65536, &buffer);
        if (buffer.base == NULL || buffer.len == 0) {
            if (handle->read != NULL) handle->read(stream, UV_ENOBUFS, &buffer);
            return;
        }
        ssize_t count = sim_socket_receive(socket, buffer.base, buffer.len);
        if (count == -EAGAIN) return;
        uv_read_cb read = handle->read;
        if (count <= 0) handle->read = NULL;
        read(stream, count == 0 ? UV_EOF : count, &buffer);
        if (handle->is_closing || count <= 0) return;
        if ((size_t)count < buffer.len) break;
    }
    if (handle->read != NULL && sim_socket_is_readable(socket)) note(handle);
}

// MARK: - Datagrams

static void datagram_came(void *owner, const unsigned char *bytes, size_t count, const struct sockaddr_in *from);

typedef struct sim_arrival {
    struct sim_arrival *next;
    struct sockaddr_in from;
    size_t count;
    unsigned char bytes[];
} sim_arrival;

int uv_udp_init(uv_loop_t *loop, uv_udp_t *udp) {
    make(loop, udp, UV_UDP);
    return 0;
}

int uv_udp_bind(uv_udp_t *udp, const struct sockaddr *address, unsigned int flags) {
    (void)flags;
    if (address->sa_family != AF_INET) return UV_EAFNOSUPPORT;
    sim_handle *handle = of(udp);
    struct sockaddr_in local = *(const struct sockaddr_in *)address;
    handle->datagrams = sim_datagrams_open(sim_self->host, &local);
    if (handle->datagrams == NULL) return UV_EADDRINUSE;
    handle->datagrams->receive = datagram_came;
    handle->datagrams->owner = handle;
    return 0;
}

int uv_udp_getsockname(const uv_udp_t *udp, struct sockaddr *name, int *length) {
    sim_handle *handle = of(udp);
    if (handle->datagrams == NULL) return UV_EBADF;
    memcpy(name, &handle->datagrams->local, sizeof handle->datagrams->local);
    *length = sizeof handle->datagrams->local;
    return 0;
}

int uv_udp_recv_start(uv_udp_t *udp, uv_alloc_cb allocate, uv_udp_recv_cb received) {
    of(udp)->allocate = allocate;
    of(udp)->received = received;
    of(udp)->is_active = true;
    return 0;
}

int uv_udp_try_send(uv_udp_t *udp, const uv_buf_t buffers[], unsigned int count, const struct sockaddr *address) {
    if (count != 1 || address->sa_family != AF_INET) return UV_EINVAL;
    sim_handle *handle = of(udp);
    if (handle->datagrams == NULL || handle->is_closing) return UV_EBADF;
    int result = sim_datagrams_send(
        handle->datagrams, (const struct sockaddr_in *)address, buffers[0].base, buffers[0].len);
    return result < 0 ? result : (int)buffers[0].len;
}

static void datagram_came(void *owner, const unsigned char *bytes, size_t count, const struct sockaddr_in *from) {
    sim_handle *handle = owner;
    if (handle->is_closing) return;
    sim_arrival *arrival = malloc(sizeof *arrival + count);
    if (arrival == NULL) abort();
    arrival->next = NULL;
    arrival->from = *from;
    arrival->count = count;
    memcpy(arrival->bytes, bytes, count);
    sim_arrival **last = &handle->arrivals;
    size_t waiting = 0;
    while (*last != NULL) last = &(*last)->next, waiting += 1;
    // The receive buffer of a socket is full.
    if (waiting >= 256) {
        free(arrival);
        return;
    }
    *last = arrival;
    note(handle);
}

static void serve_datagrams(sim_handle *handle) {
    while (handle->arrivals != NULL && !handle->is_closing) {
        sim_arrival *arrival = handle->arrivals;
        handle->arrivals = arrival->next;
        uv_buf_t buffer = {NULL, 0};
        handle->allocate(handle->handle, 65536, &buffer);
        size_t count = arrival->count < buffer.len ? arrival->count : buffer.len;
        memcpy(buffer.base, arrival->bytes, count);
        handle->received(
            (uv_udp_t *)handle->handle, (ssize_t)count, &buffer, (const struct sockaddr *)&arrival->from,
            count < arrival->count ? UV_UDP_PARTIAL : 0);
        free(arrival);
    }
}

// MARK: - Names

int uv_getaddrinfo(
    uv_loop_t *loop, uv_getaddrinfo_t *request, uv_getaddrinfo_cb body, const char *node, const char *service,
    const struct addrinfo *hints) {
    (void)loop, (void)request, (void)body, (void)node, (void)service, (void)hints;
    return UV_EAI_NONAME;
}

void uv_freeaddrinfo(struct addrinfo *found) { (void)found; }

// MARK: - Closing

int uv_is_closing(const uv_handle_t *handle) { return of(handle)->is_closing; }

void uv_close(uv_handle_t *handle, uv_close_cb closed) {
    sim_handle *closing = of(handle);
    if (closing->is_closing) sim_fail("a handle is closed twice");
    if (handle->type == UV_TIMER) stop_timer(closing);
    closing->is_closing = true;
    closing->is_active = false;
    closing->read = NULL;
    closing->closed = closed;
    sim_loop *loop = closing->loop;
    if (loop->last_closing != NULL) loop->last_closing->next_closing = closing; else loop->first_closing = closing;
    loop->last_closing = closing;
    if (closing->socket != NULL) {
        if (handle->type == UV_TCP) sim_socket_close(closing->socket); else closing->socket->changed = NULL;
    }
    if (closing->datagrams != NULL) sim_datagrams_close(closing->datagrams);
    rouse(loop);
}

/// What a handle has become whose end its owner has heard of: it may still be asked whether it is closing.
static sim_handle gone = {.is_closing = true};

static void finish_closing(sim_handle *closing) {
    if (closing->handle->type == UV_TCP) {
        if (closing->connect != NULL) {
            uv_connect_t *request = closing->connect;
            closing->connect = NULL;
            closing->connected(request, UV_ECANCELED);
        }
        end_writes(closing, UV_ECANCELED);
        if (closing->shutdown != NULL) {
            uv_shutdown_t *request = closing->shutdown;
            closing->shutdown = NULL;
            closing->shut(request, UV_ECANCELED);
        }
    } else if (closing->handle->type == UV_UDP) {
        while (closing->arrivals != NULL) {
            sim_arrival *arrival = closing->arrivals;
            closing->arrivals = arrival->next;
            free(arrival);
        }
    }
    sim_loop *loop = closing->loop;
    if (closing == loop->idle) loop->idle = NULL;
    if (closing == loop->prepare) loop->prepare = NULL;
    if (closing->is_noted) forget(closing);
    if (closing->previous != NULL) closing->previous->next = closing->next; else loop->handles = closing->next;
    if (closing->next != NULL) closing->next->previous = closing->previous;
    closing->handle->u.reserved[3] = &gone;
    if (closing->closed != NULL) closing->closed(closing->handle);
    free(closing);
}

static void run_closing(sim_loop *loop) {
    sim_handle *closing = loop->first_closing;
    loop->first_closing = loop->last_closing = NULL;
    while (closing != NULL) {
        sim_handle *next = closing->next_closing;
        finish_closing(closing);
        closing = next;
    }
}

// MARK: - The turn

static void serve(sim_handle *handle) {
    switch (handle->handle->type) {
    case UV_ASYNC:
        if (handle->is_sent) {
            handle->is_sent = false;
            handle->async((uv_async_t *)handle->handle);
        }
        break;
    case UV_POLL:
        if (handle->is_active && (handle->events & UV_READABLE) != 0 && sim_socket_is_readable(handle->socket)) {
            handle->polled((uv_poll_t *)handle->handle, 0, UV_READABLE);
            if (!handle->is_closing && handle->is_active && sim_socket_is_readable(handle->socket)) note(handle);
        }
        break;
    case UV_TCP: serve_stream(handle); break;
    case UV_UDP: serve_datagrams(handle); break;
    default: break;
    }
}

static void serve_noted(sim_loop *loop) {
    sim_handle *handle = loop->first_noted;
    loop->first_noted = loop->last_noted = NULL;
    // Those that close are freed at the end of the turn only.
    while (handle != NULL) {
        sim_handle *next = handle->next_noted;
        handle->is_noted = false;
        handle->next_noted = NULL;
        if (!handle->is_closing) serve(handle);
        handle = next;
    }
}

static bool has_idle(const sim_loop *loop) { return loop->idle != NULL && loop->idle->is_active; }

static void poll_loop(sim_loop *loop) {
    if (loop->first_noted == NULL && loop->first_closing == NULL && !has_idle(loop)) {
        uint64_t until = loop->timers_count > 0 ? loop->timers[0]->due * 1000000 : SIM_NEVER;
        uint64_t began = sim_now();
        loop->waiting = sim_self;
        sim_wait_until(until);
        loop->waiting = NULL;
        loop->idle_nanoseconds += sim_now() - began;
    } else {
        // Others may have a turn in between, as other processors would.
        loop->waiting = sim_self;
        sim_wait_until(sim_now() + 1);
        loop->waiting = NULL;
    }
    loop->loop->time = sim_now() / 1000000;
    serve_noted(loop);
}

int uv_run(uv_loop_t *uv_loop, uv_run_mode mode) {
    (void)mode;
    sim_loop *loop = of_loop(uv_loop);
    uv_loop->time = sim_now() / 1000000;
    while (loop->handles != NULL) {
        run_timers(loop);
        if (has_idle(loop)) loop->idle->idle((uv_idle_t *)loop->idle->handle);
        if (loop->prepare != NULL && loop->prepare->is_active) {
            loop->prepare->prepare((uv_prepare_t *)loop->prepare->handle);
        }
        if (sim_self != NULL) {
            poll_loop(loop);
        } else if (loop->first_closing == NULL) {
            sim_fail("a loop runs on a thread that is not simulated");
        }
        run_closing(loop);
        uv_loop->time = sim_now() / 1000000;
    }
    return 0;
}
