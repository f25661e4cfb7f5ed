// Load client of the durable-send benchmark: M senders on one thread, each alone in a room of its own, each with up to
// W sends that are not acknowledged yet. Checks that the acks of a room carry dense seqs, and that each sender gets its
// own pushes once and in order. Exit code 1 when a send was refused or a check failed. The rooms PREFIX-1 ... PREFIX-M have to exist.
//
// With --rate the sends are due at fixed times (open loop): the time to the ack is measured from when a send was due,
// so that a server that stalls is charged for all who wait behind the stall.

#include "client.h"

static const char usage_text[] =
    "usage: sendload --room-prefix P --secret-file F [options]\n" TARGET_USAGE
    "  --room-prefix P    required\n"
    "  --senders M        (100)\n"
    "  --in-flight W      sends of one sender without an ack (16)\n"
    "  --text B           bytes of a text (200)\n"
    "  --rate R           sends a second, all senders together; 0 (default): as fast as acks come\n"
    "  --seconds S        length of the measurement (10)\n"
    "  --warmup S         before it (1)\n";

enum { SENDERS_MAX = 10000, IN_FLIGHT_MAX = 1024, CODES_MAX = 16 };
enum { FIRST_ID = 16 };  // requests before the sends have smaller IDs

static struct {
    const char *room_prefix;
    int senders, in_flight, text;
    double rate, seconds, warmup;
} options = {.senders = 100, .in_flight = 16, .text = 200, .seconds = 10, .warmup = 1};

struct sender {
    struct stream stream;
    int index;
    char room[128];
    uint64_t sent, answered;       // sends so far; the next ID is FIRST_ID + sent
    uint64_t due[IN_FLIGHT_MAX];   // when send n was due, at n % IN_FLIGHT_MAX; 0: answered
    int64_t ack_seq, push_seq;     // the last of each
};

static struct sender *senders;
static char *pad, run_id[24];
static bool sending = true;

// Counts since the measurement began.
static struct {
    uint64_t acked, pushes;
    struct histogram latency;
} result;
// Errors by code, since the beginning: none is expected.
static struct {
    int64_t code;
    uint64_t count;
} errors[CODES_MAX];
static uint64_t sent_total, answered_total;

// ---------------------------------------------------------------------------------------------------------------------
// Output

static void append_send(struct sender *s, uint64_t due) {
    char message[65536 + 512];
    int count = snprintf(
        message, sizeof message,
        "{\"id\":%llu,\"send\":{\"room\":\"%s\",\"clientId\":\"%s-%llu\",\"type\":\"TEXT\",\"text\":\"%s\"}}",
        (unsigned long long)(FIRST_ID + s->sent), s->room, run_id, (unsigned long long)s->sent, pad);
    stream_append(&s->stream, OPCODE_TEXT, message, (size_t)count);
    s->due[s->sent % IN_FLIGHT_MAX] = due;
    s->sent++;
    sent_total++;
}

// Closed loop: fills the sender's window.
static void fill(struct sender *s, uint64_t now) {
    while (s->sent - s->answered < (uint64_t)options.in_flight) append_send(s, now);
    stream_flush(&s->stream);
}

// Open loop: sends what is due by now, in turn over the senders. A sender whose window is full catches up later: its
// sends keep the times at which they were due. Returns the time until the next one, in ns.
static uint64_t send_due(uint64_t begin, uint64_t now) {
    // Send number n is due at n / rate: so many are by now.
    uint64_t due_total = (uint64_t)((double)(now - begin) * options.rate / 1e9) + 1;
    static uint64_t last_due;
    if (due_total != last_due || sent_total < due_total) {
        for (int i = 0; i < options.senders; i++) {
            struct sender *s = &senders[i];
            // Send n of sender i is number n * senders + i of all.
            uint64_t first = s->sent;
            while (s->sent * (uint64_t)options.senders + (uint64_t)i < due_total
                && s->sent - s->answered < (uint64_t)options.in_flight) {
                double number = (double)(s->sent * (uint64_t)options.senders + (uint64_t)i);
                append_send(s, begin + (uint64_t)(number * 1e9 / options.rate));
            }
            if (s->sent != first) stream_flush(&s->stream);
        }
        last_due = due_total;
    }
    double next = (double)due_total * 1e9 / options.rate + (double)begin - (double)now;
    return next > 1000 ? (uint64_t)next : 1000;
}

// ---------------------------------------------------------------------------------------------------------------------
// Input

