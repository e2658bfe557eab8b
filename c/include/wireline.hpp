// wireline for C++20: RAII types for the functions of wireline.h.
//
// Header-only, without exceptions or RTTI. Errors are values. A std::string_view from a decoder's message or a
// connection's event points into the buffer of the decoder or connection, and is valid until this is used again. Frame,
// Request, Notification and Response own their memory, so views into one of these are valid as long as it lives.
// wireline.h documents each function and the rules for threads.

#ifndef WIRELINE_HPP
#define WIRELINE_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "wireline.h"

namespace wireline {

// A value or an error. As with std::expected, accessing the one that it doesn't contain is undefined behavior.
template <class T, class E>
class [[nodiscard]] Result {
public:
    Result(T value) : either_(std::in_place_index<0>, std::move(value)) {}
    Result(E error) : either_(std::in_place_index<1>, std::move(error)) {}

    explicit operator bool() const noexcept { return either_.index() == 0; }
    bool has_value() const noexcept { return either_.index() == 0; }

    T &operator*() & noexcept { return *std::get_if<0>(&either_); }
    const T &operator*() const & noexcept { return *std::get_if<0>(&either_); }
    T &&operator*() && noexcept { return std::move(*std::get_if<0>(&either_)); }
    T *operator->() noexcept { return std::get_if<0>(&either_); }
    const T *operator->() const noexcept { return std::get_if<0>(&either_); }

    const E &error() const noexcept { return *std::get_if<1>(&either_); }

private:
    std::variant<T, E> either_;
};

namespace detail {

template <auto free>
struct Free {
    template <class T>
    void operator()(T *handle) const noexcept { free(handle); }
};

template <class T, auto free>
using Handle = std::unique_ptr<T, Free<free>>;

inline wl_span span(std::string_view text) noexcept {
    // An empty view may have a null pointer, but isn't absent.
    return {reinterpret_cast<const uint8_t *>(text.data() ? text.data() : ""), text.size()};
}

inline wl_span span(const std::optional<std::string_view> &text) noexcept { return text ? span(*text) : wl_span{nullptr, 0}; }

inline std::string_view view(wl_span span) noexcept { return {reinterpret_cast<const char *>(span.ptr), span.len}; }

inline std::optional<std::string_view> optional(wl_span span) noexcept {
    if (!span.ptr) return std::nullopt;
    return view(span);
}

inline std::optional<std::string> copied(wl_span span) {
    if (!span.ptr) return std::nullopt;
    return std::string(view(span));
}

// Takes ownership of a value back from the library.
template <class T>
T taken(void *value) {
    const std::unique_ptr<T> kept(static_cast<T *>(value));
    return std::move(*kept);
}

} // namespace detail

// The result of a call.
class [[nodiscard]] Status {
public:
    Status(wl_status status) noexcept : status_(status) {}

    explicit operator bool() const noexcept { return status_ == WL_STATUS_OK; }
    bool operator==(const Status &) const noexcept = default;
    wl_status value() const noexcept { return status_; }
    const char *text() const noexcept { return wl_status_text(status_); }

private:
    wl_status status_;
};

// The rules for messages in both directions: a dialect and limits.
class Rules {
public:
    static Rules json_rpc() noexcept { return Rules(WL_DIALECT_JSON_RPC); }
    static Rules mcp() noexcept { return Rules(WL_DIALECT_MCP); }
    static Rules mcp_2026_07_28() noexcept { return Rules(WL_DIALECT_MCP_2026_07_28); }
    static Rules acp() noexcept { return Rules(WL_DIALECT_ACP); }
    static Rules acp_v2() noexcept { return Rules(WL_DIALECT_ACP_V2); }
    static Rules codex() noexcept { return Rules(WL_DIALECT_CODEX); }
    static Rules electrum() noexcept { return Rules(WL_DIALECT_ELECTRUM); }
    static Rules stratum() noexcept { return Rules(WL_DIALECT_STRATUM); }

