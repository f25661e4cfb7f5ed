// Memory that OpenSSL itself holds for a server's idle TLS connection: so many connections do a handshake and one record
// each way, in memory, with the settings of Sources/TLS. Every allocation of the server's side is counted, with malloc's
// own overhead, by the line of OpenSSL that made it.

#include <openssl/crypto.h>
#include <stdbool.h>

#include "tls.h"

static const char usage_text[] =
    "usage: tlsbytes FILE [CONNECTIONS = 1000]\n\n"
    "FILE: PEM of a certificate and its key\n";

enum { SITES_MAX = 4096, CONNECTIONS_MAX = 100000, LINES = 12 };

struct site {
    const char *file;
    int line;
    long bytes;
};

// In front of each allocation; NULL: not one of the server's.
struct head {
    struct site *site;
    size_t size;
};

static struct site sites[SITES_MAX];
static int site_count;
static bool is_server;

static struct site *site_at(const char *file, int line) {
    for (int i = 0; i < site_count; i++)
        if (sites[i].line == line && !strcmp(sites[i].file, file)) return &sites[i];
    if (site_count == SITES_MAX) die("too many places allocate");
    sites[site_count] = (struct site){file, line, 0};
    return &sites[site_count++];
}

// The bytes that malloc takes for it: a head, and pieces of 16 bytes.
static long taken(size_t size) { return size <= 24 ? 32 : (long)((size + 8 + 15) & ~(size_t)15); }

static void *count_malloc(size_t size, const char *file, int line) {
    struct head *head = size ? malloc(sizeof *head + size) : NULL;
    if (!head) return NULL;
    *head = (struct head){is_server ? site_at(file, line) : NULL, size};
    if (head->site) head->site->bytes += taken(size);
    return head + 1;
}

static void count_free(void *memory, const char *file, int line) {
    (void)file, (void)line;
    if (!memory) return;
    struct head *head = (struct head *)memory - 1;
    if (head->site) head->site->bytes -= taken(head->size);
    free(head);
}

static void *count_realloc(void *memory, size_t size, const char *file, int line) {
    void *new = count_malloc(size, file, line);
    if (memory && new) {
        size_t former = ((struct head *)memory - 1)->size;
        memcpy(new, memory, former < size ? former : size);
    }
    if (new || !size) count_free(memory, file, line);
    return new;
}

// The two directions between the sides. Nothing of them belongs to a connection.
static struct pipe {
    unsigned char bytes[65536];
    int begin, end;
} pipes[2];

static int pipe_read(BIO *bio, char *memory, int count) {
    struct pipe *from = &pipes[is_server ? 0 : 1];
    int there = from->end - from->begin;
    BIO_clear_retry_flags(bio);
    if (there == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    if (count > there) count = there;
    memcpy(memory, from->bytes + from->begin, (size_t)count);
    from->begin += count;
    return count;
}

static int pipe_write(BIO *bio, const char *memory, int count) {
    struct pipe *to = &pipes[is_server ? 1 : 0];
    BIO_clear_retry_flags(bio);
    if (to->begin == to->end) to->begin = to->end = 0;
    if (count > (int)sizeof to->bytes - to->end) die("a handshake is too large");
    memcpy(to->bytes + to->end, memory, (size_t)count);
    to->end += count;
    return count;
}

static long pipe_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static SSL *begin(SSL_CTX *context, const BIO_METHOD *method, bool of_server) {
    is_server = of_server;
    SSL *ssl = SSL_new(context);
    BIO *bio = ssl ? BIO_new(method) : NULL;
    if (!bio) die("no TLS session");
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    if (of_server) SSL_set_accept_state(ssl);
    else SSL_set_connect_state(ssl);
    return ssl;
}

static void connect_one(SSL_CTX *server_context, SSL_CTX *client_context, const BIO_METHOD *method) {
    char text[16];
    SSL *server = begin(server_context, method, true), *client = begin(client_context, method, false);
    for (int turn = 0; turn < 8; turn++) {
        is_server = turn % 2;
        SSL_do_handshake(is_server ? server : client);
    }
    if (!SSL_is_init_finished(server) || !SSL_is_init_finished(client)) die("a handshake has failed");
    is_server = false;
    if (SSL_write(client, "in", 2) != 2) die("the client can't write");
    is_server = true;
    if (SSL_read(server, text, sizeof text) != 2 || SSL_write(server, "out", 3) != 3) die("the server can't go on");
    is_server = false;
    if (SSL_read(client, text, sizeof text) != 3) die("the client can't read");
    // The server's side stays.
    SSL_free(client);
    if (pipes[1].begin != pipes[1].end) die("the client has left something");
}

static int by_bytes(const void *a, const void *b) {
    long x = ((const struct site *)a)->bytes, y = ((const struct site *)b)->bytes;
    return (x < y) - (x > y);
}

int main(int argc, char **argv) {
    int connections = argc == 3 ? atoi(argv[2]) : 1000;
    if (argc < 2 || argc > 3 || connections < 1 || connections > CONNECTIONS_MAX) die("%s", usage_text);
    if (!CRYPTO_set_mem_functions(count_malloc, count_realloc, count_free)) die("allocations can't be counted");
    SSL_CTX *server = tls_context(argv[1]), *client = tls_context(NULL);
    SSL_CTX_set_session_cache_mode(server, SSL_SESS_CACHE_OFF);
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "pipe");
    if (!method) die("no TLS");
    BIO_meth_set_read(method, pipe_read);
    BIO_meth_set_write(method, pipe_write);
    BIO_meth_set_ctrl(method, pipe_control);
    // The first makes what all share.
    connect_one(server, client, method);
    for (int i = 0; i < site_count; i++) sites[i].bytes = 0;
    for (int i = 0; i < connections; i++) connect_one(server, client, method);
    long all = 0;
    for (int i = 0; i < site_count; i++) all += sites[i].bytes;
    printf("%s: %ld bytes a connection\n", OpenSSL_version(OPENSSL_VERSION), all / connections);
    qsort(sites, (size_t)site_count, sizeof *sites, by_bytes);
    for (int i = 0; i < LINES && i < site_count; i++)
        printf("%7ld  %s:%d\n", sites[i].bytes / connections, sites[i].file, sites[i].line);
    return 0;
}
