// wireline: JSON-RPC 2.0, one message per line. A codec (bytes in, messages and faults out; messages in, whole lines out),
// and a connection (bytes in, events out, bytes out).
//
// cbindgen generates this file from c/src. Don't edit it: change the sources and run .ci/c --header.
//
// Rules for everything below:
//
// - Handles. Free each handle once, with its own function: a wl_decoder with wl_decoder_free. A function that "consumes"
//   a handle frees it for you. Passing NULL as a handle is safe: the function fails, or does nothing.
// - Spans. A wl_span borrows memory; never free one. The comment of the function or struct that you got it from documents
//   how long it is valid. Spans that you pass in are only used during the call. {NULL, 0} means absent.
// - Output parameters. They may point to uninitialized memory.
// - Threads. Any thread may use a handle, but only one at a time, unless the handle's comment says that several threads
//   may use it at once. Using one handle from two threads at once without a lock is undefined behavior. Tickets and
//   peers are separate handles: while one thread uses a connection, others may use its tickets and peers.
// - Callbacks. A wl_wake may be called on any thread, a wl_read only during wl_connection_read. Neither may throw an
//   exception or use the connection.
// - Errors. Functions return a wl_status, a wl_kind or a wl_event_kind, or else NULL, 0 or false on failure. Nothing throws
//   or unwinds. A bug in the library is reported as WL_STATUS_PANIC, WL_KIND_PANIC, WL_EVENT_KIND_PANIC, NULL or false,
//   with a message on stderr. Only running out of memory aborts the process.
// - Global state. There is none, except that standard output can be claimed only once. Only wl_stdout_write writes to it.
// - Privacy. Error texts never contain bytes that the peer sent. Only a message's spans, a fault's id, and the reply, which
//   contains the id, do.


#ifndef WIRELINE_H
#define WIRELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A span of a string literal.
#ifdef __cplusplus
#define WL_TEXT(literal) (wl_span{reinterpret_cast<const uint8_t *>("" literal), sizeof(literal) - 1})
#else
#define WL_TEXT(literal) ((wl_span){(const uint8_t *)("" literal), sizeof(literal) - 1})
#endif

// The result of a call. Unless a function says otherwise, a call that fails changes nothing.
typedef enum wl_status {
    // Success.
    WL_STATUS_OK = 0,
    // A required pointer is NULL, a number is out of range, or a message has the wrong kind.
    WL_STATUS_INVALID_ARGUMENT = 1,
    // A text isn't valid UTF-8.
    WL_STATUS_NOT_UTF8 = 2,
    // A payload isn't a single JSON value.
    WL_STATUS_NOT_JSON = 3,
    // An id isn't a JSON string, number or null.
    WL_STATUS_NOT_AN_ID = 4,
    // The message would contain a line feed or a carriage return.
    WL_STATUS_LINE_BREAK = 5,
    // The rules don't permit the message; for an encoder, `wl_encoder_refused` returns the rule.
    WL_STATUS_RULE = 6,
    // Too many bytes are pending, or too many requests are in flight.
    WL_STATUS_FULL = 7,
    // The connection has ended.
    WL_STATUS_CLOSED = 8,
    // The value doesn't exist.
    WL_STATUS_NOT_FOUND = 9,
    // The buffer is too small; the required size has been stored.
    WL_STATUS_TOO_SMALL = 10,
    // Standard output is already claimed.
    WL_STATUS_ALREADY_CLAIMED = 11,
    // A system call failed; `errno` may say why.
    WL_STATUS_IO = 12,
    // A bug in this library. Free the handle that was in use.
    WL_STATUS_PANIC = 13,
} wl_status;

// The kind of an event on a connection.
typedef enum wl_event_kind {
    // A required pointer is NULL.
    WL_EVENT_KIND_INVALID_ARGUMENT = -2,
    // A bug in this library. Free the handle that was in use.
    WL_EVENT_KIND_PANIC = -1,
    // No event until more bytes are read or, if too many bytes are pending, until some are written.
    WL_EVENT_KIND_NONE = 0,
    // The peer sent a request. `ticket` is the duty to answer it.
    WL_EVENT_KIND_REQUEST = 1,
    // The peer sent a notification.
    WL_EVENT_KIND_NOTIFICATION = 2,
    // The response to one of your requests arrived. `value` is the value that you passed with the request.
    WL_EVENT_KIND_RESPONSE = 3,
    // The peer cancelled its request with this `id`, with the dialect's notification. The request's ticket is already
    // marked as cancelled.
    WL_EVENT_KIND_CANCELLED = 4,
    // No response will come to your request with this `id`. `lost` is the reason, and `value` is the value that you
    // passed with the request.
    WL_EVENT_KIND_LOST = 5,
    // The peer sent a response that answers no request in flight. `stray` is the reason.
    WL_EVENT_KIND_STRAY = 6,
    // The peer sent a request that was refused and already answered with an error. `refusal` is the reason.
    WL_EVENT_KIND_REFUSED = 7,
    // The peer sent a line, or an entry of a batch, that isn't a valid message. It has already been answered, if it
    // should be.
    WL_EVENT_KIND_FAULT = 8,
    // An event that is newer than the header.
    WL_EVENT_KIND_OTHER = 9,
} wl_event_kind;

// The kind of a line, or of an entry of a batch.
typedef enum wl_kind {
    // A required pointer is NULL.
    WL_KIND_INVALID_ARGUMENT = -2,
    // A bug in this library. Free the handle that was in use.
    WL_KIND_PANIC = -1,
    // No more lines until more bytes arrive, or no more entries in the batch.
    WL_KIND_NONE = 0,
    // A call that expects one response.
    WL_KIND_REQUEST = 1,
    // A call that expects no response.
    WL_KIND_NOTIFICATION = 2,
    // A response with a result.
    WL_KIND_RESULT = 3,
    // A response with an error.
    WL_KIND_ERROR = 4,
    // An array of messages.
    WL_KIND_BATCH = 5,
    // A line, or an entry of a batch, that isn't a message.
    WL_KIND_FAULT = 6,
} wl_kind;

