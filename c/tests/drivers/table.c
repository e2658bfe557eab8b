// Runs the acceptance table through the C functions: table_c FILE, which `cargo run --example cases` has written. Each
// line is fed whole, byte by byte, and through the decoder's buffer, with each kind of line ending; parsed as a
// separate text; kept; and forwarded.

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wireline.h"

typedef struct text {
    char *ptr;
    size_t len, capacity;
} text;

static void put(text *out, const void *bytes, size_t len) {
    if (out->len + len + 1 > out->capacity) {
        out->capacity = 2 * (out->len + len + 1);
        out->ptr = realloc(out->ptr, out->capacity);
        if (!out->ptr) abort();
    }
    if (len) memcpy(out->ptr + out->len, bytes, len);
    out->len += len;
    out->ptr[out->len] = 0;
}

static void print(text *out, const char *format, ...) {
    char line[200];
    va_list arguments;
    va_start(arguments, format);
    put(out, line, (size_t)vsnprintf(line, sizeof line, format, arguments));
    va_end(arguments);
}

static void put_span(text *out, wl_span span) {
    if (span.ptr) put(out, span.ptr, span.len);
    else put(out, "-", 1);
}

// Writes a string like Rust's `{:?}`, for the characters that occur in the table.
static void put_quoted(text *out, const uint8_t *bytes, size_t len) {
    put(out, "\"", 1);
    for (size_t at = 0; at < len; at++) {
        const uint8_t byte = bytes[at];
        if (byte == '"' || byte == '\\') print(out, "\\%c", byte);
        else if (byte == '\n') put(out, "\\n", 2);
        else if (byte == '\r') put(out, "\\r", 2);
        else if (byte == '\t') put(out, "\\t", 2);
        else if (byte == 0) put(out, "\\0", 2);
        else if (byte < 0x20 || byte == 0x7f) print(out, "\\u{%x}", byte);
        else if (byte == 0xe2 && len - at > 2 && bytes[at + 1] == 0x80 && (bytes[at + 2] == 0xa8 || bytes[at + 2] == 0xa9)) {
            print(out, "\\u{20%x}", bytes[at + 2] - 0x80);
            at += 2;
        } else put(out, bytes + at, 1);
    }
    put(out, "\"", 1);
}

static void put_json_string(text *out, wl_span json) {
    size_t len = 0;
    uint8_t *characters = malloc(json.len + 1);
    if (wl_json_string(json, characters, json.len, &len) != WL_STATUS_OK) abort();
    put_quoted(out, characters, len);
    free(characters);
}

static void put_message(text *out, const wl_message *message) {
    switch (message->kind) {
    case WL_KIND_REQUEST:
        put(out, "request ", 8);
        put_span(out, message->id);
        put(out, " ", 1);
        put_quoted(out, message->method.ptr, message->method.len);
        put(out, " ", 1);
        put_span(out, message->params);
        break;
    case WL_KIND_NOTIFICATION:
        put(out, "notification ", 13);
        put_quoted(out, message->method.ptr, message->method.len);
        put(out, " ", 1);
        put_span(out, message->params);
        break;
    case WL_KIND_RESULT:
        put(out, "result ", 7);
        put_span(out, message->id);
        put(out, " ", 1);
        put_span(out, message->result);
        break;
    case WL_KIND_ERROR: {
        wl_error error;
        if (wl_message_error(message, &error) != WL_STATUS_OK) abort();
        put(out, "error ", 6);
        put_span(out, message->id);
        print(out, " %lld ", (long long)error.code);
        put_json_string(out, error.message);
        put(out, " ", 1);
        put_span(out, error.data);
        break;
    }
    default:
        print(out, "kind %d", (int)message->kind);
    }
}

static void put_fault(text *out, const wl_fault *fault) {
    wl_span id;
    put(out, "fault ", 6);
    put_span(out, fault->name);
    print(out, " @%llu id=", (unsigned long long)fault->column);
    put_span(out, fault->id);
    put(out, " reply=", 7);
    if (!fault->reply.ptr) put(out, "none", 4);
    else if (wl_json_pointer(fault->reply, WL_TEXT("/id"), &id) == WL_STATUS_OK) put_span(out, id);
    else put(out, "omitted", 7);
    if (fault->code != -32700 && fault->code != -32600) abort();
    if (!fault->message.len || (fault->reply.ptr && fault->reply.ptr[fault->reply.len - 1] != '\n')) abort();
}

// The current line of a decoder or a frame, one of which is NULL.
static void put_item(text *out, wl_decoder *decoder, wl_frame *frame, const wl_message *first, wl_encoder *encoder) {
    wl_message entry;
    wl_fault fault;
    wl_kind kind;
    const char *separator = "";
    if (first->kind == WL_KIND_FAULT) {
        if ((decoder ? wl_decoder_fault(decoder, &fault) : wl_frame_fault(frame, &fault)) != WL_STATUS_OK) abort();
        put_fault(out, &fault);
    } else if (first->kind != WL_KIND_BATCH) {
        put_message(out, first);
        if (wl_encoder_forward(encoder, first) != WL_STATUS_OK) put(out, " NOT FORWARDED", 14);
    } else {
        put(out, "batch [", 7);
        while ((kind = decoder ? wl_decoder_next_entry(decoder, &entry) : wl_frame_next_entry(frame, &entry))) {
            put(out, separator, strlen(separator));
            separator = " | ";
            if (kind == WL_KIND_FAULT) {
                if ((decoder ? wl_decoder_fault(decoder, &fault) : wl_frame_fault(frame, &fault)) != WL_STATUS_OK) abort();
                put_fault(out, &fault);
            } else put_message(out, &entry);
        }
        put(out, "]", 1);
    }
}

