// Clients that are nothing but counters, for rooms with more viewers than a program could be simulated for.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <string.h>

#include "network.h"

typedef struct sim_viewer {
    sim_socket *socket;
    /// The one before it at the same address.
    struct sim_viewer *former;
    uint8_t to;
    /// Its connection has ended, or it was told that it is in the room no more.
    bool has_ended;
    /// It was told of messages that are only in history.
    bool was_told;
    /// It was told that the room's leader is away, and not since that it is back.
    bool is_away;
    /// Of the message that was shown last; 0 before the first.
    uint32_t last;
    const unsigned char *hello;
    size_t count;
} sim_viewer_state;

static sim_viewers sums[sim_addresses];
/// The last one of each address.
static sim_viewer_state *viewers[sim_addresses];

void sim_viewer(int host, uint8_t to, uint16_t port, const void *hello, uint64_t count) {
    sim_viewer_state *viewer = sim_calloc(sizeof *viewer);
    sim_socket *socket = sim_socket_new(sim_hosts[host]);
    socket->viewer = (struct sim_viewer *)viewer;
    unsigned char *copy = malloc(count);
    if (copy == NULL) abort();
    memcpy(copy, hello, count);
    viewer->to = to;
    viewer->socket = socket;
    viewer->hello = copy;
    viewer->count = count;
    viewer->former = viewers[to];
    viewers[to] = viewer;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(0x7f000000u | to);
    sim_socket_connect(socket, &address);
}

static uint64_t ping_pause;

void sim_viewers_ping(uint64_t nanoseconds) { ping_pause = nanoseconds; }

/// That it is there still, and nothing else.
static void ping(void *context, uint64_t tag) {
    (void)tag;
    static const unsigned char frame[] = {0x89, 0x80, 0, 0, 0, 0};
    sim_viewer_state *viewer = context;
    if (viewer->has_ended || viewer->socket->state != sim_connected) return;
    (void)sim_socket_send(viewer->socket, frame, sizeof frame);
    sim_at(sim_now() + ping_pause, ping, viewer, 0);
}

void sim_viewer_connected(sim_socket *socket) {
    sim_viewer_state *viewer = socket->viewer;
    sums[viewer->to].connected += 1;
    (void)sim_socket_send(socket, viewer->hello, viewer->count);
    free((void *)(uintptr_t)viewer->hello);
    viewer->hello = NULL;
    if (ping_pause > 0) sim_at(sim_now() + ping_pause, ping, viewer, 0);
}

void sim_viewer_ended(sim_socket *socket) {
    sim_viewer_state *viewer = socket->viewer;
    if (viewer->has_ended) return;
    viewer->has_ended = true;
    sums[viewer->to].ended += 1;
}

static void show(sim_viewer_state *viewer, uint32_t number) {
    sim_viewers *sum = &sums[viewer->to];
    sum->shown += 1;
    if (number <= viewer->last) {
        sum->repeated += 1;
        return;
    }
    // Nobody misses what was said before it came.
    if (viewer->last > 0 && !viewer->was_told) sum->missing += number - viewer->last - 1;
    viewer->last = number;
}

/// What pushes say of the room's leader.
static void hear_states(sim_viewer_state *viewer, const unsigned char *bytes, const unsigned char *end) {
    static const char key[] = "\"state\":\"";
    sim_viewers *sum = &sums[viewer->to];
    const unsigned char *place = bytes;
    while ((place = memmem(place, (size_t)(end - place), key, sizeof key - 1)) != NULL) {
        place += sizeof key - 1;
        size_t left = (size_t)(end - place);
        if (left >= 4 && memcmp(place, "LOST", 4) == 0) {
            sum->lost += 1;
            viewer->is_away = true;
        } else if (left >= 7 && memcmp(place, "ENTERED", 7) == 0) {
            if (!viewer->is_away) sum->unexpected += 1;
            viewer->is_away = false;
        } else if (left >= 6 && memcmp(place, "FAILED", 6) == 0) {
            sim_viewer_ended(viewer->socket);
        }
    }
}

static bool contains(const sim_body *body, const char *text) {
    return memmem(body->bytes, body->count, text, strlen(text)) != NULL;
}

/// The next number behind a place, which goes on behind it; false when there is none.
static bool next_number(const unsigned char **place, const unsigned char *end, uint32_t *number) {
    while ((*place = memmem(*place, (size_t)(end - *place), "no.", 3)) != NULL) {
        *place += 3;
        *number = 0;
        int digits = 0;
        while (digits < 8 && *place < end && **place >= '0' && **place <= '9') {
            *number = *number * 10 + (uint32_t)(*(*place)++ - '0');
            digits += 1;
        }
        if (digits == 8) return true;
    }
    return false;
}

/// Whether a body has one message and nothing else to note. Bodies of a message go to very many viewers: they are read
/// once.
static uint32_t shown_by(const sim_body *body) {
    if (contains(body, "\"gap\":") || contains(body, "\"kicked\":") || contains(body, "\"state\":\"")) return UINT32_MAX;
    const unsigned char *place = body->bytes, *end = body->bytes + body->count;
    uint32_t first = 0, second = 0;
    bool has_one = next_number(&place, end, &first) && !next_number(&place, end, &second);
    return has_one && first > 0 ? first : UINT32_MAX;
}

void sim_viewer_receives(sim_socket *socket, sim_body *body) {
    sim_viewer_state *viewer = socket->viewer;
    sums[viewer->to].bytes += body->count;
    if (body->shows == 0) body->shows = shown_by(body);
    if (body->shows != UINT32_MAX) return show(viewer, body->shows);
    const unsigned char *place = body->bytes, *end = body->bytes + body->count;
    if (contains(body, "\"gap\":")) viewer->was_told = true;
    if (contains(body, "\"kicked\":")) sim_viewer_ended(socket);
    hear_states(viewer, place, end);
    // No frame that has a message is cut in two: nobody's window is full.
    uint32_t number = 0;
    while (next_number(&place, end, &number)) show(viewer, number);
}

sim_viewers sim_viewers_of(uint8_t to) {
    sim_viewers sum = sums[to];
    sum.least = UINT64_MAX;
    for (const sim_viewer_state *viewer = viewers[to]; viewer != NULL; viewer = viewer->former) {
        if (viewer->has_ended) continue;
        if (viewer->is_away) sum.away += 1;
        if (viewer->last < sum.least) sum.least = viewer->last;
        if (viewer->last > sum.greatest) sum.greatest = viewer->last;
    }
    return sum;
}