// Why no response will come to a request.
typedef enum wl_lost {
    // It isn't lost.
    WL_LOST_NONE = 0,
    // The peer sent a response that isn't a valid message; `wl_connection_fault` describes the fault.
    WL_LOST_FAULTY = 1,
    // Its deadline has passed.
    WL_LOST_EXPIRED = 2,
    // The stream has ended.
    WL_LOST_ENDED = 3,
    // A reason that is newer than the header.
    WL_LOST_OTHER = 4,
} wl_lost;

// Why a response answers no request.
typedef enum wl_stray {
    // It answers a request.
    WL_STRAY_NONE = 0,
    // It has no id, or the id is null: the peer couldn't read the id of the request.
    WL_STRAY_NO_ID = 1,
    // No request with this id was sent.
    WL_STRAY_UNKNOWN = 2,
    // The request was already answered, cancelled or lost.
    WL_STRAY_REPEATED = 3,
    // A reason that is newer than the header.
    WL_STRAY_OTHER = 4,
} wl_stray;

// Why a request was refused.
typedef enum wl_refusal {
    // It wasn't refused.
    WL_REFUSAL_NONE = 0,
    // A request with the same id is in flight.
    WL_REFUSAL_DUPLICATE = 1,
    // The limit of requests in flight is reached.
    WL_REFUSAL_TOO_MANY = 2,
    // The connection is closed for requests.
    WL_REFUSAL_CLOSED = 3,
    // A reason that is newer than the header.
    WL_REFUSAL_OTHER = 4,
} wl_refusal;

// The rule that a line breaks.
typedef enum wl_fault_kind {
    // No rule.
    WL_FAULT_KIND_NONE = 0,
    // A blank line, if blank lines aren't skipped, or an empty text.
    WL_FAULT_KIND_BLANK_LINE = 1,
    // A UTF-8 byte order mark that isn't at the very start of the stream.
    WL_FAULT_KIND_BYTE_ORDER_MARK = 2,
    // Bytes that aren't UTF-8.
    WL_FAULT_KIND_INVALID_UTF8 = 3,
    // A control character in a string.
    WL_FAULT_KIND_CONTROL_CHARACTER = 4,
    // A backslash in a string that doesn't start an escape.
    WL_FAULT_KIND_INVALID_ESCAPE = 5,
    // Something that starts like a number but isn't one.
    WL_FAULT_KIND_INVALID_NUMBER = 6,
    // A word other than `true`, `false` and `null`.
    WL_FAULT_KIND_INVALID_LITERAL = 7,
    // A value, a bracket or a separator where something else was expected.
    WL_FAULT_KIND_UNEXPECTED_BYTE = 8,
    // The line ends inside a value.
    WL_FAULT_KIND_UNEXPECTED_END = 9,
    // Something after the end of the value.
    WL_FAULT_KIND_TRAILING_DATA = 10,
    // A line beyond the length limit.
    WL_FAULT_KIND_LINE_TOO_LONG = 11,
    // Brackets nested deeper than the limit.
    WL_FAULT_KIND_TOO_DEEP = 12,
    // A batch of more entries than the limit.
    WL_FAULT_KIND_BATCH_TOO_LONG = 13,
    // A value that is neither an object nor, if the rules allow batches, an array.
    WL_FAULT_KIND_NOT_AN_OBJECT = 14,
    // An array, if the rules don't allow batches.
    WL_FAULT_KIND_BATCH_NOT_ALLOWED = 15,
    // An array without entries.
    WL_FAULT_KIND_EMPTY_BATCH = 16,
    // A member name of the envelope that contains a lone surrogate escape.
    WL_FAULT_KIND_INVALID_MEMBER_NAME = 17,
    // A member of the envelope that occurs twice.
    WL_FAULT_KIND_DUPLICATE_MEMBER = 18,
    // No `jsonrpc`.
    WL_FAULT_KIND_MISSING_VERSION = 19,
    // A `jsonrpc` other than the string `2.0`.
    WL_FAULT_KIND_INVALID_VERSION = 20,
    // None of `method`, `result` and `error`.
    WL_FAULT_KIND_MISSING_METHOD = 21,
    // More than one of `method`, `result` and `error`.
    WL_FAULT_KIND_CONFLICTING_MEMBERS = 22,
    // A response without `id`.
    WL_FAULT_KIND_MISSING_ID = 23,
    // An `id` of a type that the rules don't allow, or with a lone surrogate escape.
    WL_FAULT_KIND_INVALID_ID = 24,
    // An `id` beyond the length limit.
    WL_FAULT_KIND_ID_TOO_LONG = 25,
    // A `method` that isn't a string, or has a lone surrogate escape.
    WL_FAULT_KIND_INVALID_METHOD = 26,
    // A `params` of a type that the rules don't allow.
    WL_FAULT_KIND_INVALID_PARAMS = 27,
    // A `result` of a type that the rules don't allow.
    WL_FAULT_KIND_INVALID_RESULT = 28,
    // An `error` that isn't an object with an integer `code` and a string `message`.
    WL_FAULT_KIND_INVALID_ERROR = 29,
    // A request from a side that sends none, or a response.
    WL_FAULT_KIND_WRONG_SIDE = 30,
    // A result to be sent that doesn't say its type, although the rules require it.
    WL_FAULT_KIND_MISSING_RESULT_TYPE = 31,
    // An error to be sent whose code the rules reserve.
    WL_FAULT_KIND_RESERVED_CODE = 32,
    // Text where a header was expected, or within a header.
    WL_FAULT_KIND_INVALID_HEADER = 33,
    // A header without `Content-Length`.
    WL_FAULT_KIND_MISSING_CONTENT_LENGTH = 34,
    // A `Content-Length` that isn't a number of at most 4 GiB, or a second one with another value.
    WL_FAULT_KIND_INVALID_CONTENT_LENGTH = 35,
    // A `Content-Type` with a charset other than UTF-8.
    WL_FAULT_KIND_UNSUPPORTED_CHARSET = 36,
    // A header of more than 4096 bytes.
    WL_FAULT_KIND_HEADER_TOO_LONG = 37,
    // The stream ended before the end of a header, a body or an event.
    WL_FAULT_KIND_INCOMPLETE_FRAME = 38,
    // A rule that is newer than the header.
    WL_FAULT_KIND_OTHER = 39,
} wl_fault_kind;

// A guess at the cause of a fault.
typedef enum wl_hint {
    // No guess.
    WL_HINT_NONE = 0,
    // A `Content-Length` or `Content-Type` header: the peer frames its messages as language servers do.
    WL_HINT_CONTENT_LENGTH_HEADER = 1,
    // The first line of an HTTP request or response.
    WL_HINT_HTTP_REQUEST = 2,
    // UTF-16 text.
    WL_HINT_UTF16 = 3,
    // One line of JSON that was pretty-printed over several lines.
    WL_HINT_PRETTY_PRINTED = 4,
    // Several values on one line.
    WL_HINT_SEVERAL_VALUES = 5,
    // `NaN`, `Infinity` or `undefined`.
    WL_HINT_NOT_A_NUMBER = 6,
    // Text meant for people, such as a log line.
    WL_HINT_LOG_TEXT = 7,
    // A line of an event stream, as HTTP servers send it: `data: {…}`.
    WL_HINT_EVENT_STREAM = 8,
    // A line of an HTML page.
    WL_HINT_HTML = 9,
    // UTF-32 text.
    WL_HINT_UTF32 = 10,
    // Zero bytes between or after the characters, such as the end of a C string.
    WL_HINT_ZERO_BYTES = 11,
    // A Python dict or a JavaScript object as it is printed.
    WL_HINT_OBJECT_LITERAL = 12,
    // A comma after the last member or element.
    WL_HINT_TRAILING_COMMA = 13,
    // A line break within a string.
    WL_HINT_LINE_BREAK_IN_STRING = 14,
    // Text in Latin-1 or Windows-1252.
    WL_HINT_LATIN1 = 15,
    // A hint that is newer than the header.
    WL_HINT_OTHER = 16,
} wl_hint;

// A protocol on top of JSON-RPC.
typedef enum wl_dialect {
    // JSON-RPC 2.0 as it is specified.
    WL_DIALECT_JSON_RPC = 0,
    // The Model Context Protocol, from revision 2025-06-18 on.
    WL_DIALECT_MCP = 1,
    // The Agent Client Protocol, version 1.
    WL_DIALECT_ACP = 2,
    // The app-server protocol of OpenAI Codex, without `jsonrpc`.
    WL_DIALECT_CODEX = 3,
    // The Electrum protocol of Bitcoin wallets and their servers, which mixes JSON-RPC 1.0 and 2.0.
    WL_DIALECT_ELECTRUM = 4,
    // Stratum, version 1, of miners and mining pools, which descends from JSON-RPC 1.0.
    WL_DIALECT_STRATUM = 5,
    // The Agent Client Protocol, version 2, where the id of a request can't be null.
    WL_DIALECT_ACP_V2 = 6,
    // The Model Context Protocol, revision 2026-07-28.
    WL_DIALECT_MCP_2026_07_28 = 7,
} wl_dialect;

// One of the two sides of a connection. It matters under MCP 2026-07-28, where only clients send requests, and only
// servers responses.
typedef enum wl_side {
    // Messages of all kinds go either way.
    WL_SIDE_UNKNOWN = 0,
    // This side is the client.
    WL_SIDE_CLIENT = 1,
    // This side is the server.
    WL_SIDE_SERVER = 2,
} wl_side;

// How to answer a bad line whose id can't be read.
typedef enum wl_answer_without_id {
    // Don't answer it.
    WL_ANSWER_WITHOUT_ID_NEVER = 0,
    // With an error with `"id":null`.
    WL_ANSWER_WITHOUT_ID_NULL_ID = 1,
    // With an error without `id`.
    WL_ANSWER_WITHOUT_ID_OMIT_ID = 2,
} wl_answer_without_id;

// A connection to a peer, without I/O. It decodes the peer's messages, creates a ticket for each request, answers bad
// lines, refuses repeated ids, joins the answers to a batch, detects cancellations, matches responses to requests, and
// queues outgoing lines. You read and write:
//
// - While `wl_connection_wants_read`, read, with `wl_connection_read` or `_feed`. At the end of the stream, call
//   `_finish`.
// - Take events with `wl_connection_next` until there are none.
// - Write `wl_connection_pending`, and pass the number of bytes written to `_advance`. Then take events again before
//   you wait for the peer, because events may have been held back while too many bytes were pending.
// - Stop when `wl_connection_is_done`, or when you can't write any more.
//
// One thread at a time may use a connection. Other threads can answer tickets and send through a `wl_peer`, at any
// time and without a lock. Use `wl_connection_poll_wake` to wake up the connection's thread when they do.
typedef struct wl_connection wl_connection;

// Turns a stream of bytes, split anywhere, into messages and faults. One thread at a time may use it.
//
// Feed it bytes, call `wl_decoder_next` until it returns `WL_KIND_NONE`, and repeat. At the end of the stream, call
// `wl_decoder_finish`, and then `wl_decoder_next` for the rest.
typedef struct wl_decoder wl_decoder;

// Turns messages into lines: each call appends one whole line to its buffer, or nothing. It never writes them
// anywhere. One thread at a time may use it.
//
// Ids and payloads are JSON text on one line; methods and error messages are plain text. An encoder refuses messages
// that the rules don't permit, so a decoder with the same rules accepts every line.
typedef struct wl_encoder wl_encoder;

// A message, a batch or a fault that belongs to the caller. One thread at a time may use it.
typedef struct wl_frame wl_frame;

// A handle for sending requests and notifications to the other side of a connection. Any number of threads may use it
// at once, even while the connection's thread uses the connection.
//
// These functions never wait: they queue messages, which the thread of the connection writes. A handle can outlive its
// connection. Then sending fails with `WL_STATUS_CLOSED`.
typedef struct wl_peer wl_peer;

// The process's real standard output, reserved for the protocol. One thread at a time may use it.
typedef struct wl_stdout wl_stdout;

// The duty to answer one request, once. Any thread may use it, but only one at a time, even while the thread of the
// connection uses the connection.
//
// Answering consumes the ticket and never waits: the answer is queued, and the thread of the connection writes it.
// Freeing a ticket answers with an internal error. The answer to an entry of a batch is held until all requests of the
// batch are answered, and then sent with these answers in one array.
//
// A ticket can outlive its connection. Then `wl_ticket_is_cancelled` is true, and answers go nowhere.
typedef struct wl_ticket wl_ticket;

// The limits of a connection. Initialize it with `wl_limits_init`, and then change any members.
typedef struct wl_limits {
    // The most requests of the peer that may be in flight. The default is 1024. Further ones are refused with an
    // error. Each request in a batch counts.
    size_t in_flight;
    // The most requests to the peer that may be in flight. The default is 1024. Further ones fail with
    // `WL_STATUS_FULL`.
    size_t calls;
    // The most bytes that may wait to be written. The default is 1 MiB. Above that, requests and notifications fail
    // with `WL_STATUS_FULL`, and nothing more is read from the peer. Answers are always queued.
    size_t backlog;
} wl_limits;

// The rules for messages in both directions: a dialect and limits. Initialize it with `wl_rules_init`, and then change
// any members.
//
// Functions that take rules copy them.
typedef struct wl_rules {
    // A `wl_dialect`.
    uint32_t dialect;
    // A `wl_answer_without_id`.
    uint32_t answer_without_id;
    // A `wl_side`.
    uint32_t side;
    // The longest line in bytes, excluding its line ending. The default is 16 MiB, and the maximum 4 GiB.
    size_t max_line_len;
    // The longest id in bytes of JSON text. The default is 1024.
    size_t max_id_len;
    // The deepest nesting. The default is 128, and the maximum 1024.
    size_t max_depth;
    // The most entries in a batch. The default is 1024.
    size_t max_batch_len;
    // Whether a line may be an array of messages. The default depends on the dialect.
    bool batches;
    // Whether `"params":null` counts as no params. The default is false.
    bool null_params;
    // Whether blank lines are skipped. The default is true. If false, each blank line is a fault.
    bool skip_blank_lines;
    // Whether a message behind noise on the same line, such as terminal escapes, is decoded. The default is false.
    bool salvage;
    // Whether the response to request `7` may have the id `"7"`, and the reverse. The default is false.
    bool loose_ids;
    // Whether U+2028 and U+2029 are escaped in what is sent. The default is false.
    bool escape_line_separators;
} wl_rules;

// Called when a connection has something to do; see `wl_connection_poll_wake`. It is called on the thread that answers
// a ticket, sends to the peer or uses the connection.
//
// It should only wake up the thread of the connection, for example by writing to a pipe or setting a flag. It must not
// call the library or throw an exception. It may be called more often than necessary.
typedef void (*wl_wake)(void *context);

// Borrowed bytes. If `ptr` is NULL, the span is absent, such as a missing member; an empty text has a `len` of 0 and a
// `ptr` that isn't NULL.
//
// Texts are UTF-8 and aren't terminated by a NUL.
typedef struct wl_span {
    // The first byte, or NULL.
    const uint8_t *ptr;
    // The number of bytes.
    size_t len;
} wl_span;

// Reads bytes like `read(2)`: stores up to `len` bytes in `buffer`, and returns their number, 0 at the end of the
// stream, or a negative number on failure. It must not use the connection, and must not throw an exception.
typedef ptrdiff_t (*wl_read)(void *context, uint8_t *buffer, size_t len);

// One message, as spans into its line. They are valid until the next call of `wl_decoder_next`, `_feed`, `_reserve`,
// `_finish` or `_free` on the same decoder. The spans of a batch entry also become invalid when the next entry is taken.
// The spans of a kept frame are valid until the frame is freed. `wl_event` documents how long the spans of an event are
// valid.
//
// The members are JSON, exactly as they were sent, except for `method`, which is the name without quotes.
//
// Only pass messages to functions that the library has filled, or copies of these. To create a message yourself, use
// `wl_frame_parse`.
typedef struct wl_message {
    // The kind of message. Members that this kind of message doesn't have are absent. A batch or a fault only has
    // `line`, `offset` and `text`.
    enum wl_kind kind;
    // The number of the line in the stream, starting at 1.
    uint64_t line;
    // Where the line starts in the stream, in bytes.
    uint64_t offset;
    // The whole text: the line without its line ending, or the entry of a batch. Absent if the line was too long to be
    // kept, and for a fault in a `wl_frame`, a batch or a connection.
    struct wl_span text;
    // The id of a request or a response. An error may have none, if the rules permit that.
    struct wl_span id;
    // The decoded method of a request or a notification. Points into the line if it was sent without escapes, and
    // otherwise into memory of the decoder, connection or frame.
    struct wl_span method;
    // The params of a request or a notification, if it has any.
    struct wl_span params;
    // The result of a response.
    struct wl_span result;
    // The error object of a response; `wl_message_error` returns its members.
    struct wl_span error;
    // For internal use, when you pass the message to another function. Valid as long as the spans. NULL for a batch or
    // a fault.
    const void *source;
} wl_message;

