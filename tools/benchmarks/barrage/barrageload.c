// Load client of the barrage benchmark: senders at a fixed total rate, viewers that check what they are shown. One
// thread. All viewers that are no senders must see the same sample; what they saw and what they were told as skipped is
// the sum of what was sent.

#include "client.h"

static const char usage_text[] =
    "usage: barrageload --room R --secret-file F [options]\n" TARGET_USAGE
    "  --room R           required\n"
    "  --senders N        connections that send, and view what they are shown (50)\n"
    "  --viewers N        connections that only view (5000); 0 leaves ingress and sampling alone\n"
    "  --rate R           items a second in all (20000)\n"
    "  --text B           bytes of a text (20)\n"
    "  --seconds S        length of the measurement (5)\n"
    "  --warmup S         before it (2)\n";

enum { RING = 1 << 20, CONNECTIONS_MAX = 100000, NUMBER_DIGITS = 9 };

static struct {
    const char *room;
    int senders, viewers, text;
    double rate, seconds, warmup;
} options = {.senders = 50, .viewers = 5000, .text = 20, .rate = 20000, .seconds = 5, .warmup = 2};

struct connection {
    struct stream stream;
    bool sends;
    uint64_t items, hash, skipped;  // shown, what (order does not matter), told as skipped; since the first item
    uint64_t own;                   // of those shown, its own
    uint64_t sent;
};

static struct connection *connections;
static int connection_count;
static char *pad;
static uint64_t *sent_at, sent_total;

static struct {
    uint64_t shown;  // items to viewers
    struct histogram latency;
    uint64_t per_second_max;
} result;
static bool measuring;

// The items that one viewer, which does not send, was shown in each second: all see the same, so one is enough.
static uint64_t window_start, window_items;

// ---------------------------------------------------------------------------------------------------------------------
// Input

static void on_barrage(struct connection *c, char *p, char *end, uint64_t now) {
    while ((p = memmem(p, (size_t)(end - p), "\"text\":\"b", 9))) {
        p += 9;
        if (end - p < NUMBER_DIGITS) break;
        uint64_t number = 0;
        for (int i = 0; i < NUMBER_DIGITS; i++) number = number * 10 + (uint64_t)(p[i] - '0');
        if (number >= sent_total) die("a barrage that was not sent: %llu", (unsigned long long)number);
        c->items++;
        // Every sender sends in turn, so the number tells whose it is.
        if (c->sends && (int)(number % (uint64_t)options.senders) == (int)(c - connections)) c->own++;
        uint64_t z = (number + 1) * 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        c->hash += z ^ (z >> 27);
        if (!c->sends && measuring) {
            histogram_add(&result.latency, now - sent_at[number % RING]);
            result.shown++;
        }
        if (c == &connections[options.senders]) {
            if (now - window_start >= 1000000000u) window_start = now, window_items = 0;
            if (++window_items > result.per_second_max) result.per_second_max = window_items;
        }
    }
}

