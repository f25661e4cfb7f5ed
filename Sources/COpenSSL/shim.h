#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// What OpenSSL has as macros only, which Swift cannot see.

static inline int chatroom_ssl_ctx_require_tls_1_2(SSL_CTX *context) {
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}

static inline void chatroom_ssl_ctx_harden(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}

static inline void chatroom_ssl_ctx_release_buffers(SSL_CTX *context) {
    SSL_CTX_set_mode(
        context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

static inline void chatroom_ssl_ctx_disable_session_cache(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

static inline int chatroom_ssl_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}

/// Calls `body` with each DNS name of the certificate that the peer has shown, then with each of its common names.
static inline void chatroom_ssl_peer_names(
    const SSL *ssl, void (*body)(void *context, const unsigned char *bytes, int count), void *context) {
    X509 *certificate = SSL_get1_peer_certificate(ssl);
    if (certificate == NULL) return;
    GENERAL_NAMES *names =
        (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    if (names != NULL) {
        for (int place = 0; place < sk_GENERAL_NAME_num(names); place += 1) {
            const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, place);
            if (name->type != GEN_DNS) continue;
            body(context, ASN1_STRING_get0_data(name->d.dNSName), ASN1_STRING_length(name->d.dNSName));
        }
        GENERAL_NAMES_free(names);
    }
    X509_NAME *subject = X509_get_subject_name(certificate);
    int place = -1;
    while ((place = X509_NAME_get_index_by_NID(subject, NID_commonName, place)) >= 0) {
        unsigned char *text = NULL;
        int count = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, place)));
        if (count < 0) continue;
        body(context, text, count);
        OPENSSL_free(text);
    }
    X509_free(certificate);
}

static inline void chatroom_bio_must_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void chatroom_bio_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }
