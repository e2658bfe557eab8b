// wireline for C++20: the functions of wireline.h as types that free what they own.
//
// Header-only, without exceptions or RTTI. Errors are values. A std::string_view from a decoder's message points into the
// decoder's buffer and is valid until the decoder is used again. Frame, Request, Notification and Response own their
// memory: views into one are valid as long as it lives. wireline.h documents each function and which threads may use what.

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
#include <vector>

#include "wireline.h"

namespace wireline {

// A value or an error. As with std::expected, accessing the one that isn't there is undefined behaviour.
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
    // An empty view may have no pointer, and is still not absent.
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

// What is accepted and sent: a dialect and limits.
class Rules {
public:
    static Rules json_rpc() noexcept { return Rules(WL_DIALECT_JSON_RPC); }
    static Rules mcp() noexcept { return Rules(WL_DIALECT_MCP); }
    static Rules acp() noexcept { return Rules(WL_DIALECT_ACP); }

    Rules max_line_len(std::size_t bytes) const noexcept { return with([=](wl_rules &rules) { rules.max_line_len = bytes; }); }
    Rules max_id_len(std::size_t bytes) const noexcept { return with([=](wl_rules &rules) { rules.max_id_len = bytes; }); }
    Rules max_depth(std::size_t depth) const noexcept { return with([=](wl_rules &rules) { rules.max_depth = depth; }); }
    Rules max_batch_len(std::size_t entries) const noexcept { return with([=](wl_rules &rules) { rules.max_batch_len = entries; }); }
    Rules batches(bool allowed) const noexcept { return with([=](wl_rules &rules) { rules.batches = allowed; }); }
    Rules null_params(bool allowed) const noexcept { return with([=](wl_rules &rules) { rules.null_params = allowed; }); }
    Rules skip_blank_lines(bool skip) const noexcept { return with([=](wl_rules &rules) { rules.skip_blank_lines = skip; }); }
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

// A message in a decoder's buffer or in a frame. The views point into its line. All are JSON, except for the method.
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

// What is wrong with a line or an entry of a batch. Its texts contain no bytes of the line.
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
    // The line to send as an answer, with its line feed, if there should be one.
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

// A message, a batch or a fault that outlives the decoder's buffer: for other threads, or for later.
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

// Turns a stream of bytes, however it is split, into messages, batches and faults.
class Decoder {
public:
    explicit Decoder(const Rules &rules) noexcept : decoder_(wl_decoder_new(rules.get())) {}

    void feed(std::string_view bytes) noexcept { wl_decoder_feed(decoder_.get(), detail::span(bytes)); }

    // Room in the decoder's own buffer for read(2), to be followed by commit.
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

    // The line that next() returned last, as a frame of its own.
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

// Turns messages into lines: each call appends one whole line, or nothing. Writing them is the caller's business.
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

// Why a text isn't a message of the wanted kind.
struct ParseError {
    // The JSON-RPC error code: -32700 if it isn't JSON, otherwise -32600.
    std::int64_t code;
    // The reason, without a byte of the text.
    std::string message;
    // The id as JSON, if it could be read.
    std::optional<std::string> id;
    // The line to answer with, including its line feed, if there should be one.
    std::optional<std::string> reply;
    // The byte at which the mistake is, starting at 1.
    std::uint64_t column = 1;
};

// Why a message can't be made.
struct EncodeError {
    Status status;
    // The reason, without a byte of the message.
    std::string message;
};

namespace detail {

// A message that has passed the rules, as one line with its line feed.
class Owned {
public:
    // The message on one line, with its line feed, and no other line break.
    const std::string &to_string_delimited() const noexcept { return line_; }

protected:
    struct Part {
        std::size_t start, len;
    };

    // Parses a text, which must be a message of the wanted kind.
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

// A call that expects one response. One that exists is valid. Ids and params are JSON.
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

// A line to send. Accepting it settles its request; if it is destroyed before that, the request still needs an answer.
class [[nodiscard]] Answer {
public:
    explicit Answer(wl_answer *answer) noexcept : answer_(answer) {}

    // Settles the request. The caller must write what this returns.
    std::string_view accept() noexcept { return detail::view(wl_answer_accept(answer_.get())); }
    std::string_view bytes() const noexcept { return detail::view(wl_answer_bytes(answer_.get())); }
    // WL_STATUS_OK, or why this is an internal error instead of what was given.
    Status status() const noexcept { return wl_answer_status(answer_.get()); }
    wl_refusal refusal() const noexcept { return wl_answer_refusal(answer_.get()); }

    wl_answer *release() noexcept { return answer_.release(); }

private:
    detail::Handle<wl_answer, wl_answer_free> answer_;
};

// The duty to answer one request. If it is destroyed, the request still needs an answer: see Inbound::next_dropped.
class [[nodiscard]] Ticket {
public:
    explicit Ticket(wl_ticket *ticket) noexcept : ticket_(ticket) {}

    std::string_view id() const noexcept { return detail::view(wl_ticket_id(ticket_.get())); }
    bool is_cancelled() const noexcept { return wl_ticket_is_cancelled(ticket_.get()); }

