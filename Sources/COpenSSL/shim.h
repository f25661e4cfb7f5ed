#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <time.h>

// Functions for macros of OpenSSL, which Swift cannot see.

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

/// From and until when the context's own certificate is valid, in seconds since 1970; 0 where there is none.
static inline int chatroom_ssl_ctx_validity(SSL_CTX *context, int64_t *from, int64_t *until) {
    const X509 *certificate = SSL_CTX_get0_certificate(context);
    struct tm start, end;
    if (certificate == NULL || ASN1_TIME_to_tm(X509_get0_notBefore(certificate), &start) != 1
        || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) != 1)
        return 0;
    *from = (int64_t)timegm(&start);
    *until = (int64_t)timegm(&end);
    return 1;
}

/// Whether the number is one of the operating system (errno), and which; 0: it is not.
static inline int chatroom_ssl_system_error(unsigned long number) {
    return ERR_SYSTEM_ERROR(number) ? ERR_GET_REASON(number) : 0;
}

/// Whether the number says that a key is not that of a certificate.
static inline int chatroom_ssl_is_mismatch(unsigned long number) {
    return ERR_GET_LIB(number) == ERR_LIB_X509
        && (ERR_GET_REASON(number) == X509_R_KEY_VALUES_MISMATCH || ERR_GET_REASON(number) == X509_R_KEY_TYPE_MISMATCH);
}

static inline int chatroom_ssl_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}

/// Calls `body` with each DNS name of the certificate, then with each of its common names.
static inline void chatroom_x509_names(
    X509 *certificate, void (*body)(void *context, const unsigned char *bytes, int count), void *context) {
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
}

/// The same of the certificate that the peer has shown.
static inline void chatroom_ssl_peer_names(
    const SSL *ssl, void (*body)(void *context, const unsigned char *bytes, int count), void *context) {
    X509 *certificate = SSL_get1_peer_certificate(ssl);
    chatroom_x509_names(certificate, body, context);
    X509_free(certificate);
}

/// The same of the context's own certificate.
static inline void chatroom_ssl_ctx_own_names(
    SSL_CTX *ssl, void (*body)(void *context, const unsigned char *bytes, int count), void *context) {
    chatroom_x509_names(SSL_CTX_get0_certificate(ssl), body, context);
}

/// Whether the context would trust its own certificate if another one showed it at this end of a connection, whatever the
/// time is: 1, or 0 and the reason.
static inline int chatroom_ssl_ctx_trusts_itself(SSL_CTX *ssl, int isClient, const char **reason) {
    STACK_OF(X509) *chain = NULL;
    SSL_CTX_get0_chain_certs(ssl, &chain);
    X509_STORE_CTX *check = X509_STORE_CTX_new();
    int isTrusted = 0;
    *reason = "no memory";
    if (check != NULL &&
        X509_STORE_CTX_init(check, SSL_CTX_get_cert_store(ssl), SSL_CTX_get0_certificate(ssl), chain) == 1 &&
        X509_STORE_CTX_set_default(check, isClient ? "ssl_client" : "ssl_server") == 1) {
        X509_STORE_CTX_set_flags(check, X509_V_FLAG_NO_CHECK_TIME);
        isTrusted = X509_verify_cert(check) == 1;
        *reason = X509_verify_cert_error_string(X509_STORE_CTX_get_error(check));
    }
    X509_STORE_CTX_free(check);
    return isTrusted;
}

static inline void chatroom_bio_must_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void chatroom_bio_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

// Parameters of OpenSSL keep the pointers that they are made of, so they are made and used in one function of C.

/// 1 if the context has taken the key.
static inline int chatroom_hmac_sha256_init(EVP_MAC_CTX *context, const unsigned char *key, size_t count) {
    char digest[] = "SHA2-256";
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), OSSL_PARAM_construct_end()};
    return EVP_MAC_init(context, key, count, parameters);
}

/// The public key of the parameters that were pushed; NULL if there is none. Frees the builder.
static inline EVP_PKEY *chatroom_public_key_from(OSSL_PARAM_BLD *builder, const char *type) {
    OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *key = NULL;
    if (parameters != NULL && context != NULL && EVP_PKEY_fromdata_init(context) == 1)
        (void)EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(parameters);
    OSSL_PARAM_BLD_free(builder);
    return key;
}

/// The public key of a point of P-256 (SEC 1, 2.3.3); NULL if there is none.
static inline EVP_PKEY *chatroom_p256_key(const unsigned char *point, size_t count) {
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    if (builder == NULL) return NULL;
    (void)OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0);
    (void)OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, count);
    return chatroom_public_key_from(builder, "EC");
}

/// The public key of modulus and exponent, the highest byte first; NULL if there is none.
static inline EVP_PKEY *chatroom_rsa_key(
    const unsigned char *modulus, int modulus_count, const unsigned char *exponent, int exponent_count) {
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    if (builder == NULL) return NULL;
    BIGNUM *n = BN_bin2bn(modulus, modulus_count, NULL);
    BIGNUM *e = BN_bin2bn(exponent, exponent_count, NULL);
    (void)OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n);
    (void)OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e);
    EVP_PKEY *key = chatroom_public_key_from(builder, "RSA");
    BN_free(n);
    BN_free(e);
    return key;
}
