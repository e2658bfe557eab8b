// What the table doesn't show: encoders that refuse, requests that are answered once by many threads, calls, a claimed
// stdout, and arguments that are NULL.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

#include "wireline.hpp"

using namespace wireline;

#define CHECK(condition)                                                                                                \
    do {                                                                                                                \
        if (!(condition)) {                                                                                             \
            std::fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition);                               \
            std::exit(1);                                                                                               \
        }                                                                                                               \
    } while (0)

namespace {

std::string request(std::size_t id) {
    return "{\"jsonrpc\":\"2.0\",\"id\":" + std::to_string(id) + ",\"method\":\"work\"}\n";
}

void encoders() {
    Encoder encoder(Rules::mcp());
    CHECK(encoder.request(1, "ping"));
    CHECK(encoder.notification("note", "{\"a\":1}"));
    CHECK(encoder.response("\"x\"", "{}"));
    CHECK(encoder.error("2", -32000, "no\nway", "[1]"));
    const std::string lines = encoder.take();
    CHECK(lines == "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"
                   "{\"jsonrpc\":\"2.0\",\"method\":\"note\",\"params\":{\"a\":1}}\n"
                   "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\n"
                   "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32000,\"message\":\"no\\nway\",\"data\":[1]}}\n");
    CHECK(encoder.notification("note", "{\"a\":\n1}") == Status(WL_STATUS_LINE_BREAK));
    CHECK(!encoder.refused().empty());
    CHECK(encoder.notification("note", "{\"a\":}") == Status(WL_STATUS_NOT_JSON));
    CHECK(encoder.notification("\xff", "{}") == Status(WL_STATUS_NOT_UTF8));
    CHECK(encoder.request("[]", "m") == Status(WL_STATUS_NOT_AN_ID));
    CHECK(encoder.response("1", "[]") == Status(WL_STATUS_RULE));
    CHECK(encoder.refused() == "\"result\" must be an object");
    CHECK(encoder.raw("{\"jsonrpc\":\"2.0\",\n\"method\":\"m\"}") == Status(WL_STATUS_LINE_BREAK));
    CHECK(encoder.bytes().empty());
    CHECK(encoder.flatten("{\"jsonrpc\":\"2.0\",\n\"method\":\"m\"}"));
    CHECK(encoder.take() == "{\"jsonrpc\":\"2.0\", \"method\":\"m\"}\n");
    CHECK(Response::failure("1", -32601, "Method not found")->error_code() == -32601);
    CHECK(Response::success("1", "nonsense").error().status == Status(WL_STATUS_NOT_JSON));
    CHECK(Request::make("7", "caf\xc3\xa9")->to_string_delimited() == "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"caf\xc3\xa9\"}\n");
}

// Several threads answer, some throw their tickets or answers away, and one sends what is owed. Each id comes out once.
void each_request_is_answered_once() {
    constexpr std::size_t count = 4000, workers = 4;
    static std::atomic<std::size_t> woken;
    Inbound owed(Rules::json_rpc(), count, [](void *) { woken++; });
    std::vector<std::vector<Ticket>> tickets(workers);
    Decoder decoder(Rules::json_rpc());
    for (std::size_t id = 0; id < count; id++) {
        decoder.feed(request(id));
        const auto item = decoder.next();
        auto admitted = owed.admit(std::get<Message>(*item));
        tickets[id % workers].push_back(std::move(std::get<Ticket>(admitted)));
        if (id == 17) {
            auto again = owed.admit(std::get<Message>(*item));
            CHECK(std::get<Answer>(again).refusal() == WL_REFUSAL_DUPLICATE);
        }
    }
    CHECK(owed.in_flight() == count);
    std::vector<std::string> sent(workers + 1);
    std::vector<std::thread> threads;
    for (std::size_t n = 0; n < workers; n++) {
        threads.emplace_back([&, n] {
            for (std::size_t at = 0; at < tickets[n].size(); at++) {
                Ticket ticket = std::move(tickets[n][at]);
                if (at % 7 == 0) continue;
                Answer answer = at % 5 == 0 ? std::move(ticket).fail(-32000, "no") : std::move(ticket).respond("\"done\"");
                if (at % 11 == 0) continue;
                sent[n] += answer.accept();
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    CHECK(woken > 0);
    while (auto answer = owed.next_dropped()) sent[workers] += answer->accept();
    CHECK(owed.in_flight() == 0 && owed.wait_idle(0));
    std::vector<int> answered(count);
    for (const std::string &lines : sent) {
        Decoder responses(Rules::json_rpc());
        responses.feed(lines);
        while (const auto item = responses.next()) answered[std::stoul(std::string(*std::get<Message>(*item).id()))]++;
    }
    for (const int times : answered) CHECK(times == 1);
}

void ends_and_exceptions() {
    Inbound owed(Rules::mcp(), 2);
    Decoder decoder(Rules::mcp());
    decoder.feed(request(1) + request(2) + request(3) + "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":1}\n");
    std::vector<Ticket> tickets;
    for (int n = 0; n < 2; n++) tickets.push_back(std::get<Ticket>(owed.admit(std::get<Message>(*decoder.next()))));
    CHECK(std::get<Answer>(owed.admit(std::get<Message>(*decoder.next()))).refusal() == WL_REFUSAL_TOO_MANY);
    const auto fault = decoder.next();
    CHECK(owed.reply(std::get<Fault>(*fault))->accept() == *std::get<Fault>(*fault).reply());
    CHECK(owed.cancel("1.0") && tickets[0].is_cancelled() && !owed.cancel("7"));
    CHECK(std::move(tickets[0]).respond("{}").accept().empty());
    Answer bad = std::move(tickets[1]).respond("[]");
    CHECK(bad.status() == Status(WL_STATUS_RULE) && bad.bytes().find("Internal error") != std::string_view::npos);
    owed.close();
    auto rest = owed.answer_rest(-32000, "the end");
    CHECK(rest->accept().find("the end") != std::string_view::npos && bad.accept().empty());
    CHECK(owed.in_flight() == 0);
}

void calls() {
    Outbound<std::string> calls(2);
    const auto id = calls.issue("first");
    CHECK(*id == 1 && calls.track("\"a\"", "second") && calls.issue("third").error() == Status(WL_STATUS_FULL));
    CHECK(calls.track("\"\\u0061\"", "again") == Status(WL_STATUS_DUPLICATE));
    Decoder decoder(Rules::json_rpc());
    decoder.feed("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":5}\n");
    const auto item = decoder.next();
    const auto &response = std::get<Message>(*item);
    CHECK(*calls.settle(response) == "first");
    CHECK(calls.settle(response).error() == Status(WL_STATUS_STRAY_REPEATED));
    CHECK(!calls.withdraw("5") && calls.in_flight() == 1);
    std::string left;
    CHECK(calls.drain([&](std::string_view id, std::string value) { (left += id) += value; }) == 1);
    CHECK(left == "\"a\"second" && calls.in_flight() == 0);
    CHECK(calls.track("5", "for the destructor"));
}

void nothing_is_refused_or_ignored() {
    wl_message message = {};
    wl_fault fault = {};
    std::size_t len = 0;
    void *value = nullptr;
    const wl_span absent = {nullptr, 0}, impossible = {nullptr, 5};
    CHECK(!wl_decoder_new(nullptr) && !wl_encoder_new(nullptr) && !wl_inbound_new(nullptr, 1, nullptr, nullptr));
    wl_decoder_free(nullptr), wl_encoder_free(nullptr), wl_frame_free(nullptr), wl_inbound_free(nullptr);
    wl_outbound_free(nullptr), wl_ticket_free(nullptr), wl_answer_free(nullptr), wl_stdout_free(nullptr);
    CHECK(wl_decoder_feed(nullptr, absent) == WL_STATUS_INVALID_ARGUMENT);
    CHECK(wl_decoder_next(nullptr, &message) == WL_KIND_INVALID_ARGUMENT);
    CHECK(wl_decoder_fault(nullptr, &fault) == WL_STATUS_INVALID_ARGUMENT && !wl_decoder_keep(nullptr));
    wl_decoder *decoder = wl_decoder_new(Rules::mcp().get());
    CHECK(wl_decoder_feed(decoder, impossible) == WL_STATUS_INVALID_ARGUMENT && wl_decoder_feed(decoder, absent) == WL_STATUS_OK);
    CHECK(wl_decoder_next(decoder, nullptr) == WL_KIND_INVALID_ARGUMENT && wl_decoder_commit(decoder, 0) == WL_STATUS_INVALID_ARGUMENT);
    CHECK(wl_decoder_reserve(decoder, SIZE_MAX, &len) && wl_decoder_commit(decoder, len + 1) == WL_STATUS_INVALID_ARGUMENT);
    wl_decoder_free(decoder);
    wl_encoder *encoder = wl_encoder_new(Rules::mcp().get());
    CHECK(wl_encoder_forward(encoder, &message) == WL_STATUS_INVALID_ARGUMENT && wl_encoder_reply(encoder, &fault) == WL_STATUS_INVALID_ARGUMENT);
    CHECK(wl_encoder_request(encoder, absent, absent, absent) == WL_STATUS_INVALID_ARGUMENT);
    wl_encoder_free(encoder);
    CHECK(!wl_ticket_respond(nullptr, absent) && !wl_answer_accept(nullptr).ptr);
    wl_outbound *calls = wl_outbound_new(1);
    CHECK(wl_outbound_settle(calls, &message, &value) == WL_STATUS_INVALID_ARGUMENT);
    wl_outbound_free(calls);
    CHECK(std::string_view(wl_status_text(99)) == "unknown status");
}

// Prints go to stderr once stdout is claimed. The caller looks at what arrives where.
void stdout_is_claimed() {
    std::puts("before the claim");
    auto out = Stdout::claim();
    CHECK(out);
    CHECK(Stdout::claim().error() == Status(WL_STATUS_ALREADY_CLAIMED));
    std::puts("a stray print");
    debug_log("a ", "log line");
    wl_stdout *none = nullptr;
    CHECK(wl_stdout_write(none, wl_span{nullptr, 0}) == WL_STATUS_INVALID_ARGUMENT);
    CHECK(out->write(""));
    CHECK(out->write("{\"jsonrpc\":\"2.0\",\"method\":\"claimed\"}\n"));
    CHECK(write(out->fd(), "\n", 1) == 1);
}

} // namespace

int main() {
    encoders();
    each_request_is_answered_once();
    ends_and_exceptions();
    calls();
    nothing_is_refused_or_ignored();
    stdout_is_claimed();
    std::puts("after the claim");
}