static void on_object(struct stream *stream, char *p, size_t count, uint64_t now) {
    struct connection *c = (struct connection *)stream;
    if (starts_with(p, count, "{\"barrage\":")) {
        on_barrage(c, p, p + count, now);
    } else if (starts_with(p, count, "{\"skipped\":")) {
        int64_t skipped = json_number(p, count, "barrage");
        if (skipped > 0) c->skipped += (uint64_t)skipped;
    } else if (memmem(p, count, "\"error\":", 8)) {
        die("refused: %.*s", (int)count, p);
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Output

static void append_item(uint64_t due) {
    struct connection *c = &connections[sent_total % (uint64_t)options.senders];
    char message[8192];
    int count = snprintf(
        message, sizeof message, "{\"barrage\":{\"room\":\"%s\",\"text\":\"b%0*llu%.*s\"}}", options.room, NUMBER_DIGITS,
        (unsigned long long)sent_total, options.text - NUMBER_DIGITS - 1, pad);
    stream_append(&c->stream, OPCODE_TEXT, message, (size_t)count);
    sent_at[sent_total % RING] = due;
    sent_total++;
    c->sent++;
}

// Sends what is due by now. Returns the time until the next one, in ns.
static uint64_t send_due(uint64_t begin, uint64_t now) {
    uint64_t due = (uint64_t)((double)(now - begin) * options.rate / 1e9);
    uint64_t first = sent_total;
    while (sent_total < due) append_item(begin + (uint64_t)((double)sent_total * 1e9 / options.rate));
    uint64_t count = sent_total - first < (uint64_t)options.senders ? sent_total - first : (uint64_t)options.senders;
    for (uint64_t i = 0; i < count; i++) stream_flush(&connections[(first + i) % (uint64_t)options.senders].stream);
    return 2000000;  // in small bundles, as many clients would
}

// ---------------------------------------------------------------------------------------------------------------------

static void open_connection(struct connection *c, int index) {
    char user[64];
    c->sends = index < options.senders;
    snprintf(user, sizeof user, "sender-%d", index);
    chatroom_open(&c->stream, index, c->sends ? user : NULL, TCP_FAST);
    chatroom_enter(&c->stream, options.room, index);
    stream_watch(&c->stream);
}

static void read_settings(int argc, char **argv) {
    const struct setting settings[] = {
        TARGET_SETTINGS,
        {"--room", SETTING_TEXT, &options.room},
        {"--senders", SETTING_INT, &options.senders},
        {"--viewers", SETTING_INT, &options.viewers},
        {"--rate", SETTING_DOUBLE, &options.rate},
        {"--text", SETTING_INT, &options.text},
        {"--seconds", SETTING_DOUBLE, &options.seconds},
        {"--warmup", SETTING_DOUBLE, &options.warmup},
        {0},
    };
    settings_read(argc, argv, settings, usage_text);
    if (!options.room || !target.secret_file) die("%s", usage_text);
    connection_count = options.senders + options.viewers;
    if (options.senders < 1 || options.viewers < 0 || connection_count > CONNECTIONS_MAX || options.rate <= 0
        || options.text < NUMBER_DIGITS + 1 || options.text > 4096
        || options.rate * (options.seconds + options.warmup) > 900000000.0)
        die("an option has a value that makes no sense\n%s", usage_text);
}

// All must have seen the same, and each the sum of what was sent. Returns what is wrong, NULL if nothing.
static const char *check(void) {
    static char problem[256];
    const struct connection *model = options.viewers > 0 ? &connections[options.senders] : NULL;
    for (int i = 0; i < connection_count; i++) {
        const struct connection *c = &connections[i];
        if (!c->sends && (c->items != model->items || c->hash != model->hash))
            snprintf(problem, sizeof problem, "viewer %d saw another sample than viewer %d", i, options.senders);
        else if (c->items + c->skipped != sent_total)
            snprintf(problem, sizeof problem, "connection %d was shown %llu and skipped %llu of %llu", i,
                     (unsigned long long)c->items, (unsigned long long)c->skipped, (unsigned long long)sent_total);
        else if (c->sends && c->own != c->sent)
            snprintf(problem, sizeof problem, "sender %d got %llu of its own %llu", i, (unsigned long long)c->own,
                     (unsigned long long)c->sent);
        else
            continue;
        return problem;
    }
    return NULL;
}

static void report(double seconds, uint64_t sent, double cpu) {
    double p50 = (double)histogram_quantile(&result.latency, 0.5) / 1e6;
    double p99 = (double)histogram_quantile(&result.latency, 0.99) / 1e6;
    double shown = options.viewers > 0 ? (double)result.shown / options.viewers / seconds : 0;
    printf(target.json
               ? "{\"senders\":%d,\"viewers\":%d,\"seconds\":%.3f,\"sentPerSecond\":%.0f,\"shownPerSecond\":%.1f,"
                 "\"mostInASecond\":%llu,\"p50Ms\":%.1f,\"p99Ms\":%.1f,\"maxMs\":%.1f,\"cores\":%.3f,"
                 "\"cpuMicrosPerItem\":%.2f,\"itemsInAll\":%llu}\n"
               : "%d senders, %d viewers, %.2f s: %.0f items/s sent, %.1f/s shown (at most %llu in a second)\n"
                 "  p50 %.1f ms, p99 %.1f ms, max %.1f ms; server: %.3f of a core, %.2f us for an item sent; %llu items in all\n",
           options.senders, options.viewers, seconds, (double)sent / seconds, shown,
           (unsigned long long)result.per_second_max, p50, p99, (double)result.latency.max / 1e6, cpu / seconds,
           cpu * 1e6 / (double)(sent > 0 ? sent : 1), (unsigned long long)sent_total);
}

int main(int argc, char **argv) {
    read_settings(argc, argv);
    client_begin();
    connections = calloc((size_t)connection_count, sizeof *connections);
    pad = malloc((size_t)options.text + 1);
    sent_at = calloc(RING, sizeof *sent_at);
    if (!connections || !pad || !sent_at) die("out of memory");
    memset(pad, 'x', (size_t)options.text);
    pad[options.text] = 0;
    for (int i = 0; i < connection_count; i++) open_connection(&connections[i], i);

    struct usage before = {0}, after = {0};
    uint64_t start = now_ns(), now = start, begin = 0, ended = 0, last_input = start, sent_before = 0, sent_in = 0;
    uint64_t warm = start + (uint64_t)(options.warmup * 1e9), end = UINT64_MAX;
    // After the measurement: until nothing has come for two seconds.
    while (ended == 0 || now - last_input < 2000000000u) {
        uint64_t wait = ended ? 50000000 : send_due(start, now);
        int served = streams_serve(wait, on_object, NULL);
        now = now_ns();
        if (served > 0) last_input = now;
        if (begin == 0 && now >= warm) {
            before = target_usage();
            begin = now_ns();
            sent_before = sent_total;
            measuring = true;
            end = begin + (uint64_t)(options.seconds * 1e9);
        } else if (ended == 0 && now >= end) {
            after = target_usage();
            ended = now_ns();
            sent_in = sent_total - sent_before;
            measuring = false;
        }
    }
    report((double)(ended - begin) / 1e9, sent_in, (double)(after.cpu_ns - before.cpu_ns) / 1e9);
    const char *problem = check();
    if (problem) die("%s", problem);
    return 0;
}