// An event on a connection. Each line, or each entry of a batch, is one event.
//
// Its spans are valid until the next call of `wl_connection_next`, `_next_expired`, `_feed`, `_read`, `_finish` or
// `_free` on the same connection. The ticket is yours.
typedef struct wl_event {
    // The kind of event, which determines which of the following members are set.
    enum wl_event_kind kind;
    // The request, notification or response. For a fault, or a request lost to a faulty response, only `kind`, `line`
    // and `offset` are set.
    struct wl_message message;
    // The id of the request that the event is about, as JSON. Absent for a notification or a fault, and for a response
    // without an id.
    struct wl_span id;
    // With a request: the duty to answer it. Answer or free it, on any thread. Otherwise NULL.
    struct wl_ticket *ticket;
    // With a response or a lost request: the value that you passed with the request. Otherwise NULL.
    void *value;
    // Why no response will come.
    enum wl_lost lost;
    // Why a response answers no request.
    enum wl_stray stray;
    // Why a request was refused.
    enum wl_refusal refusal;
    // With a cancelled request: whether it is in flight. If not, it was never sent, or has already been answered.
    bool is_in_flight;
} wl_event;

// The fault of a line or an entry of a batch. Its spans are valid as long as those of a `wl_message`.
//
// The texts contain no bytes of the line, except that `id` and `reply` contain the id.
typedef struct wl_fault {
    // The rule that the line breaks.
    enum wl_fault_kind kind;
    // A guess at the cause.
    enum wl_hint hint;
    // The JSON-RPC error code: -32700 if the line isn't JSON, otherwise -32600.
    int64_t code;
    // The number of the line in the stream, starting at 1.
    uint64_t line;
    // The byte of the line at which the fault was detected, starting at 1.
    uint64_t column;
    // Where the line starts in the stream, in bytes.
    uint64_t offset;
    // The length of the line in bytes, without its line ending.
    uint64_t line_len;
    // The short name of the rule, such as `invalid-id`.
    struct wl_span name;
    // The rule in words, with the types and limits in force.
    struct wl_span message;
    // The guess at the cause in words; absent without a hint.
    struct wl_span hint_text;
    // The id as JSON, if it could be read reliably.
    struct wl_span id;
    // The line to send as an answer, with its line feed; absent if the fault should not be answered.
    struct wl_span reply;
    // Whether the line looks like a response. Then the request with this `id` will get no other answer.
    bool is_response;
    // For internal use, when you pass the fault to another function. Valid as long as the spans.
    const void *source;
} wl_fault;

// Why an encoder refused a message.
typedef struct wl_refused {
    // The rule that the message breaks, or none if it contains a line break.
    enum wl_fault_kind rule;
    // The byte of the message at which the rule is broken, or `SIZE_MAX` if unknown.
    size_t offset;
    // The reason in words, without any bytes of the message. Valid until the encoder is used again.
    struct wl_span message;
} wl_refused;

// The parts of an error. The spans point into the line.
typedef struct wl_error {
    // The code, or the nearest 64-bit integer; 0 if the error is only a string, as some dialects permit.
    int64_t code;
    // The message: a JSON string, with quotes and escapes; `wl_json_string` decodes it.
    struct wl_span message;
    // The data as JSON, if there is any.
    struct wl_span data;
} wl_error;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Fills `limits` with the defaults.
enum wl_status wl_limits_init(struct wl_limits *limits);

// Creates a connection at the start of a stream. Returns NULL if `rules` is NULL or invalid. If `limits` is NULL, the
// defaults are used.
//
// `wake` may be NULL. Otherwise it is called with `context`, which must stay valid until the connection and all of its
// tickets and peers are freed.
struct wl_connection *wl_connection_new(const struct wl_rules *rules,
                                        const struct wl_limits *limits,
                                        wl_wake wake,
                                        void *context);

// Frees a connection: tickets are cancelled, peers are closed, and pending bytes are dropped. NULL is ignored.
//
// The values of requests in flight aren't returned any more. To get them, call `wl_connection_finish` first and take
// events until there are none; if bytes are pending, skip them with `wl_connection_advance`.
void wl_connection_free(struct wl_connection *connection);

// Creates a handle for sending to the peer. Free it with `wl_peer_free`. Returns NULL only if `connection` is NULL.
struct wl_peer *wl_connection_peer(const struct wl_connection *connection);

// Copies the next bytes from the peer into the connection's buffer. They may be split anywhere. After
// `wl_connection_finish` they are ignored.
enum wl_status wl_connection_feed(struct wl_connection *connection, struct wl_span bytes);

// Calls `read` once, with `context`, to read the next bytes from the peer directly into the connection's buffer. The
// buffer has 4 to 64 KiB, depending on how much was read before. If `read` returns 0, the stream has ended, as after
// `wl_connection_finish`.
//
// Returns `WL_STATUS_IO` if `read` fails; then nothing has changed, and `errno` is preserved. After the end of the
// stream, `read` isn't called.
enum wl_status wl_connection_read(struct wl_connection *connection, wl_read read, void *context);

