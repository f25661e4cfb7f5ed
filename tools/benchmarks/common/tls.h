// TLS on the sockets of these programs, by descriptor; a socket without a session is written and read as it is.
#ifndef BENCHMARKS_TLS_H
#define BENCHMARKS_TLS_H

#include <errno.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "measure.h"

enum { TLS_DESCRIPTORS_MAX = 131072 };

static SSL *tls_sessions[TLS_DESCRIPTORS_MAX];

static inline SSL *tls_of(int fd) { return fd < TLS_DESCRIPTORS_MAX ? tls_sessions[fd] : NULL; }

// A context; `file` is a PEM file with certificate and key, for a server.
static inline SSL_CTX *tls_context(const char *file) {
    SSL_CTX *context = SSL_CTX_new(file ? TLS_server_method() : TLS_client_method());
    if (!context) die("no TLS");
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    if (file && (SSL_CTX_use_certificate_chain_file(context, file) != 1
                 || SSL_CTX_use_PrivateKey_file(context, file, SSL_FILETYPE_PEM) != 1))
        die("%s is no PEM file with a certificate and its key", file);
    return context;
}

// Begins TLS; the first read or write does the handshake.
static inline void tls_begin(int fd, SSL_CTX *context, int is_server) {
    if (fd >= TLS_DESCRIPTORS_MAX) die("descriptor %d is too large for TLS", fd);
    SSL *ssl = SSL_new(context);
    if (!ssl || SSL_set_fd(ssl, fd) != 1) die("no TLS session");
    if (is_server) SSL_set_accept_state(ssl);
    else SSL_set_connect_state(ssl);
    tls_sessions[fd] = ssl;
}

static inline void tls_end(int fd) {
    SSL *ssl = tls_of(fd);
    if (!ssl) return;
    SSL_free(ssl);
    tls_sessions[fd] = NULL;
}

// The same as send and recv would return, errno included.
static inline ssize_t tls_result(SSL *ssl, int n) {
    if (n > 0) return n;
    switch (SSL_get_error(ssl, n)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: errno = EAGAIN; return -1;
    case SSL_ERROR_ZERO_RETURN: return 0;
    default:
        if (errno == 0 || errno == EAGAIN) errno = EPROTO;
        return -1;
    }
}

static inline ssize_t net_send(int fd, const void *data, size_t count) {
    SSL *ssl = tls_of(fd);
    if (!ssl) return send(fd, data, count, MSG_NOSIGNAL);
    size_t sent = 0;
    while (sent < count) {
        ssize_t n = tls_result(ssl, SSL_write(ssl, (const char *)data + sent, (int)(count - sent)));
        if (n <= 0) return sent > 0 ? (ssize_t)sent : n;
        sent += (size_t)n;
    }
    return (ssize_t)sent;
}

static inline ssize_t net_recv(int fd, void *data, size_t count, int flags) {
    SSL *ssl = tls_of(fd);
    if (!ssl) return recv(fd, data, count, flags);
    return tls_result(ssl, flags & MSG_PEEK ? SSL_peek(ssl, data, (int)count) : SSL_read(ssl, data, (int)count));
}

#endif
