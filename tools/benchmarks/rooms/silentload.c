// Load client of the silent benchmark: C connections enter so many rooms each, nobody twice, and say nothing any more.
// Prints "inside" when all have entered and the first counts have come, and goes on until it is killed. Exit code 1 when
// an enter was refused or a connection ended.

#include "client.h"

static const char usage_text[] =
    "usage: silentload --prefix P --secret-file F [options]\n" TARGET_USAGE
    "  --prefix P           the rooms are P-1, P-2 and so on; required\n"
    "  --rooms N            (1000)\n"
    "  --rooms-each N       of one connection (10)\n";

enum { UNDER_WAY_MAX = 2000 };

static struct {
    const char *prefix;
    int rooms, rooms_each;
} options = {.rooms = 1000, .rooms_each = 10};

struct session {
    struct stream stream;
    int first, count;  // its rooms
};

static int asked, inside;

static void on_object(struct stream *stream, char *p, size_t count, uint64_t now) {
    (void)now;
    struct session *s = (struct session *)stream;
    if (starts_with(p, count, "{\"error\":")) die("room %d and on: %.*s", s->first, (int)count, p);
    if (!starts_with(p, count, "{\"id\":")) return;
    if (memmem(p, count, "\"error\":", 8)) die("room %d and on: %.*s", s->first, (int)count, p);
    inside++;
}

static void enter(struct session *s) {
    char text[512];
    for (int i = 0; i < s->count; i++) {
        snprintf(text, sizeof text, "{\"id\":%d,\"enter\":{\"room\":\"%s-%d\"}}", i + 2, options.prefix, s->first + i);
        stream_append(&s->stream, OPCODE_TEXT, text, strlen(text));
    }
    stream_flush(&s->stream);
    asked += s->count;
    for (uint64_t began = now_ns(); asked - inside > UNDER_WAY_MAX;) {
        streams_serve(1000000, on_object, NULL);
        if (now_ns() - began > 60000000000u) die("nothing came for 60 s; %d of %d", inside, asked);
    }
}

static void read_settings(int argc, char **argv) {
    const struct setting settings[] = {
        TARGET_SETTINGS,
        {"--prefix", SETTING_TEXT, &options.prefix},
        {"--rooms", SETTING_INT, &options.rooms},
        {"--rooms-each", SETTING_INT, &options.rooms_each},
        {0},
    };
    settings_read(argc, argv, settings, usage_text);
    if (!options.prefix || !target.secret_file) die("%s", usage_text);
    if (options.rooms < 1 || options.rooms_each < 1) die("an option has a value that makes no sense\n%s", usage_text);
}

int main(int argc, char **argv) {
    read_settings(argc, argv);
    client_begin();
    int count = (options.rooms + options.rooms_each - 1) / options.rooms_each;
    struct session *sessions = calloc((size_t)count, sizeof *sessions);
    if (!sessions) die("out of memory");
    for (int i = 0; i < count; i++) {
        struct session *s = &sessions[i];
        char user[64];
        s->first = i * options.rooms_each + 1;
        s->count = options.rooms - s->first + 1 < options.rooms_each ? options.rooms - s->first + 1 : options.rooms_each;
        snprintf(user, sizeof user, "silent-%d", i);
        chatroom_open(&s->stream, i, user, TCP_FAST);
        stream_watch(&s->stream);
        enter(s);
    }
    for (uint64_t began = now_ns(); inside < options.rooms;) {
        streams_serve(1000000, on_object, NULL);
        if (now_ns() - began > 60000000000u) die("%d of %d have entered", inside, options.rooms);
    }
    // Each room tells its first count.
    for (uint64_t began = now_ns(); now_ns() - began < 5000000000u;) streams_serve(10000000, on_object, NULL);
    printf("inside\n");
    fflush(stdout);
    for (;;) streams_serve(100000000, on_object, NULL);
}