    Rules max_line_len(std::size_t bytes) const noexcept { return with([=](wl_rules &rules) { rules.max_line_len = bytes; }); }
    Rules max_id_len(std::size_t bytes) const noexcept { return with([=](wl_rules &rules) { rules.max_id_len = bytes; }); }
    Rules max_depth(std::size_t depth) const noexcept { return with([=](wl_rules &rules) { rules.max_depth = depth; }); }
    Rules max_batch_len(std::size_t entries) const noexcept { return with([=](wl_rules &rules) { rules.max_batch_len = entries; }); }
    Rules batches(bool allowed) const noexcept { return with([=](wl_rules &rules) { rules.batches = allowed; }); }
    Rules null_params(bool allowed) const noexcept { return with([=](wl_rules &rules) { rules.null_params = allowed; }); }
    Rules skip_blank_lines(bool skip) const noexcept { return with([=](wl_rules &rules) { rules.skip_blank_lines = skip; }); }
    Rules salvage(bool on) const noexcept { return with([=](wl_rules &rules) { rules.salvage = on; }); }
    Rules loose_ids(bool allowed) const noexcept { return with([=](wl_rules &rules) { rules.loose_ids = allowed; }); }
    Rules escape_line_separators(bool escape) const noexcept {
        return with([=](wl_rules &rules) { rules.escape_line_separators = escape; });
    }
    Rules client() const noexcept { return with([](wl_rules &rules) { rules.side = WL_SIDE_CLIENT; }); }
    Rules server() const noexcept { return with([](wl_rules &rules) { rules.side = WL_SIDE_SERVER; }); }
    Rules answer_without_id(wl_answer_without_id answer) const noexcept {
        return with([=](wl_rules &rules) { rules.answer_without_id = answer; });
    }

    const wl_rules *get() const noexcept { return &rules_; }

private:
    explicit Rules(wl_dialect dialect) noexcept { wl_rules_init(&rules_, dialect); }

    template <class Change>
    Rules with(Change change) const noexcept {
        Rules changed = *this;
        change(changed.rules_);
        return changed;
    }

    wl_rules rules_;
};

// A message in a decoder's buffer or in a frame. The views point into its line. All of them are JSON, except for the
// method.
class Message {
public:
    explicit Message(const wl_message &message) noexcept : message_(message) {}

    wl_kind kind() const noexcept { return message_.kind; }
    bool is_request() const noexcept { return message_.kind == WL_KIND_REQUEST; }
    bool is_notification() const noexcept { return message_.kind == WL_KIND_NOTIFICATION; }
    bool is_response() const noexcept { return message_.kind == WL_KIND_RESULT || message_.kind == WL_KIND_ERROR; }

    std::string_view text() const noexcept { return detail::view(message_.text); }
    std::uint64_t line() const noexcept { return message_.line; }
    std::uint64_t offset() const noexcept { return message_.offset; }

    std::optional<std::string_view> id() const noexcept { return detail::optional(message_.id); }
    // Empty for a response.
    std::string_view method() const noexcept { return detail::view(message_.method); }
    std::optional<std::string_view> params() const noexcept { return detail::optional(message_.params); }
    std::optional<std::string_view> result() const noexcept { return detail::optional(message_.result); }
    std::optional<std::string_view> error() const noexcept { return detail::optional(message_.error); }

    // The message as one line with its line feed. Line breaks between its tokens become spaces.
    std::string to_string_delimited() const {
        std::string line(text());
        for (char &byte : line)
            if (byte == '\n' || byte == '\r') byte = ' ';
        return line += '\n';
    }

    const wl_message *get() const noexcept { return &message_; }

private:
    wl_message message_;
};

// The fault of a line or an entry of a batch. The texts contain no bytes of the line, except for the id in id and
// reply.
class Fault {
public:
    explicit Fault(const wl_fault &fault) noexcept : fault_(fault) {}

    wl_fault_kind kind() const noexcept { return fault_.kind; }
    std::string_view name() const noexcept { return detail::view(fault_.name); }
    std::int64_t code() const noexcept { return fault_.code; }
    std::uint64_t line() const noexcept { return fault_.line; }
    std::uint64_t column() const noexcept { return fault_.column; }
    std::uint64_t offset() const noexcept { return fault_.offset; }
    std::uint64_t line_len() const noexcept { return fault_.line_len; }
    std::string_view message() const noexcept { return detail::view(fault_.message); }
    wl_hint hint() const noexcept { return fault_.hint; }
    std::optional<std::string_view> hint_text() const noexcept { return detail::optional(fault_.hint_text); }
    std::optional<std::string_view> id() const noexcept { return detail::optional(fault_.id); }
    bool is_response() const noexcept { return fault_.is_response; }
    // The line to send as an answer, with its line feed, if the fault should be answered.
    std::optional<std::string_view> reply() const noexcept { return detail::optional(fault_.reply); }