    // The result is JSON on one line.
    Answer respond(std::string_view result) && noexcept {
        return Answer(wl_ticket_respond(ticket_.release(), detail::span(result)));
    }
    Answer fail(std::int64_t code, std::string_view message, Encoder::Json data = {}) && noexcept {
        return Answer(wl_ticket_fail(ticket_.release(), code, detail::span(message), detail::span(data)));
    }

private:
    detail::Handle<wl_ticket, wl_ticket_free> ticket_;
};

// The requests that were received and not answered yet. Threads may share it.
class Inbound {
public:
    Inbound(const Rules &rules, std::size_t limit, wl_wake wake = nullptr, void *context = nullptr) noexcept
        : inbound_(wl_inbound_new(rules.get(), limit, wake, context)) {}

    // A ticket, or the answer that says why the request was refused. Neither if the message isn't a request.
    std::variant<std::monostate, Ticket, Answer> admit(const Message &request) const {
        wl_answer *refusal = nullptr;
        if (wl_ticket *ticket = wl_inbound_admit(inbound_.get(), request.get(), &refusal)) return Ticket(ticket);
        if (refusal) return Answer(refusal);
        return std::monostate();
    }
    std::optional<Answer> reply(const Fault &fault) const { return some(wl_inbound_reply(inbound_.get(), fault.get())); }
    // The answers to a batch, in one array. Nothing if there are none.
    std::optional<Answer> batch(std::vector<Answer> answers) const {
        std::vector<wl_answer *> handles;
        for (Answer &answer : answers) handles.push_back(answer.release());
        return some(wl_inbound_batch(inbound_.get(), handles.data(), handles.size()));
    }
    // An error to send for a ticket or an answer that was destroyed.
    std::optional<Answer> next_dropped() const { return some(wl_inbound_next_dropped(inbound_.get())); }
    bool cancel(std::string_view id) const noexcept { return wl_inbound_cancel(inbound_.get(), detail::span(id)); }
    std::size_t in_flight() const noexcept { return wl_inbound_in_flight(inbound_.get()); }
    void close() const noexcept { wl_inbound_close(inbound_.get()); }
    bool wait_idle(std::uint64_t milliseconds) const noexcept { return wl_inbound_wait_idle(inbound_.get(), milliseconds); }
    std::optional<Answer> answer_rest(std::int64_t code, std::string_view message) const {
        return some(wl_inbound_answer_rest(inbound_.get(), code, detail::span(message)));
    }

private:
    static std::optional<Answer> some(wl_answer *answer) {
        if (!answer) return std::nullopt;
        return Answer(answer);
    }

    detail::Handle<wl_inbound, wl_inbound_free> inbound_;
};

// The requests that were sent and not answered yet, each with a value. Threads may share it.
template <class T>
class Outbound {
public:
    explicit Outbound(std::size_t limit) noexcept : outbound_(wl_outbound_new(limit)) {}
    ~Outbound() {
        drain([](std::string_view, T) {});
    }
    Outbound(const Outbound &) = delete;
    Outbound &operator=(const Outbound &) = delete;

    // An id for a request.
    Result<std::uint64_t, Status> issue(T value) {
        auto kept = std::make_unique<T>(std::move(value));
        std::uint64_t id;
        if (const Status status = wl_outbound_issue(outbound_.get(), kept.get(), &id); !status) return status;
        kept.release();
        return id;
    }
    Status track(std::string_view id, T value) {
        auto kept = std::make_unique<T>(std::move(value));
        const Status status = wl_outbound_track(outbound_.get(), detail::span(id), kept.get());
        if (status) kept.release();
        return status;
    }
    Result<T, Status> settle(const Message &response) {
        void *value = nullptr;
        if (const Status status = wl_outbound_settle(outbound_.get(), response.get(), &value); !status) return status;
        return taken(value);
    }
    std::optional<T> withdraw(std::string_view id) {
        void *value = nullptr;
        if (wl_outbound_withdraw(outbound_.get(), detail::span(id), &value) != WL_STATUS_OK) return std::nullopt;
        return taken(value);
    }
    std::size_t in_flight() const noexcept { return wl_outbound_in_flight(outbound_.get()); }

    // Calls `each` with the id and the value of each request that nobody will answer, the oldest first.
    template <class Each>
    std::size_t drain(Each each) {
        return wl_outbound_drain(
            outbound_.get(),
            [](void *context, wl_span id, void *value) { (*static_cast<Each *>(context))(detail::view(id), taken(value)); },
            &each);
    }

private:
    static T taken(void *value) {
        const std::unique_ptr<T> kept(static_cast<T *>(value));
        return std::move(*kept);
    }

    detail::Handle<wl_outbound, wl_outbound_free> outbound_;
};

// The real standard output, reserved for the protocol. Stray prints go to stderr, even after it is destroyed.
class Stdout {
public:
    static Result<Stdout, Status> claim() {
        wl_stdout *claimed = nullptr;
        if (const Status status = wl_stdout_claim(&claimed); !status) return status;
        // What was printed before goes to stderr as well.
        std::fflush(stdout);
        return Stdout(claimed);
    }
    Stdout(Stdout &&) = default;
    Stdout &operator=(Stdout &&) = default;
    ~Stdout() {
        // Not later than the end of the session.
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