static void put_all(text *out, wl_decoder *decoder, wl_encoder *encoder) {
    wl_message message;
    while (wl_decoder_next(decoder, &message) > WL_KIND_NONE) {
        if (out->len) put(out, "\n", 1);
        if (message.line != 1 || message.offset != 0) abort();
        put_item(out, decoder, NULL, &message, encoder);
    }
}

static unsigned long failures;

static void check(const char *how, const text *found, const char *expected, size_t len) {
    if (found->len == len && memcmp(found->ptr, expected, len) == 0) return;
    failures++;
    printf("%s:\n  expected %.*s\n  found    %.*s\n", how, (int)len, expected, (int)found->len, found->ptr ? found->ptr : "");
}

static void run_case(unsigned dialect, wl_span line, const char *expected, size_t expected_len) {
    static const char *const ends[] = {"\n", "\r\n", ""};
    static const char *const ways[] = {"whole", "byte by byte", "through the decoder's buffer"};
    wl_rules rules;
    if (wl_rules_init(&rules, dialect) != WL_STATUS_OK) abort();
    text found = {0};
    wl_encoder *encoder = wl_encoder_new(&rules);
    for (size_t end = 0; end < 3; end++) {
        for (size_t way = 0; way < 3; way++) {
            wl_decoder *decoder = wl_decoder_new(&rules);
            const wl_span parts[] = {line, wl_text(ends[end])};
            found.len = 0;
            wl_encoder_clear(encoder);
            for (size_t part = 0; part < 2; part++) {
                for (size_t at = 0; at < parts[part].len;) {
                    size_t step = way == 1 ? 1 : parts[part].len - at;
                    if (way < 2) wl_decoder_feed(decoder, (wl_span){parts[part].ptr + at, step});
                    else {
                        size_t room;
                        uint8_t *lent = wl_decoder_reserve(decoder, step, &room);
                        if (room < step) step = room;
                        memcpy(lent, parts[part].ptr + at, step);
                        if (wl_decoder_commit(decoder, step) != WL_STATUS_OK) abort();
                    }
                    at += step;
                    if (way == 1) put_all(&found, decoder, encoder);
                }
            }
            if (wl_decoder_finish(decoder) != WL_STATUS_OK) abort();
            put_all(&found, decoder, encoder);
            wl_decoder_free(decoder);
            check(ways[way], &found, expected, expected_len);
        }
    }
    // A forwarded message has the same contents.
    const wl_span forwarded = wl_encoder_bytes(encoder);
    if (forwarded.len) {
        wl_decoder *decoder = wl_decoder_new(&rules);
        wl_message message;
        wl_encoder *again = wl_encoder_new(&rules);
        wl_decoder_feed(decoder, forwarded);
        found.len = 0;
        put_all(&found, decoder, again);
        check("forwarded", &found, expected, expected_len);
        // With another id, only the id differs.
        wl_decoder_feed(decoder, forwarded);
        if (wl_decoder_next(decoder, &message) > WL_KIND_NONE && message.id.ptr) {
            wl_encoder_clear(again);
            if (wl_encoder_with_id(again, &message, WL_TEXT("\"other\"")) != WL_STATUS_OK) abort();
            wl_frame *frame = wl_frame_parse(&rules, wl_encoder_bytes(again));
            if (wl_frame_message(frame, &message) <= WL_KIND_NONE || !wl_id_equal(message.id, WL_TEXT("\"o\\u0074her\""))) abort();
            wl_frame_free(frame);
        }
        wl_encoder_free(again);
        wl_decoder_free(decoder);
    }
    // A separate text, and a line that outlives its decoder.
    for (int kept = 0; kept < 2; kept++) {
        wl_message message;
        wl_frame *frame;
        if (kept) {
            wl_decoder *decoder = wl_decoder_new(&rules);
            wl_decoder_feed(decoder, line);
            wl_decoder_finish(decoder);
            if (wl_decoder_next(decoder, &message) <= WL_KIND_NONE) abort();
            frame = wl_decoder_keep(decoder);
            wl_decoder_free(decoder);
        } else frame = wl_frame_parse(&rules, line);
        found.len = 0;
        if (wl_frame_message(frame, &message) <= WL_KIND_NONE) abort();
        put_item(&found, NULL, frame, &message, encoder);
        check(kept ? "kept" : "parsed", &found, expected, expected_len);
        wl_frame_free(frame);
    }
    wl_encoder_free(encoder);
    free(found.ptr);
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file) return 2;
    unsigned dialect;
    size_t line_len, expected_len;
    unsigned long count = 0;
    while (fscanf(file, "%u %zu %zu", &dialect, &line_len, &expected_len) == 3 && fgetc(file) == '\n') {
        uint8_t *line = malloc(line_len + 1);
        char *expected = malloc(expected_len + 1);
        if (!line || !expected || fread(line, 1, line_len, file) != line_len || fread(expected, 1, expected_len, file) != expected_len)
            return 2;
        run_case(dialect, (wl_span){line, line_len}, expected, expected_len);
        free(line);
        free(expected);
        count++;
    }
    const bool complete = feof(file);
    fclose(file);
    printf("%lu cases, %lu failures\n", count, failures);
    return count > 100 && complete && failures == 0 ? 0 : 1;
}
