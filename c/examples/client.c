/* Asks a Model Context Protocol server to echo some text: mkfifo pipe; target/c/client hello <pipe | target/c/server >pipe
 * It writes the request to stdout, reads the answer from stdin, and prints the text in the answer to stderr. */
#include <stdio.h>
#include <unistd.h>

#include "wireline.h"

static ptrdiff_t read_stdin(void *context, uint8_t *buffer, size_t len) {
    (void)context;
    return read(STDIN_FILENO, buffer, len);
}

int main(int argc, char **argv) {
    char params[1000], text[1000], *answered = NULL;
    wl_rules rules;
    wl_event event;
    size_t len;
    snprintf(params, sizeof params, "{\"name\":\"echo\",\"arguments\":{\"text\":\"%s\"}}", argc > 1 ? argv[1] : "hello");
    wl_rules_init(&rules, WL_DIALECT_MCP);
    wl_connection *connection = wl_connection_new(&rules, NULL, NULL, NULL);
    wl_peer *peer = wl_connection_peer(connection);
    wl_status status = wl_peer_call(peer, WL_TEXT("tools/call"), wl_text(params), "echo", NULL);
    if (status != WL_STATUS_OK) return fprintf(stderr, "client: %s\n", wl_status_text(status)), 1;
    while (!answered && !wl_connection_is_done(connection)) {
        while (wl_connection_next(connection, &event) > WL_EVENT_KIND_NONE) {
            wl_span found = {NULL, 0};
            wl_ticket_free(event.ticket); /* a request of the server is answered with an error */
            if (event.kind != WL_EVENT_KIND_RESPONSE) continue;
            answered = event.value;
            wl_json_pointer(event.message.result, WL_TEXT("/content/0/text"), &found);
            if (wl_json_string(found, (uint8_t *)text, sizeof text, &len) == WL_STATUS_OK)
                fprintf(stderr, "%s: %.*s\n", answered, (int)len, text);
        }
        wl_span bytes = wl_connection_pending(connection);
        if (bytes.len > 0) {
            ssize_t written = write(STDOUT_FILENO, bytes.ptr, bytes.len);
            if (written < 0) break;
            wl_connection_advance(connection, (size_t)written);
        } else if (!answered && wl_connection_read(connection, read_stdin, NULL) != WL_STATUS_OK) {
            break;
        }
    }
    wl_peer_free(peer), wl_connection_free(connection);
    return answered ? 0 : 1;
}