// Ends the incoming stream. A last line without a line feed still becomes an event. Each request to the peer that is
// in flight becomes an event too: it is lost.
enum wl_status wl_connection_finish(struct wl_connection *connection);

// Whether to read more: the stream hasn't ended, and the peer keeps up with reading. Don't read while this is false,
// so that the bytes queued for a slow peer don't grow without bound.
bool wl_connection_wants_read(const struct wl_connection *connection);

// Takes the next event, fills `event`, and returns its kind. You can ignore events, except that the ticket of a
// request must be answered or freed.
//
// Returns `WL_EVENT_KIND_NONE` until more bytes are read, or, if too many bytes are pending, until some are written.
enum wl_event_kind wl_connection_next(struct wl_connection *connection, struct wl_event *event);

// Takes a request to the peer whose deadline isn't after `now`, in milliseconds of your clock, cancels it, and fills
// `event` with the event that it is lost. Returns `WL_EVENT_KIND_NONE` if there is no such request.
enum wl_event_kind wl_connection_next_expired(struct wl_connection *connection, uint64_t now, struct wl_event *event);

// Stores when the next request to the peer expires, in milliseconds of your clock. Returns false if no request in
// flight has a deadline.
bool wl_connection_next_deadline(const struct wl_connection *connection, uint64_t *milliseconds);

// Describes the fault of the current event, which is either a fault, or a lost request whose response is faulty.
// Returns `WL_STATUS_NOT_FOUND` if there is no fault. The fault's `reply` is already queued.
enum wl_status wl_connection_fault(struct wl_connection *connection, struct wl_fault *fault);

// Keeps the message or the fault of the current event in a separate frame, for another thread or for later. Returns
// NULL if the event has neither.
//
// Nothing is copied. The frame keeps the buffer in which the line arrived alive, which may hold many other lines.
struct wl_frame *wl_connection_keep(const struct wl_connection *connection);

// Whether there are bytes to write.
bool wl_connection_wants_write(const struct wl_connection *connection);

// The next bytes to write: whole lines, or the rest of lines that were written in part. They stay pending until
// `wl_connection_advance`, and are valid until the next call of `_pending`, `_advance` or `_free` on the same
// connection. The span is empty if there are none.
struct wl_span wl_connection_pending(struct wl_connection *connection);

// Marks the first `bytes` of the pending bytes as written.
enum wl_status wl_connection_advance(struct wl_connection *connection, size_t bytes);

// Returns true if there are bytes to write, or if the stream has ended and no request is in flight, so that nothing
// will follow. Otherwise, `wake` will be called when this changes.
//
// Call this each time before you wait for the peer, and don't wait if it returns true.
bool wl_connection_poll_wake(const struct wl_connection *connection);

// The number of requests of the peer that haven't been answered yet.
size_t wl_connection_in_flight(const struct wl_connection *connection);

// Whether the incoming stream has ended, all events are taken, all requests are answered, and all bytes are written.
bool wl_connection_is_done(const struct wl_connection *connection);

// Creates a decoder at the start of a stream. Returns NULL if `rules` is NULL or invalid.
struct wl_decoder *wl_decoder_new(const struct wl_rules *rules);

// Frees a decoder. Spans into it become invalid. NULL is ignored.
void wl_decoder_free(struct wl_decoder *decoder);

// Appends a copy of the next bytes of the stream. After `wl_decoder_finish` they are ignored.
enum wl_status wl_decoder_feed(struct wl_decoder *decoder, struct wl_span bytes);

// Lends part of the decoder's buffer, for example to `read(2)`: room for `wanted` bytes, or at least half as many, but
// no more than 1 MiB. Stores the size in `room`. Returns NULL on failure.
//
// Call `wl_decoder_commit` next. Any other call on the decoder takes the room back and discards the bytes written to
// it.
uint8_t *wl_decoder_reserve(struct wl_decoder *decoder, size_t wanted, size_t *room);

// Appends the first `len` bytes of the room that `wl_decoder_reserve` lent to the stream. You must have written them.
//
// Returns `WL_STATUS_INVALID_ARGUMENT` if no room is lent, or less than `len` bytes.
enum wl_status wl_decoder_commit(struct wl_decoder *decoder, size_t len);

// Takes the next line, fills `message`, and returns its kind.
//
// For a batch, call `wl_decoder_next_entry` next; for a fault, `wl_decoder_fault`.
enum wl_kind wl_decoder_next(struct wl_decoder *decoder, struct wl_message *message);

// Takes the next entry of the current line if that is a batch, fills `message`, and returns the entry's kind.
//
// Returns `WL_KIND_NONE` if there are no more entries, or the line isn't a batch.
enum wl_kind wl_decoder_next_entry(struct wl_decoder *decoder, struct wl_message *message);

// Describes the fault of the current line, or of the last entry taken from it. Returns `WL_STATUS_NOT_FOUND` if there
// is no fault.
enum wl_status wl_decoder_fault(struct wl_decoder *decoder, struct wl_fault *fault);

// Keeps the current line (a message, a batch or a fault) in a separate frame, for another thread or for later. Returns
// NULL if there is no current line.
//
// Nothing is copied. The frame keeps the buffer in which the line arrived alive, which may hold many other lines.
struct wl_frame *wl_decoder_keep(const struct wl_decoder *decoder);

// Ends the stream. A last line without a line feed still becomes a message or a fault.
enum wl_status wl_decoder_finish(struct wl_decoder *decoder);

// The number of bytes that have arrived but haven't been taken as lines yet.
size_t wl_decoder_buffered(const struct wl_decoder *decoder);

