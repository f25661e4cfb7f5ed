// The part that load clients of durable sends share, whatever the protocol: M senders on one thread, each with up to W
// sends that are not answered yet; when sends are due; the time to the ack; the report.
//
// With --rate the sends are due at fixed times (open loop): the time to the ack is measured from when a send was due,
// so that a server that stalls is charged for all who wait behind the stall.
#ifndef BENCHMARKS_SENDS_H
#define BENCHMARKS_SENDS_H

#include "client.h"

#define SENDS_USAGE                                                                                                    \
    "  --senders M        (100)\n"                                                                                     \
    "  --in-flight W      sends of one sender without an ack (16)\n"                                                   \
    "  --text B           bytes of a text (200)\n"                                                                     \
    "  --rate R           sends a second, all senders together; 0 (default): as fast as acks come\n"                   \
    "  --seconds S        length of the measurement (10)\n"                                                            \
    "  --warmup S         before it (1)\n"

#define SENDS_SETTINGS                                                                                                 \
    {"--senders", SETTING_INT, &sends.senders}, {"--in-flight", SETTING_INT, &sends.in_flight},                        \
        {"--text", SETTING_INT, &sends.text}, {"--rate", SETTING_DOUBLE, &sends.rate},                                 \
        {"--seconds", SETTING_DOUBLE, &sends.seconds}, {"--warmup", SETTING_DOUBLE, &sends.warmup}

enum { SENDERS_MAX = 10000, IN_FLIGHT_MAX = 1024, CODES_MAX = 16 };

static struct {
    int senders, in_flight, text;
    double rate, seconds, warmup;
} sends = {.senders = 100, .in_flight = 16, .text = 200, .seconds = 10, .warmup = 1};

// One connection. Programs put it first in a struct of their own.
struct sender {
    struct stream stream;
    int index;                    // from 1
    uint64_t sent, answered;      // sends so far; the next one is number `sent`
    uint64_t due[IN_FLIGHT_MAX];  // when send n was due, at n % IN_FLIGHT_MAX; 0: answered
};

// The part of a client that depends on its protocol.
struct send_protocol {
    struct sender *(*open)(int index);  // a sender whose connection is watched and takes sends
    void (*append)(struct sender *s);   // appends send number s->sent to what waits
    bool (*has_room)(const struct sender *s);  // whether the protocol lets it send now; NULL: always
    bytes_handler take;                 // calls send_acked or send_refused for each answer
    void (*close)(struct sender *s);    // when all is answered; may be NULL
};

static const struct send_protocol *protocol;
static struct sender **senders;
static char *pad, run_id[24];  // the text; a part of IDs that no other run has
static bool sending = true;
static uint64_t sent_total, answered_total;

// Counts since the measurement began.
static struct {
    uint64_t acked;
    struct histogram latency;
} result;
// Errors by code, since the beginning: none is expected.
static struct {
    int64_t code;
    uint64_t count;
} errors[CODES_MAX];

// ---------------------------------------------------------------------------------------------------------------------
// Output

static inline bool may_send(const struct sender *s) {
    return s->sent - s->answered < (uint64_t)sends.in_flight && (!protocol->has_room || protocol->has_room(s));
}

static inline void send_one(struct sender *s, uint64_t due) {
    protocol->append(s);
    s->due[s->sent % IN_FLIGHT_MAX] = due;
    s->sent++;
    sent_total++;
}

// Closed loop: fills the sender's window.
static inline void fill(struct sender *s, uint64_t now) {
    while (may_send(s)) send_one(s, now);
    stream_flush(&s->stream);
}

