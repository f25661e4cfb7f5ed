// The type checks are macros around the variadic calls, which the functions below replace.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

/// `curl_easy_setopt`, `curl_multi_setopt` and `curl_easy_getinfo` are variadic, which Swift does not import: one function
/// for each type of argument.
static inline CURLcode chatroom_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

/// libcurl copies the text.
static inline CURLcode chatroom_curl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode chatroom_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

/// Sets a body of this size, copied.
static inline CURLcode chatroom_curl_set_body(CURL *easy, const void *bytes, size_t count) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count);
    if (code != CURLE_OK) return code;
    return curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, count > 0 ? bytes : "");
}

/// `CURLOPT_WRITEFUNCTION` and `CURLOPT_HEADERFUNCTION`.
static inline CURLcode chatroom_curl_set_receiver(
    CURL *easy, CURLoption option, size_t (*receiver)(char *bytes, size_t size, size_t count, void *context)) {
    return curl_easy_setopt(easy, option, receiver);
}

static inline CURLcode chatroom_curl_set_opener(CURL *easy, curl_opensocket_callback opener) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, opener);
}

static inline CURLcode chatroom_curl_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLMcode chatroom_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/// The functions that libcurl tells which sockets to watch, and when to be called; both get `context`. NULL: nobody.
static inline void chatroom_curl_multi_set_watchers(
    CURLM *multi, curl_socket_callback sockets, curl_multi_timer_callback timer, void *context) {
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, sockets);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

/// A call to `curl_multi_socket_action` that is about time and no socket.
static inline CURLMcode chatroom_curl_multi_time_is_over(CURLM *multi, int *running) {
    return curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, running);
}