    const wl_fault *get() const noexcept { return &fault_; }

private:
    wl_fault fault_;
};

// An entry of a batch.
using Entry = std::variant<Message, Fault>;

// A batch: an input range of entries, which can be iterated once.
class Batch {
public:
    class iterator {
    public:
        using iterator_concept = std::input_iterator_tag;
        using iterator_category = std::input_iterator_tag;
        using value_type = Entry;
        using difference_type = std::ptrdiff_t;

        iterator() = default;
        explicit iterator(const Batch *batch) : batch_(batch) { ++*this; }

        const Entry &operator*() const noexcept { return *entry_; }
        const Entry *operator->() const noexcept { return &*entry_; }
        iterator &operator++() {
            entry_ = batch_->next();
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const noexcept { return !entry_; }

    private:
        const Batch *batch_ = nullptr;
        std::optional<Entry> entry_;
    };

    iterator begin() const { return iterator(this); }
    std::default_sentinel_t end() const noexcept { return {}; }

    std::string_view text() const noexcept { return detail::view(message_.text); }
    std::uint64_t line() const noexcept { return message_.line; }
    std::uint64_t offset() const noexcept { return message_.offset; }

    // For Decoder and Frame.
    Batch(const wl_message &message, wl_decoder *decoder) noexcept : message_(message), decoder_(decoder) {}
    Batch(const wl_message &message, wl_frame *frame) noexcept : message_(message), frame_(frame) {}

private:
    std::optional<Entry> next() const {
        wl_message message;
        wl_fault fault;
        switch (decoder_ ? wl_decoder_next_entry(decoder_, &message) : wl_frame_next_entry(frame_, &message)) {
        case WL_KIND_REQUEST:
        case WL_KIND_NOTIFICATION:
        case WL_KIND_RESULT:
        case WL_KIND_ERROR:
            return Entry(Message(message));
        case WL_KIND_FAULT:
            if ((decoder_ ? wl_decoder_fault(decoder_, &fault) : wl_frame_fault(frame_, &fault)) == WL_STATUS_OK)
                return Entry(Fault(fault));
            return std::nullopt;
        default:
            return std::nullopt;
        }
    }

    wl_message message_;
    wl_decoder *decoder_ = nullptr;
    wl_frame *frame_ = nullptr;
};

// A line that was decoded.
using Item = std::variant<Message, Batch, Fault>;

// A message, a batch or a fault that owns its memory: for other threads, or for later.
class Frame {
public:
    // Parses one whole text, such as an HTTP body.
    static Frame parse(std::string_view text, const Rules &rules) noexcept {
        return Frame(wl_frame_parse(rules.get(), detail::span(text)));
    }

    Item item() const {
        wl_message message;
        const wl_kind kind = wl_frame_message(frame_.get(), &message);
        if (kind == WL_KIND_BATCH) return Batch(message, frame_.get());
        if (kind != WL_KIND_FAULT) return Message(message);
        wl_fault fault;
        wl_frame_fault(frame_.get(), &fault);
        return Fault(fault);
    }

    explicit Frame(wl_frame *frame) noexcept : frame_(frame) {}

private:
    detail::Handle<wl_frame, wl_frame_free> frame_;
};

// Turns a stream of bytes, split anywhere, into messages, batches and faults.
class Decoder {
public:
    explicit Decoder(const Rules &rules) noexcept : decoder_(wl_decoder_new(rules.get())) {}

    void feed(std::string_view bytes) noexcept { wl_decoder_feed(decoder_.get(), detail::span(bytes)); }

    // Room in the decoder's buffer, for example for read(2). Call commit next.
    std::span<char> reserve(std::size_t wanted) noexcept {
        std::size_t room = 0;
        auto *start = reinterpret_cast<char *>(wl_decoder_reserve(decoder_.get(), wanted, &room));
        return {start, room};
    }
    Status commit(std::size_t len) noexcept { return wl_decoder_commit(decoder_.get(), len); }