static void on_error(const char *object, size_t count) {
    int64_t code = json_number(object, count, "code");
    static bool shown;
    if (!shown) fprintf(stderr, "sendload: first error: %.*s\n", (int)count, object);
    shown = true;
    for (int i = 0; i < CODES_MAX; i++) {
        if (errors[i].count > 0 && errors[i].code != code) continue;
        errors[i].code = code;
        errors[i].count++;
        return;
    }
}

static void on_reply(struct sender *s, const char *object, size_t count, uint64_t now) {
    int64_t id = json_number(object, count, "id");
    if (id < FIRST_ID || (uint64_t)id - FIRST_ID >= s->sent) die("a reply to nothing: %.*s", (int)count, object);
    uint64_t *due = &s->due[((uint64_t)id - FIRST_ID) % IN_FLIGHT_MAX];
    if (s->sent - ((uint64_t)id - FIRST_ID) > IN_FLIGHT_MAX || *due == 0)
        die("a second reply: %.*s", (int)count, object);
    uint64_t waited = now - *due;
    *due = 0;
    s->answered++;
    answered_total++;
    if (memmem(object, count, "\"error\":", 8)) {
        on_error(object, count);
        return;
    }
    int64_t seq = json_number(object, count, "seq");
    if (seq != s->ack_seq + 1)
        die("%s: ack of seq %lld after %lld", s->room, (long long)seq, (long long)s->ack_seq);
    s->ack_seq = seq;
    result.acked++;
    histogram_add(&result.latency, waited);
}

static void on_push(struct sender *s, const char *object, size_t count) {
    int64_t seq = json_number(object, count, "seq");
    if (seq < 0) return;  // a message that is not kept
    if (seq != s->push_seq + 1)
        die("%s: push of seq %lld after %lld", s->room, (long long)seq, (long long)s->push_seq);
    s->push_seq = seq;
    result.pushes++;
}

static void on_object(struct stream *stream, char *p, size_t count, uint64_t now) {
    struct sender *s = (struct sender *)stream;
    if (starts_with(p, count, "{\"message\":")) on_push(s, p, count);
    else if (starts_with(p, count, "{\"gap\":")) die("a gap although the sender reads all: %.*s", (int)count, p);
    else if (memmem(p, count, "\"send\":", 7) || memmem(p, count, "\"error\":", 8)) on_reply(s, p, count, now);
}

static void on_read(struct stream *stream) {
    if (sending && options.rate == 0) fill((struct sender *)stream, now_ns());
}

// ---------------------------------------------------------------------------------------------------------------------

static void open_sender(struct sender *s, int index) {
    char user[64];
    s->index = index;
    snprintf(user, sizeof user, "sender-%d", index);
    if (snprintf(s->room, sizeof s->room, "%s-%d", options.room_prefix, index) >= (int)sizeof s->room)
        die("--room-prefix is too long");
    chatroom_open(&s->stream, index, user, TCP_FAST);
    s->ack_seq = s->push_seq = chatroom_enter(&s->stream, s->room, index);
    stream_watch(&s->stream);
}

static void read_settings(int argc, char **argv) {
    const struct setting settings[] = {
        TARGET_SETTINGS,
        {"--room-prefix", SETTING_TEXT, &options.room_prefix},
        {"--senders", SETTING_INT, &options.senders},
        {"--in-flight", SETTING_INT, &options.in_flight},
        {"--text", SETTING_INT, &options.text},
        {"--rate", SETTING_DOUBLE, &options.rate},
        {"--seconds", SETTING_DOUBLE, &options.seconds},
        {"--warmup", SETTING_DOUBLE, &options.warmup},
        {0},
    };
    settings_read(argc, argv, settings, usage_text);
    if (!options.room_prefix || !target.secret_file) die("%s", usage_text);
    if (options.senders < 1 || options.senders > SENDERS_MAX || options.in_flight < 1 || options.in_flight > IN_FLIGHT_MAX
        || options.text < 1 || options.text > 32768 || options.rate < 0)
        die("an option has a value that makes no sense\n%s", usage_text);
}