// Open loop: sends what is due by now, in turn over the senders. A sender whose window is full catches up later: its
// sends keep the times at which they were due. Returns the time until the next one, in ns.
static inline uint64_t send_due(uint64_t begin, uint64_t now) {
    // Send number n is due at n / rate: so many are by now.
    uint64_t due_total = (uint64_t)((double)(now - begin) * sends.rate / 1e9) + 1;
    static uint64_t last_due;
    if (due_total != last_due || sent_total < due_total) {
        for (int i = 0; i < sends.senders; i++) {
            struct sender *s = senders[i];
            // Send n of sender i is number n * senders + i of all.
            uint64_t first = s->sent;
            while (s->sent * (uint64_t)sends.senders + (uint64_t)i < due_total && may_send(s)) {
                double number = (double)(s->sent * (uint64_t)sends.senders + (uint64_t)i);
                send_one(s, begin + (uint64_t)(number * 1e9 / sends.rate));
            }
            if (s->sent != first) stream_flush(&s->stream);
        }
        last_due = due_total;
    }
    double next = (double)due_total * 1e9 / sends.rate + (double)begin - (double)now;
    return next > 1000 ? (uint64_t)next : 1000;
}

// ---------------------------------------------------------------------------------------------------------------------
// Input

// Send number `number` has its answer. Returns how long that took since it was due.
static inline uint64_t send_answered(struct sender *s, uint64_t number, uint64_t now) {
    if (number >= s->sent) die("sender %d: an answer to nothing, send %llu", s->index, (unsigned long long)number);
    uint64_t *due = &s->due[number % IN_FLIGHT_MAX];
    if (s->sent - number > IN_FLIGHT_MAX || *due == 0)
        die("sender %d: a second answer to send %llu", s->index, (unsigned long long)number);
    uint64_t waited = now - *due;
    *due = 0;
    s->answered++;
    answered_total++;
    return waited;
}

static inline void send_acked(struct sender *s, uint64_t number, uint64_t now) {
    histogram_add(&result.latency, send_answered(s, number, now));
    result.acked++;
}

static inline void send_refused(
    struct sender *s, uint64_t number, uint64_t now, int64_t code, const char *text, size_t count) {
    static bool shown;
    if (!shown) fprintf(stderr, "first error: %.*s\n", (int)count, text);
    shown = true;
    send_answered(s, number, now);
    for (int i = 0; i < CODES_MAX; i++) {
        if (errors[i].count > 0 && errors[i].code != code) continue;
        errors[i].code = code;
        errors[i].count++;
        return;
    }
}

static inline void sender_was_read(struct stream *stream) {
    if (sending && sends.rate == 0) fill((struct sender *)stream, now_ns());
}

// ---------------------------------------------------------------------------------------------------------------------

// Whether the settings make sense.
static inline bool sends_are_possible(void) {
    return sends.senders >= 1 && sends.senders <= SENDERS_MAX && sends.in_flight >= 1 && sends.in_flight <= IN_FLIGHT_MAX
        && sends.text >= 1 && sends.text <= 32768 && sends.rate >= 0;
}

static inline void sends_report(double seconds, struct usage before, struct usage after, uint64_t behind, double own_cpu) {
    double acked = (double)result.acked, cpu = (double)(after.cpu_ns - before.cpu_ns) / 1e9;
    double user = (double)(after.user_ns - before.user_ns) / 1e9, each = acked > 0 ? 1e6 / acked : 0;
    double quantiles[3], fractions[3] = {0.5, 0.99, 0.999};
    for (int i = 0; i < 3; i++) quantiles[i] = (double)histogram_quantile(&result.latency, fractions[i]) / 1e6;
    double max = (double)result.latency.max / 1e6;
    if (target.json) {
        printf("{\"senders\":%d,\"inFlight\":%d,\"textBytes\":%d,\"rate\":%.0f,\"seconds\":%.3f,\"acked\":%llu,"
               "\"ackedPerSecond\":%.0f,\"p50Ms\":%.3f,\"p99Ms\":%.3f,\"p999Ms\":%.3f,\"maxMs\":%.3f,\"behind\":%llu,"
               "\"clientBusy\":%.3f,\"errors\":{",
               sends.senders, sends.in_flight, sends.text, sends.rate, seconds, (unsigned long long)result.acked,
               acked / seconds, quantiles[0], quantiles[1], quantiles[2], max, (unsigned long long)behind, own_cpu / seconds);
        for (int i = 0; i < CODES_MAX && errors[i].count > 0; i++)
            printf("%s\"%lld\":%llu", i ? "," : "", (long long)errors[i].code, (unsigned long long)errors[i].count);
        printf("}");
        if (target.pids.count)
            printf(",\"cpuSeconds\":%.3f,\"cpuMicrosPerSend\":%.3f,\"userMicrosPerSend\":%.3f", cpu, cpu * each,
                   user * each);
        printf("}\n");
        return;
    }
    printf("%d senders, %d in flight, %d bytes, %.2f s: %.0f acked/s", sends.senders, sends.in_flight, sends.text, seconds,
           acked / seconds);
    if (sends.rate > 0) printf(" of %.0f that were due (%llu still waiting)", sends.rate, (unsigned long long)behind);
    printf("\n  ack: p50 %.3f ms, p99 %.3f ms, p99.9 %.3f ms, max %.3f ms; this client %.2f of a core\n", quantiles[0],
           quantiles[1], quantiles[2], max, own_cpu / seconds);
    for (int i = 0; i < CODES_MAX && errors[i].count > 0; i++)
        printf("  error %lld: %llu times\n", (long long)errors[i].code, (unsigned long long)errors[i].count);
    if (target.pids.count)
        printf("  server: %.2f s CPU (%.2f of a core), %.1f us for a send, %.1f us in user mode\n", cpu, cpu / seconds,
               cpu * each, user * each);
}