    // The next line, or nothing until more bytes arrive.
    std::optional<Item> next() {
        wl_message message;
        switch (wl_decoder_next(decoder_.get(), &message)) {
        case WL_KIND_REQUEST:
        case WL_KIND_NOTIFICATION:
        case WL_KIND_RESULT:
        case WL_KIND_ERROR:
            return Item(Message(message));
        case WL_KIND_BATCH:
            return Item(Batch(message, decoder_.get()));
        case WL_KIND_FAULT:
            wl_fault fault;
            if (wl_decoder_fault(decoder_.get(), &fault) == WL_STATUS_OK) return Item(Fault(fault));
            return std::nullopt;
        default:
            return std::nullopt;
        }
    }

    // Keeps the line that next() returned last in a separate frame.
    std::optional<Frame> keep() const noexcept {
        wl_frame *frame = wl_decoder_keep(decoder_.get());
        if (!frame) return std::nullopt;
        return Frame(frame);
    }

    void finish() noexcept { wl_decoder_finish(decoder_.get()); }
    std::size_t buffered() const noexcept { return wl_decoder_buffered(decoder_.get()); }

private:
    detail::Handle<wl_decoder, wl_decoder_free> decoder_;
};

// Turns messages into lines: each call appends one whole line, or nothing. The caller writes them.
class Encoder {
public:
    explicit Encoder(const Rules &rules) noexcept : encoder_(wl_encoder_new(rules.get())) {}

    using Json = std::optional<std::string_view>;

    Status request(std::string_view id, std::string_view method, Json params = {}) noexcept {
        return wl_encoder_request(get(), detail::span(id), detail::span(method), detail::span(params));
    }
    Status request(std::uint64_t id, std::string_view method, Json params = {}) noexcept {
        return wl_encoder_call(get(), id, detail::span(method), detail::span(params));
    }
    Status notification(std::string_view method, Json params = {}) noexcept {
        return wl_encoder_notification(get(), detail::span(method), detail::span(params));
    }
    Status response(std::string_view id, std::string_view result) noexcept {
        return wl_encoder_response(get(), detail::span(id), detail::span(result));
    }
    Status error(Json id, std::int64_t code, std::string_view message, Json data = {}) noexcept {
        return wl_encoder_error(get(), detail::span(id), code, detail::span(message), detail::span(data));
    }
    Status reply(const Fault &fault) noexcept { return wl_encoder_reply(get(), fault.get()); }
    Status raw(std::string_view line) noexcept { return wl_encoder_raw(get(), detail::span(line)); }
    Status flatten(std::string_view text) noexcept { return wl_encoder_flatten(get(), detail::span(text)); }
    Status forward(const Message &message) noexcept { return wl_encoder_forward(get(), message.get()); }
    Status with_id(const Message &message, std::string_view id) noexcept {
        return wl_encoder_with_id(get(), message.get(), detail::span(id));
    }

    // Why the last message was refused, in words.
    std::string_view refused() const noexcept {
        wl_refused refused;
        return wl_encoder_refused(encoder_.get(), &refused) == WL_STATUS_OK ? detail::view(refused.message) : "";
    }

    std::string_view bytes() const noexcept { return detail::view(wl_encoder_bytes(encoder_.get())); }
    void clear() noexcept { wl_encoder_clear(encoder_.get()); }
    std::string take() {
        std::string lines(bytes());
        clear();
        return lines;
    }

private:
    wl_encoder *get() noexcept { return encoder_.get(); }

    detail::Handle<wl_encoder, wl_encoder_free> encoder_;
};

// Why a text isn't a message of the requested kind.
struct ParseError {
    // The JSON-RPC error code: -32700 if the text isn't JSON, otherwise -32600.
    std::int64_t code;
    // The reason, without any bytes of the text.
    std::string message;
    // The id as JSON, if it could be read.
    std::optional<std::string> id;
    // The line to send as an answer, with its line feed, if the text should be answered.
    std::optional<std::string> reply;
    // The byte at which the fault was detected, starting at 1.
    std::uint64_t column = 1;
};

// Why a message can't be created.
struct EncodeError {
    Status status;
    // The reason, without any bytes of the message.
    std::string message;
};

namespace detail {

// A message that has passed the rules, as one line with its line feed.
class Owned {
public:
    // The message on one line, with a line feed at its end and no other line break.
    const std::string &to_string_delimited() const noexcept { return line_; }

protected:
    struct Part {
        std::size_t start, len;
    };