static void report(double seconds, struct usage before, struct usage after, uint64_t late) {
    double acked = (double)result.acked, cpu = (double)(after.cpu_ns - before.cpu_ns) / 1e9;
    double user = (double)(after.user_ns - before.user_ns) / 1e9;
    double quantiles[3], fractions[3] = {0.5, 0.99, 0.999};
    for (int i = 0; i < 3; i++) quantiles[i] = (double)histogram_quantile(&result.latency, fractions[i]) / 1e6;
    double max = (double)result.latency.max / 1e6;
    if (target.json) {
        printf("{\"senders\":%d,\"inFlight\":%d,\"textBytes\":%d,\"rate\":%.0f,\"seconds\":%.3f,\"acked\":%llu,"
               "\"ackedPerSecond\":%.0f,\"pushes\":%llu,\"p50Ms\":%.3f,\"p99Ms\":%.3f,\"p999Ms\":%.3f,\"maxMs\":%.3f,"
               "\"behind\":%llu,\"errors\":{",
               options.senders, options.in_flight, options.text, options.rate, seconds, (unsigned long long)result.acked,
               acked / seconds, (unsigned long long)result.pushes, quantiles[0], quantiles[1], quantiles[2], max,
               (unsigned long long)late);
        for (int i = 0; i < CODES_MAX && errors[i].count > 0; i++)
            printf("%s\"%lld\":%llu", i ? "," : "", (long long)errors[i].code, (unsigned long long)errors[i].count);
        printf("}");
        if (target.pid)
            printf(",\"cpuSeconds\":%.3f,\"cpuMicrosPerSend\":%.3f,\"userMicrosPerSend\":%.3f", cpu, cpu * 1e6 / acked,
                   user * 1e6 / acked);
        printf("}\n");
        return;
    }
    printf("%d senders, %d in flight, %d bytes, %.2f s: %.0f acked/s", options.senders, options.in_flight, options.text,
           seconds, acked / seconds);
    if (options.rate > 0) printf(" of %.0f that were due (%llu still waiting)", options.rate, (unsigned long long)late);
    printf("\n  ack: p50 %.3f ms, p99 %.3f ms, p99.9 %.3f ms, max %.3f ms\n", quantiles[0], quantiles[1], quantiles[2], max);
    for (int i = 0; i < CODES_MAX && errors[i].count > 0; i++)
        printf("  error %lld: %llu times\n", (long long)errors[i].code, (unsigned long long)errors[i].count);
    if (target.pid)
        printf("  server: %.2f s CPU (%.2f of a core), %.1f us for a send, %.1f us in user mode\n", cpu, cpu / seconds,
               cpu * 1e6 / acked, user * 1e6 / acked);
}

int main(int argc, char **argv) {
    read_settings(argc, argv);
    client_begin();
    senders = calloc((size_t)options.senders, sizeof *senders);
    pad = malloc((size_t)options.text + 1);
    if (!senders || !pad) die("out of memory");
    memset(pad, 'x', (size_t)options.text);
    pad[options.text] = 0;
    snprintf(run_id, sizeof run_id, "%llx", (unsigned long long)now_ns() ^ (unsigned long long)getpid() << 40);
    for (int i = 0; i < options.senders; i++) open_sender(&senders[i], i + 1);

    struct usage before = {0}, after = {0};
    uint64_t start = now_ns(), now = start, begin = 0, end = UINT64_MAX, last_answer = start, answered_seen = 0, late = 0;
    uint64_t warm = start + (uint64_t)(options.warmup * 1e9), window_ns = 0;
    if (options.rate == 0)
        for (int i = 0; i < options.senders; i++) fill(&senders[i], now);
    // After the measurement: until all is answered, so that the check of the acks covers every send.
    while (sending || answered_total < sent_total) {
        uint64_t wait = 50000000;
        if (sending && options.rate > 0) {
            uint64_t next = send_due(start, now);
            if (next < wait) wait = next;
        }
        streams_serve(wait, on_object, on_read);
        now = now_ns();
        if (answered_total != answered_seen) {
            answered_seen = answered_total;
            last_answer = now;
        } else if (now - last_answer > 30000000000u) {
            die("no answer for 30 s; %llu sends wait", (unsigned long long)(sent_total - answered_total));
        }
        if (begin == 0 && now >= warm) {
            memset(&result, 0, sizeof result);
            before = process_usage(target.pid);
            begin = now_ns();
            end = begin + (uint64_t)(options.seconds * 1e9);
        } else if (sending && now >= end) {
            after = process_usage(target.pid);
            window_ns = now_ns() - begin;
            sending = false;
            if (options.rate > 0) late = (uint64_t)((double)(now - start) * options.rate / 1e9) - answered_total;
            // Answers from here on are checked and no longer counted.
            report((double)window_ns / 1e9, before, after, late);
            if (result.acked == 0) die("nothing was acknowledged");
        }
    }
    for (int i = 0; i < options.senders; i++) chatroom_leave(&senders[i].stream, senders[i].room);
    return errors[0].count > 0;
}