// The whole run, after the settings have been read. Returns the exit code: 1 when a send was refused.
static inline int sends_run(const struct send_protocol *spoken) {
    protocol = spoken;
    client_begin();
    senders = calloc((size_t)sends.senders, sizeof *senders);
    pad = malloc((size_t)sends.text + 1);
    if (!senders || !pad) die("out of memory");
    memset(pad, 'x', (size_t)sends.text);
    pad[sends.text] = 0;
    snprintf(run_id, sizeof run_id, "%llx", (unsigned long long)now_ns() ^ (unsigned long long)getpid() << 40);
    for (int i = 0; i < sends.senders; i++) senders[i] = protocol->open(i + 1);

    struct usage before = {0}, after = {0};
    uint64_t start = now_ns(), now = start, begin = 0, end = UINT64_MAX, last_answer = start, answered_seen = 0, behind = 0;
    uint64_t warm = start + (uint64_t)(sends.warmup * 1e9), window_ns = 0, own_before = 0;
    if (sends.rate == 0)
        for (int i = 0; i < sends.senders; i++) fill(senders[i], now);
    // After the measurement: until all is answered, so that the check of the acks covers every send.
    while (sending || answered_total < sent_total) {
        uint64_t wait = 50000000;
        if (sending && sends.rate > 0) {
            uint64_t next = send_due(start, now);
            if (next < wait) wait = next;
        }
        streams_serve_bytes(wait, protocol->take, sender_was_read);
        now = now_ns();
        if (answered_total != answered_seen) {
            answered_seen = answered_total;
            last_answer = now;
        } else if (now - last_answer > 30000000000u) {
            die("no answer for 30 s; %llu sends wait", (unsigned long long)(sent_total - answered_total));
        }
        if (begin == 0 && now >= warm) {
            memset(&result, 0, sizeof result);
            before = target_usage();
            own_before = own_cpu_ns();
            begin = now_ns();
            end = begin + (uint64_t)(sends.seconds * 1e9);
        } else if (sending && now >= end) {
            double own_cpu = (double)(own_cpu_ns() - own_before) / 1e9;
            after = target_usage();
            window_ns = now_ns() - begin;
            sending = false;
            // Send 0 is due at once, so that one more may have been answered than this counts.
            uint64_t due = (uint64_t)((double)(now - start) * sends.rate / 1e9);
            if (due > answered_total) behind = due - answered_total;
            // Answers from here on are checked and no longer counted.
            sends_report((double)window_ns / 1e9, before, after, behind, own_cpu);
            if (result.acked == 0) die("nothing was acknowledged");
        }
    }
    if (protocol->close)
        for (int i = 0; i < sends.senders; i++) protocol->close(senders[i]);
    return errors[0].count > 0;
}

#endif