    // Parses a text, which must be a message of the requested kind.
    template <class T>
    static Result<T, ParseError> parse(std::string_view text, const Rules &rules, const char *wanted) {
        const Frame frame = Frame::parse(text, rules);
        const Item item = frame.item();
        if (const auto *fault = std::get_if<Fault>(&item)) {
            const wl_fault &found = *fault->get();
            return ParseError{found.code, std::string(fault->message()), copied(found.id), copied(found.reply), found.column};
        }
        const auto *message = std::get_if<Message>(&item);
        if (!message || !T::is_one(message->kind()))
            return ParseError{-32600, wanted, message ? copied(message->get()->id) : std::nullopt, std::nullopt, 1};
        T owned;
        Encoder encoder(rules);
        if (const Status status = encoder.forward(*message); !status)
            return ParseError{-32600, std::string(encoder.refused()), copied(message->get()->id), std::nullopt, 1};
        owned.fill(encoder.take(), rules);
        return owned;
    }

    template <class T, class Encode>
    static Result<T, EncodeError> make(const Rules &rules, Encode encode) {
        Encoder encoder(rules);
        if (const Status status = encode(encoder); !status)
            return EncodeError{status, std::string(encoder.refused().empty() ? status.text() : encoder.refused())};
        T owned;
        owned.fill(encoder.take(), rules);
        return owned;
    }

    std::optional<std::string_view> part(const std::optional<Part> &part) const noexcept {
        if (!part) return std::nullopt;
        return std::string_view(line_).substr(part->start, part->len);
    }

    void fill(std::string line, const Rules &rules) {
        line_ = std::move(line);
        const Frame frame = Frame::parse(std::string_view(line_).substr(0, line_.size() - 1), rules);
        const Item item = frame.item();
        const auto *found = std::get_if<Message>(&item);
        if (!found) return;
        const wl_message &message = *found->get();
        const auto place = [&](wl_span span) -> std::optional<Part> {
            if (!span.ptr) return std::nullopt;
            return Part{static_cast<std::size_t>(span.ptr - message.text.ptr), span.len};
        };
        method_ = found->method();
        id_ = place(message.id), params_ = place(message.params), result_ = place(message.result), error_ = place(message.error);
        if (wl_error error; wl_message_error(&message, &error) == WL_STATUS_OK) error_code_ = error.code;
    }

    std::string line_, method_;
    std::optional<Part> id_, params_, result_, error_;
    std::optional<std::int64_t> error_code_;
};

} // namespace detail

// A call that expects one response. Always valid once it exists. Ids and params are JSON.
class Request : public detail::Owned {
public:
    static Result<Request, ParseError> from_json(std::string_view text, const Rules &rules = Rules::json_rpc()) {
        return parse<Request>(text, rules, "expected a request");
    }
    static Result<Request, EncodeError> make(std::string_view id, std::string_view method, Encoder::Json params = {},
                                             const Rules &rules = Rules::json_rpc()) {
        return Owned::make<Request>(rules, [&](Encoder &encoder) { return encoder.request(id, method, params); });
    }

    std::string_view id() const noexcept { return part(id_).value_or("null"); }
    std::string_view method() const noexcept { return method_; }
    std::optional<std::string_view> params() const noexcept { return part(params_); }

private:
    friend class detail::Owned;
    Request() = default;
    static bool is_one(wl_kind kind) noexcept { return kind == WL_KIND_REQUEST; }
};

// A call that expects no response.
class Notification : public detail::Owned {
public:
    static Result<Notification, ParseError> from_json(std::string_view text, const Rules &rules = Rules::json_rpc()) {
        return parse<Notification>(text, rules, "expected a notification");
    }
    static Result<Notification, EncodeError> make(std::string_view method, Encoder::Json params = {},
                                                  const Rules &rules = Rules::json_rpc()) {
        return Owned::make<Notification>(rules, [&](Encoder &encoder) { return encoder.notification(method, params); });
    }

