/* Asks a Model Context Protocol server to echo some text: mkfifo pipe; target/c/client hello <pipe | target/c/server >pipe
 * Its request goes to stdout, the answer comes from stdin, and the text in that is printed to stderr. */
#include <stdio.h>
#include <unistd.h>

#include "wireline.h"

int main(int argc, char **argv) {
    char params[1000], text[1000], *asked = "echo";
    void *answered = NULL;
    wl_rules rules;
    wl_message message;
    size_t room, len;
    ssize_t got;
    uint64_t id;
    snprintf(params, sizeof params, "{\"name\":\"echo\",\"arguments\":{\"text\":\"%s\"}}", argc > 1 ? argv[1] : "hello");
    wl_rules_init(&rules, WL_DIALECT_MCP);
    wl_decoder *decoder = wl_decoder_new(&rules);
    wl_encoder *encoder = wl_encoder_new(&rules);
    wl_outbound *calls = wl_outbound_new(10);
    wl_outbound_issue(calls, asked, &id);
    wl_status status = wl_encoder_call(encoder, id, WL_TEXT("tools/call"), wl_text(params));
    if (status != WL_STATUS_OK) return fprintf(stderr, "client: %s\n", wl_status_text(status)), 1;
    wl_span line = wl_encoder_bytes(encoder);
    if (write(STDOUT_FILENO, line.ptr, line.len) != (ssize_t)line.len) return 1;
    while (!answered) {
        uint8_t *buffer = wl_decoder_reserve(decoder, 4096, &room);
        if ((got = read(STDIN_FILENO, buffer, room)) <= 0) break;
        wl_decoder_commit(decoder, (size_t)got);
        while (wl_decoder_next(decoder, &message) > WL_KIND_NONE) {
            wl_span found = {NULL, 0};
            if (wl_outbound_settle(calls, &message, &answered) != WL_STATUS_OK) continue;
            wl_json_pointer(message.result, WL_TEXT("/content/0/text"), &found);
            if (wl_json_string(found, (uint8_t *)text, sizeof text, &len) == WL_STATUS_OK)
                fprintf(stderr, "%s: %.*s\n", (char *)answered, (int)len, text);
        }
    }
    wl_outbound_free(calls), wl_encoder_free(encoder), wl_decoder_free(decoder);
    return answered ? 0 : 1;
}