// Creates an encoder with an empty buffer. Returns NULL if `rules` is NULL or invalid.
struct wl_encoder *wl_encoder_new(const struct wl_rules *rules);

// Frees an encoder and its buffer. NULL is ignored.
void wl_encoder_free(struct wl_encoder *encoder);

// The lines in the buffer, to be written unchanged. They are valid until the next call on the encoder.
struct wl_span wl_encoder_bytes(const struct wl_encoder *encoder);

// Removes all lines from the buffer, after you have written them. The buffer keeps its memory for the next lines.
void wl_encoder_clear(struct wl_encoder *encoder);

// Describes why the last message was refused. Returns `WL_STATUS_NOT_FOUND` if it wasn't, or if the status was the
// whole reason.
enum wl_status wl_encoder_refused(const struct wl_encoder *encoder, struct wl_refused *refused);

// Appends a request. `params` may be absent.
enum wl_status wl_encoder_request(struct wl_encoder *encoder,
                                  struct wl_span id,
                                  struct wl_span method,
                                  struct wl_span params);

// Appends a request whose id is a number. `params` may be absent.
enum wl_status wl_encoder_call(struct wl_encoder *encoder, uint64_t id, struct wl_span method, struct wl_span params);

// Appends a notification. `params` may be absent.
enum wl_status wl_encoder_notification(struct wl_encoder *encoder, struct wl_span method, struct wl_span params);

// Appends a response with a result. Servers should use a connection and its tickets instead, so that each request is
// answered once.
enum wl_status wl_encoder_response(struct wl_encoder *encoder, struct wl_span id, struct wl_span result);

// Appends a response with an error. An absent `id` is left out, which MCP permits; `data` may be absent.
enum wl_status wl_encoder_error(struct wl_encoder *encoder,
                                struct wl_span id,
                                int64_t code,
                                struct wl_span message,
                                struct wl_span data);

// Appends the error response to a fault. Returns `WL_STATUS_NOT_FOUND` if the fault should not be answered.
enum wl_status wl_encoder_reply(struct wl_encoder *encoder, const struct wl_fault *fault);

// Appends an already encoded line, passed without its line ending, if it passes the rules and contains no line break.
enum wl_status wl_encoder_raw(struct wl_encoder *encoder, struct wl_span line);

// Appends an already encoded text as one line, if it passes the rules. Line breaks between its tokens become spaces.
enum wl_status wl_encoder_flatten(struct wl_encoder *encoder, struct wl_span text);

// Appends a message as it was received.
enum wl_status wl_encoder_forward(struct wl_encoder *encoder, const struct wl_message *message);

// Appends a message with another id, and otherwise unchanged, as a proxy does.
enum wl_status wl_encoder_with_id(struct wl_encoder *encoder, const struct wl_message *message, struct wl_span id);

// Parses one whole text, such as an HTTP body or a WebSocket message. Line breaks are allowed between its tokens. The
// text is copied. The frame may be a fault. Returns NULL only if an argument is invalid.
struct wl_frame *wl_frame_parse(const struct wl_rules *rules, struct wl_span text);

// Fills `message` and returns the frame's kind, like `wl_decoder_next`.
enum wl_kind wl_frame_message(struct wl_frame *frame, struct wl_message *message);

// Takes the next entry of a batch, like `wl_decoder_next_entry`.
enum wl_kind wl_frame_next_entry(struct wl_frame *frame, struct wl_message *message);

// Describes the fault of a frame, or of the last entry taken from it. Returns `WL_STATUS_NOT_FOUND` if there is no
// fault.
enum wl_status wl_frame_fault(struct wl_frame *frame, struct wl_fault *fault);

// Frees a frame. Spans into it become invalid. NULL is ignored.
void wl_frame_free(struct wl_frame *frame);

// Finds the value in `json` that a JSON pointer (RFC 6901), such as `/params/name`, refers to. Stores its span, which
// points into `json`, in `value`.
//
// Returns `WL_STATUS_NOT_FOUND` if there is no such value, and `WL_STATUS_NOT_JSON` if `json` isn't JSON.
enum wl_status wl_json_pointer(struct wl_span json, struct wl_span pointer, struct wl_span *value);

// Decodes a JSON string into `buffer`, without a terminating NUL, and stores its length in `len`. If that is more than
// `capacity`, returns `WL_STATUS_TOO_SMALL`, and `len` is the capacity needed. `buffer` must not overlap `json`.
//
// Escapes of lone surrogates become U+FFFD. Returns `WL_STATUS_NOT_FOUND` if `json` isn't a string.
enum wl_status wl_json_string(struct wl_span json, uint8_t *buffer, size_t capacity, size_t *len);

// Whether two ids, as JSON, have the same type and value, regardless of their spelling: `1` equals `1.0`, but not
// `"1"`. Returns false if either isn't an id.
bool wl_id_equal(struct wl_span one, struct wl_span other);

// Returns the members of the error of a response in `error`. Returns `WL_STATUS_INVALID_ARGUMENT` if the message isn't
// an error response.
enum wl_status wl_message_error(const struct wl_message *message, struct wl_error *error);

// Frees a handle, which doesn't affect the connection. NULL is ignored.
void wl_peer_free(struct wl_peer *peer);

// Sends a request. `params`, JSON on one line, may be absent.
//
// The connection keeps `value`, which may be NULL, and returns it once: with the response, with the event that the
// request is lost, or from `wl_peer_cancel`. The id, for `wl_peer_cancel` and `wl_peer_set_deadline`, is stored in
// `id` unless that is NULL. The response may arrive before this function returns, if another thread drives the
// connection.
//
// Returns `WL_STATUS_FULL` if too many bytes are pending or too many requests are in flight, and `WL_STATUS_CLOSED` if
// the connection has ended. The value isn't kept if this function fails.
enum wl_status wl_peer_call(const struct wl_peer *peer,
                            struct wl_span method,
                            struct wl_span params,
                            void *value,
                            uint64_t *id);