    std::string_view method() const noexcept { return method_; }
    std::optional<std::string_view> params() const noexcept { return part(params_); }

private:
    friend class detail::Owned;
    Notification() = default;
    static bool is_one(wl_kind kind) noexcept { return kind == WL_KIND_NOTIFICATION; }
};

// The answer to a request: a result or an error, never both.
class Response : public detail::Owned {
public:
    static Result<Response, ParseError> from_json(std::string_view text, const Rules &rules = Rules::json_rpc()) {
        return parse<Response>(text, rules, "expected a response");
    }
    static Result<Response, EncodeError> success(std::string_view id, std::string_view result,
                                                 const Rules &rules = Rules::json_rpc()) {
        return make<Response>(rules, [&](Encoder &encoder) { return encoder.response(id, result); });
    }
    static Result<Response, EncodeError> failure(Encoder::Json id, std::int64_t code, std::string_view message,
                                                 Encoder::Json data = {}, const Rules &rules = Rules::json_rpc()) {
        return make<Response>(rules, [&](Encoder &encoder) { return encoder.error(id, code, message, data); });
    }

    std::optional<std::string_view> id() const noexcept { return part(id_); }
    std::optional<std::string_view> result() const noexcept { return part(result_); }
    std::optional<std::string_view> error() const noexcept { return part(error_); }
    std::optional<std::int64_t> error_code() const noexcept { return error_code_; }

private:
    friend class detail::Owned;
    Response() = default;
    static bool is_one(wl_kind kind) noexcept { return kind == WL_KIND_RESULT || kind == WL_KIND_ERROR; }
};

// The duty to answer one request, once. It can be moved to another thread. Destroying it answers with an internal
// error.
class [[nodiscard]] Ticket {
public:
    explicit Ticket(wl_ticket *ticket) noexcept : ticket_(ticket) {}

    std::string_view id() const noexcept { return detail::view(wl_ticket_id(ticket_.get())); }
    // Whether work on the request can stop.
    bool is_cancelled() const noexcept { return wl_ticket_is_cancelled(ticket_.get()); }

    // Answers with a result, JSON on one line. Unless the status is OK, the answer is an internal error.
    Status respond(std::string_view result) && noexcept { return wl_ticket_respond(ticket_.release(), detail::span(result)); }
    Status fail(std::int64_t code, std::string_view message, Encoder::Json data = {}) && noexcept {
        return wl_ticket_fail(ticket_.release(), code, detail::span(message), detail::span(data));
    }
    // Answers with the response to another request, as a proxy does.
    Status relay(const Message &response) && noexcept { return wl_ticket_relay(ticket_.release(), response.get()); }

private:
    detail::Handle<wl_ticket, wl_ticket_free> ticket_;
};

// Sends to the other side of a connection, which keeps a T for each request. Threads can share a peer, or copy it.
template <class T>
class Peer {
public:
    explicit Peer(wl_peer *peer) : peer_(peer, wl_peer_free) {}

    // Sends a request, and returns its id. The value is returned with the response, or with the event that the request
    // is lost.
    Result<std::uint64_t, Status> call(std::string_view method, Encoder::Json params = {}, T value = {}) const {
        return keeping(std::move(value), [&](void *kept, std::uint64_t *id) {
            return wl_peer_call(peer_.get(), detail::span(method), detail::span(params), kept, id);
        });
    }
    // Sends another peer's request with an id of this connection, as a proxy does.
    Result<std::uint64_t, Status> forward_request(const Message &request, T value = {}) const {
        return keeping(std::move(value), [&](void *kept, std::uint64_t *id) {
            return wl_peer_forward_request(peer_.get(), request.get(), kept, id);
        });
    }
    Status notify(std::string_view method, Encoder::Json params = {}) const noexcept {
        return wl_peer_notify(peer_.get(), detail::span(method), detail::span(params));
    }
    // Cancels a request, and returns its value. Returns nothing if the request isn't in flight.
    std::optional<T> cancel(std::uint64_t id) const {
        void *value = nullptr;
        if (wl_peer_cancel(peer_.get(), id, &value) != WL_STATUS_OK) return std::nullopt;
        return detail::taken<T>(value);
    }
    // The time is measured by the caller's clock; see Connection::next_expired.
    Status set_deadline(std::uint64_t id, std::uint64_t milliseconds) const noexcept {
        return wl_peer_set_deadline(peer_.get(), id, milliseconds);
    }
    void close() const noexcept { wl_peer_close(peer_.get()); }
    Status abort(std::int64_t code, std::string_view message, Encoder::Json data = {}) const noexcept {
        return wl_peer_abort(peer_.get(), code, detail::span(message), detail::span(data));
    }

private:
    template <class Send>
    static Result<std::uint64_t, Status> keeping(T value, Send send) {
        auto kept = std::make_unique<T>(std::move(value));
        std::uint64_t id = 0;
        if (const Status status = send(kept.get(), &id); !status) return status;
        // Another thread may have taken it back already.
        static_cast<void>(kept.release());
        return id;
    }

    std::shared_ptr<wl_peer> peer_;
};

// The events of a connection. Views are valid until the connection is used again, except for pending and advance.
namespace event {

struct Request {
    Message message;
    Ticket ticket;
};
struct Notification {
    Message message;
};
// A response, and the value that was kept with the request.
template <class T>
struct Response {
    Message message;
    T value;
};
// The peer has cancelled one of its requests, which may not be in flight. Its ticket is already marked as cancelled.
struct Cancelled {
    Message message;
    std::string_view id;
    bool is_in_flight;
};
// No response will come to a request.
template <class T>
struct Lost {
    std::string_view id;
    T value;
    wl_lost reason;
    // The fault of the response, if that is the reason.
    std::optional<Fault> fault;
};
// A response that answers no request in flight.
struct Stray {
    Message message;
    wl_stray reason;
};
// A request that was refused and already answered.
struct Refused {
    Message message;
    wl_refusal reason;
};
// A bad line or entry, which has already been answered if it should be.
using Fault = wireline::Fault;
// An event that is newer than this header.
struct Other {};

} // namespace event

// You can ignore events: a request that you don't handle is answered when its ticket is destroyed.
template <class T>
using Event = std::variant<event::Request, event::Notification, event::Response<T>, event::Cancelled, event::Lost<T>,
                           event::Stray, event::Refused, event::Fault, event::Other>;

// The limits of a connection.
struct Limits {
    // The limits of the peer's requests in flight, of requests to the peer in flight, and of bytes that wait to be
    // written.
    std::size_t in_flight = 1024, calls = 1024, backlog = 1 << 20;
};

// A connection to a peer, without I/O: bytes in, events out, bytes out. It keeps a T for each request to the peer. One
// thread at a time may use it; other threads use tickets and peers. wireline.h explains how to write the loop around
// it.
template <class T = std::monostate>
class Connection {
public:
    // `wake` is called with `context` on any thread; see poll_wake. The context must outlive all tickets and peers.
    explicit Connection(const Rules &rules, const Limits &limits = {}, wl_wake wake = nullptr, void *context = nullptr) noexcept {
        const wl_limits set = {limits.in_flight, limits.calls, limits.backlog};
        connection_.reset(wl_connection_new(rules.get(), &set, wake, context));
    }
    Connection(Connection &&) = default;
    Connection &operator=(Connection &&) = delete;
    // Destroys the values of requests in flight. Tickets are cancelled, and peers are closed.
    ~Connection() {
        if (!connection_) return;
        finish();
        do advance(pending().size());
        while (next() || wants_write());
    }

    Peer<T> peer() const { return Peer<T>(wl_connection_peer(get())); }

    void feed(std::string_view bytes) noexcept { wl_connection_feed(get(), detail::span(bytes)); }
    // Calls `read` with a std::span<char> of the connection's buffer. Like read(2), it returns the number of bytes
    // read, 0 at the end of the stream, or -1 on failure, in which case the status is WL_STATUS_IO.
    template <class Read>
    Status read_with(Read read) noexcept {
        const wl_read call = [](void *context, std::uint8_t *buffer, std::size_t len) noexcept -> std::ptrdiff_t {
            return (*static_cast<Read *>(context))(std::span(reinterpret_cast<char *>(buffer), len));
        };
        return wl_connection_read(get(), call, &read);
    }
    void finish() noexcept { wl_connection_finish(get()); }
    bool wants_read() const noexcept { return wl_connection_wants_read(get()); }