// Sends another peer's request with an id of this connection, as a proxy does. Only the id is replaced. Otherwise
// works like `wl_peer_call`.
//
// Forward the response with `wl_ticket_relay`.
enum wl_status wl_peer_forward_request(const struct wl_peer *peer,
                                       const struct wl_message *request,
                                       void *value,
                                       uint64_t *id);

// Sends a notification. `params`, JSON on one line, may be absent. Returns `WL_STATUS_FULL` if too many bytes are
// pending, and `WL_STATUS_CLOSED` if the connection has ended.
enum wl_status wl_peer_notify(const struct wl_peer *peer, struct wl_span method, struct wl_span params);

// Sets when a request expires, in milliseconds of your clock, which can be any clock that doesn't go backwards.
// Returns `WL_STATUS_NOT_FOUND` if the request isn't in flight.
//
// Nothing happens automatically at that time; call `wl_connection_next_expired` to find expired requests.
enum wl_status wl_peer_set_deadline(const struct wl_peer *peer, uint64_t id, uint64_t milliseconds);

// Cancels a request: sends the dialect's notification to the peer, and stores the value that was kept with the request
// in `value`. Returns `WL_STATUS_NOT_FOUND` if the request isn't in flight. A response that still arrives is a stray.
enum wl_status wl_peer_cancel(const struct wl_peer *peer, uint64_t id, void **value);

// Refuses all further requests of the peer with an error. Requests in flight can still be answered.
void wl_peer_close(const struct wl_peer *peer);

// Answers all requests of the peer that are in flight with an error, and refuses further ones. `data`, JSON on one
// line, may be absent. Tickets of these requests must still be answered or freed, but that sends nothing.
enum wl_status wl_peer_abort(const struct wl_peer *peer, int64_t code, struct wl_span message, struct wl_span data);

// Fills `rules` with the defaults of `dialect`, a `wl_dialect`.
enum wl_status wl_rules_init(struct wl_rules *rules, uint32_t dialect);

// Describes a status as a lower-case phrase, in a static C string.
const char *wl_status_text(uint32_t status);

// The version of this library, such as `1.2.3`, as a static C string.
const char *wl_version(void);

// Reserves standard output for the protocol, for the rest of the process. Descriptor 1 is redirected to stderr, where
// output of a stray `printf`, a library or a child process does no harm. Standard output can be claimed only once,
// even after `wl_stdout_free`. Returns `WL_STATUS_IO` if standard output is closed, or no pipe or thread can be
// created.
//
// Output that C's `stdout` has already buffered goes to stderr too. Stray prints don't fail, and wait at most a
// second; output that stderr doesn't accept by then is discarded. A thread copies it from a pipe, so it may appear a
// little later. Claim on the main thread, or output right before the exit may be lost.
//
// Output is only redirected on Unix; elsewhere this is the ordinary standard output.
enum wl_status wl_stdout_claim(struct wl_stdout **claimed);

// Writes all of `bytes`, unbuffered, and blocks until they are written. Returns `WL_STATUS_IO` on failure, for example
// because the reader is gone; some of the bytes may have been written.
enum wl_status wl_stdout_write(struct wl_stdout *claimed, struct wl_span bytes);

// The descriptor of the real standard output, for `poll` or `writev`. `wl_stdout_free` closes it. Returns -1 on
// systems without descriptors.
int32_t wl_stdout_fd(const struct wl_stdout *claimed);

// Closes the real standard output, so the peer sees the end of the stream. NULL is ignored.
//
// Descriptor 1 stays redirected, so later prints, and output still in C's buffers, go to stderr as well.
void wl_stdout_free(struct wl_stdout *claimed);

// The id of the request as JSON, spelled as in the request. Valid as long as the ticket.
struct wl_span wl_ticket_id(const struct wl_ticket *ticket);

// Whether you can stop working on the request: the peer has cancelled it, `wl_peer_abort` has answered it, or the
// connection is gone. Cheap enough to call in a loop.
bool wl_ticket_is_cancelled(const struct wl_ticket *ticket);

// Answers with a result, JSON on one line, and consumes the ticket.
//
// If the result isn't JSON, or the rules don't permit it, the answer is an internal error, and the status is the
// reason.
enum wl_status wl_ticket_respond(struct wl_ticket *ticket, struct wl_span result);

// Answers with an error, and consumes the ticket. `data`, JSON on one line, may be absent.
//
// If an argument is invalid, the answer is an internal error, and the status is the reason. The answer is also an
// internal error if the given error is too long for a line.
enum wl_status wl_ticket_fail(struct wl_ticket *ticket, int64_t code, struct wl_span message, struct wl_span data);

// Answers with the response to another request, as a proxy does, and consumes the ticket. Only the id is replaced.
//
// If the message isn't a response, the answer is an internal error, and the status `WL_STATUS_INVALID_ARGUMENT`. The
// answer is also an internal error if the rules of this connection don't permit the response.
enum wl_status wl_ticket_relay(struct wl_ticket *ticket, const struct wl_message *response);

// Answers with an internal error, or with "Request cancelled" if the peer has cancelled the request, and frees the
// ticket. NULL is ignored.
void wl_ticket_free(struct wl_ticket *ticket);

// Returns the bytes of a C string as a span. For a literal, use the macro `WL_TEXT("…")`, which doesn't need `strlen`.
//
// Returns an absent span for NULL.
struct wl_span wl_text(const char *text);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* WIRELINE_H */