    // The next event, or nothing until more bytes are read or, if too many bytes are pending, until some are written.
    std::optional<Event<T>> next() {
        wl_event event;
        return made(wl_connection_next(get(), &event), event);
    }
    // Cancels a request to the peer whose deadline has passed, and returns the event that it is lost.
    std::optional<Event<T>> next_expired(std::uint64_t now) {
        wl_event event;
        return made(wl_connection_next_expired(get(), now, &event), event);
    }
    std::optional<std::uint64_t> next_deadline() const noexcept {
        std::uint64_t milliseconds;
        if (!wl_connection_next_deadline(get(), &milliseconds)) return std::nullopt;
        return milliseconds;
    }
    // Keeps the message or the fault of the last event, for another thread or for later.
    std::optional<Frame> keep() const noexcept {
        wl_frame *frame = wl_connection_keep(get());
        if (!frame) return std::nullopt;
        return Frame(frame);
    }

    // The bytes to write, which stay pending until advance.
    std::string_view pending() noexcept { return detail::view(wl_connection_pending(get())); }
    void advance(std::size_t bytes) noexcept { wl_connection_advance(get(), bytes); }
    bool wants_write() const noexcept { return wl_connection_wants_write(get()); }
    // Whether there is something to do. If not, `wake` will be called once there is.
    bool poll_wake() const noexcept { return wl_connection_poll_wake(get()); }

    std::size_t in_flight() const noexcept { return wl_connection_in_flight(get()); }
    bool is_done() const noexcept { return wl_connection_is_done(get()); }

private:
    wl_connection *get() const noexcept { return connection_.get(); }

    std::optional<Event<T>> made(wl_event_kind kind, const wl_event &event) const {
        switch (kind) {
        case WL_EVENT_KIND_REQUEST: return event::Request{Message(event.message), Ticket(event.ticket)};
        case WL_EVENT_KIND_NOTIFICATION: return event::Notification{Message(event.message)};
        case WL_EVENT_KIND_RESPONSE: return event::Response<T>{Message(event.message), detail::taken<T>(event.value)};
        case WL_EVENT_KIND_CANCELLED: return event::Cancelled{Message(event.message), detail::view(event.id), event.is_in_flight};
        case WL_EVENT_KIND_LOST:
            return event::Lost<T>{detail::view(event.id), detail::taken<T>(event.value), event.lost, fault()};
        case WL_EVENT_KIND_STRAY: return event::Stray{Message(event.message), event.stray};
        case WL_EVENT_KIND_REFUSED: return event::Refused{Message(event.message), event.refusal};
        case WL_EVENT_KIND_FAULT: {
            if (const auto found = fault()) return *found;
            return event::Other{};
        }
        case WL_EVENT_KIND_OTHER: return event::Other{};
        default: return std::nullopt;
        }
    }

    std::optional<Fault> fault() const noexcept {
        wl_fault fault;
        if (wl_connection_fault(get(), &fault) != WL_STATUS_OK) return std::nullopt;
        return Fault(fault);
    }

    detail::Handle<wl_connection, wl_connection_free> connection_;
};

// The real standard output, reserved for the protocol. Stray prints go to stderr, even after it is destroyed.
class Stdout {
public:
    static Result<Stdout, Status> claim() {
        wl_stdout *claimed = nullptr;
        if (const Status status = wl_stdout_claim(&claimed); !status) return status;
        // Output that is still in C's buffer goes to stderr as well.
        std::fflush(stdout);
        return Stdout(claimed);
    }
    Stdout(Stdout &&) = default;
    Stdout &operator=(Stdout &&) = default;
    ~Stdout() {
        // Flush before the stream ends.
        if (stdout_) std::fflush(stdout);
    }

    Status write(std::string_view bytes) noexcept { return wl_stdout_write(stdout_.get(), detail::span(bytes)); }
    int fd() const noexcept { return wl_stdout_fd(stdout_.get()); }

private:
    explicit Stdout(wl_stdout *claimed) noexcept : stdout_(claimed) {}

    detail::Handle<wl_stdout, wl_stdout_free> stdout_;
};

// Writes its arguments as one line to stderr, and never to stdout.
template <class... Args>
void debug_log(const Args &...args) {
    std::ostringstream line;
    (line << ... << args) << '\n';
    const std::string text = line.str();
    std::fwrite(text.data(), 1, text.size(), stderr);
}

} // namespace wireline

#endif // WIRELINE_HPP
