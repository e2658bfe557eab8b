// Tests what the table doesn't cover: encoders that refuse, connections whose requests are answered once by many
// threads, calls, deadlines, a proxy, a claimed stdout, and NULL arguments.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
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

// Moves all pending bytes of a connection into another one.
template <class From, class To>
void move_bytes(Connection<From> &from, Connection<To> &to) {
    while (!from.pending().empty()) {
        to.feed(from.pending());
        from.advance(from.pending().size());
    }
}

// Takes all pending bytes of a connection.
template <class T>
std::string written(Connection<T> &connection) {
    std::string bytes(connection.pending());
    connection.advance(bytes.size());
    return bytes;
}

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) found++;
    return found;
}

// Several threads answer, and some destroy their tickets. Each id is answered once, and the connection's thread is
// woken.
void each_request_is_answered_once() {
    constexpr std::size_t requests = 4000, workers = 4;
    static std::atomic<std::size_t> woken;
    Connection<> connection(Rules::json_rpc(), {.in_flight = requests, .calls = 0}, [](void *) { woken++; });
    std::vector<std::vector<event::Request>> taken(workers);
    std::vector<Frame> frames;
    for (std::size_t id = 0; id < requests; id++) {
        connection.feed(request(id));
        auto event = connection.next();
        taken[id % workers].push_back(std::move(std::get<event::Request>(*event)));
        if (id % 100 == 0) frames.push_back(std::move(*connection.keep()));
        if (id != 17) continue;
        connection.feed(request(id));
        event = connection.next();
        CHECK(std::get<event::Refused>(*event).reason == WL_REFUSAL_DUPLICATE);
    }
    CHECK(connection.in_flight() == requests && std::get<Message>(frames[1].item()).id() == "100");
    CHECK(connection.wants_write() && connection.pending().find("already in use") != std::string_view::npos);
    connection.advance(connection.pending().size());
    connection.finish();
    CHECK(!connection.poll_wake() && woken == 0 && !connection.is_done());
    std::vector<std::thread> threads;
    for (auto &mine : taken) {
        threads.emplace_back([&mine] {
            for (std::size_t at = 0; at < mine.size(); at++) {
                Ticket ticket = std::move(mine[at].ticket);
                if (at % 7 == 0) continue;
                CHECK(at % 5 == 0 ? std::move(ticket).fail(-32000, "no") : std::move(ticket).respond("\"done\""));
            }
        });
    }
    std::string sent;
    while (!connection.is_done()) {
        if (!connection.poll_wake()) {
            std::this_thread::yield();
            continue;
        }
        // A few bytes at a time.
        const std::string_view bytes = connection.pending().substr(0, 1000);
        sent += bytes;
        connection.advance(bytes.size());
    }
    for (std::thread &thread : threads) thread.join();
    CHECK(woken > 0 && connection.in_flight() == 0);
    std::vector<int> answered(requests);
    Decoder responses(Rules::json_rpc());
    responses.feed(sent);
    while (const auto item = responses.next()) answered[std::stoul(std::string(*std::get<Message>(*item).id()))]++;
    for (const int times : answered) CHECK(times == 1);
}

void cancelled_closed_and_aborted() {
    Connection<> connection(Rules::mcp(), {.in_flight = 3});
    connection.feed(request(1) + request(2) + request(3) + request(4) + "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":1}\n" +
                    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1.0}}\n" +
                    "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}");
    connection.finish();
    std::vector<Ticket> tickets;
    for (int n = 0; n < 3; n++) tickets.push_back(std::move(std::get<event::Request>(*connection.next()).ticket));
    CHECK(tickets[1].id() == "2" && !tickets[0].is_cancelled());
    CHECK(std::get<event::Refused>(*connection.next()).reason == WL_REFUSAL_TOO_MANY);
    auto event = connection.next();
    CHECK(std::get<event::Fault>(*event).id() == "9" && std::get<event::Fault>(*event).kind() == WL_FAULT_KIND_INVALID_METHOD);
    event = connection.next();
    CHECK(std::get<event::Cancelled>(*event).id == "1.0" && std::get<event::Cancelled>(*event).is_in_flight);
    CHECK(std::get<event::Cancelled>(*event).message.params() == "{\"requestId\":1.0}");
    CHECK(tickets[0].is_cancelled() && !tickets[1].is_cancelled());
    event = connection.next();
    CHECK(std::get<event::Notification>(*event).message.method() == "note");
    event = connection.next();
    CHECK(std::get<event::Stray>(*event).reason == WL_STRAY_UNKNOWN && !connection.next() && !connection.wants_read());
    std::string lines = written(connection);
    CHECK(count(lines, "\n") == 2 && count(lines, "\"id\":4,") == 1 && count(lines, "\"id\":9,") == 1);
    // Under MCP rules, a cancelled request isn't answered. A result that isn't permitted is replaced.
    CHECK(std::move(tickets[0]).respond("{}"));
    CHECK(!connection.wants_write());
    CHECK(std::move(tickets[1]).respond("[]") == Status(WL_STATUS_RULE));
    CHECK(count(written(connection), "\"id\":2,\"error\":{\"code\":-32603,\"message\":\"Internal error\"}") == 1);
    connection.peer().close();
    CHECK(connection.peer().abort(-32000, "\xff") == Status(WL_STATUS_NOT_UTF8));
    CHECK(connection.peer().abort(-32000, "the end", "{\"a\":1}"));
    CHECK(count(written(connection), "\"id\":3,\"error\":{\"code\":-32000,\"message\":\"the end\",\"data\":{\"a\":1}}") == 1);
    CHECK(tickets[2].is_cancelled() && connection.is_done());
    CHECK(std::move(tickets[2]).respond("{}"));
    CHECK(!connection.wants_write());
}

void batches() {
    Connection<> connection(Rules::json_rpc());
    const std::string one = request(1), two = request(2);
    connection.feed("[" + one.substr(0, one.size() - 1) + ",5," + two.substr(0, two.size() - 1) + "]\n");
    auto first = connection.next(), bad = connection.next(), second = connection.next();
    CHECK(std::holds_alternative<event::Fault>(*bad) && !connection.next() && !connection.wants_write());
    CHECK(std::move(std::get<event::Request>(*second).ticket).respond("2"));
    CHECK(!connection.wants_write());
    first.reset();
    const std::string lines = written(connection);
    CHECK(count(lines, "\n") == 1 && lines[0] == '[' && count(lines, "\"jsonrpc\"") == 3 && count(lines, "Internal error") == 1);
}

void calls() {
    // Counts how many values are alive.
    const auto alive = std::make_shared<int>(0);
    struct Value {
        std::string name;
        std::shared_ptr<int> alive;
    };
    Connection<> server(Rules::mcp());
    {
        Connection<Value> client(Rules::mcp(), {.calls = 4});
        const Peer<Value> peer = client.peer();
        for (std::uint64_t n = 1; n <= 4; n++) {
            const auto id = peer.call("m", "{\"a\":1}", {std::to_string(n), alive});
            CHECK(id && *id == n);
        }
        CHECK(peer.call("m", "{}", {"full", alive}).error() == Status(WL_STATUS_FULL));
        CHECK(peer.call("m", "{", {"bad", alive}).error() == Status(WL_STATUS_NOT_JSON));
        CHECK(peer.call("\xff", {}, {"bad", alive}).error() == Status(WL_STATUS_NOT_UTF8));
        CHECK(peer.notify("note", "{}") && peer.notify("note", "{}x") == Status(WL_STATUS_NOT_JSON));
        CHECK(alive.use_count() == 5);
        move_bytes(client, server);
        std::vector<Ticket> tickets;
        while (auto event = server.next())
            if (auto *request = std::get_if<event::Request>(&*event)) tickets.push_back(std::move(request->ticket));
        CHECK(tickets.size() == 4);
        // One call is answered, one is cancelled, one expires, and one is lost at the end.
        CHECK(std::move(tickets[0]).respond("{\"x\":1}"));
        CHECK(peer.cancel(2)->name == "2" && !peer.cancel(2) && !peer.cancel(77));
        CHECK(!client.next_deadline() && peer.set_deadline(3, 5000) && !peer.set_deadline(2, 1));
        CHECK(client.next_deadline() == 5000 && !client.next_expired(4999));
        {
            const auto event = client.next_expired(5000);
            const auto &lost = std::get<event::Lost<Value>>(*event);
            CHECK(lost.id == "3" && lost.value.name == "3" && lost.reason == WL_LOST_EXPIRED && !lost.fault);
        }
        move_bytes(client, server);
        const auto cancelled = server.next(), expired = server.next();
        CHECK(std::get<event::Cancelled>(*cancelled).is_in_flight && std::holds_alternative<event::Cancelled>(*expired));
        CHECK(tickets[1].is_cancelled() && tickets[2].is_cancelled());
        move_bytes(server, client);
        {
            const auto event = client.next();
            const auto &response = std::get<event::Response<Value>>(*event);
            CHECK(response.value.name == "1" && response.message.result() == "{\"x\":1}" && response.message.id() == "1");
        }
        CHECK(alive.use_count() == 2 && !client.next());
        // A faulty response also ends the call.
        const auto faulty = peer.call("m", {}, {"5", alive});
        client.feed("{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":7}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
        {
            const auto event = client.next();
            const auto &lost = std::get<event::Lost<Value>>(*event);
            CHECK(faulty && lost.value.name == "5" && lost.reason == WL_LOST_FAULTY);
            CHECK(lost.fault && lost.fault->kind() == WL_FAULT_KIND_INVALID_RESULT);
        }
        CHECK(std::get<event::Stray>(*client.next()).reason == WL_STRAY_REPEATED);
        CHECK(peer.call("m", "[1]", {"bad", alive}).error() == Status(WL_STATUS_RULE));
        client.finish();
        {
            const auto event = client.next();
            CHECK(std::get<event::Lost<Value>>(*event).reason == WL_LOST_ENDED && alive.use_count() == 2);
        }
        CHECK(peer.call("m", {}, {"late", alive}).error() == Status(WL_STATUS_CLOSED) && !client.next());
    }
    CHECK(alive.use_count() == 1);
    // The destructor destroys the values of requests in flight. Afterwards, the peer fails.
    std::optional<Connection<Value>> client(Rules::mcp());
    const Peer<Value> peer = client->peer();
    CHECK(peer.call("m", {}, {"for the destructor", alive}) && alive.use_count() == 2);
    client.reset();
    CHECK(alive.use_count() == 1 && peer.notify("m") == Status(WL_STATUS_CLOSED));
}

// Requests and responses pass through a proxy, each with another id.
void proxy() {
    Connection<std::string> client(Rules::json_rpc());
    Connection<> front(Rules::json_rpc()), server(Rules::json_rpc());
    Connection<std::optional<Ticket>> back(Rules::json_rpc());
    for (const char *method : {"first", "second", "third"}) CHECK(client.peer().call(method, "[ 1 ]", method));
    move_bytes(client, front);
    // The second request is answered here, so that the ids differ.
    while (auto event = front.next()) {
        auto &request = std::get<event::Request>(*event);
        if (request.message.method() == "second") CHECK(std::move(request.ticket).fail(1, "not here"));
        else CHECK(back.peer().forward_request(request.message, std::move(request.ticket)));
    }
    move_bytes(back, server);
    while (auto event = server.next()) {
        auto &request = std::get<event::Request>(*event);
        CHECK(request.message.params() == "[ 1 ]");
        if (request.message.method() == "first") CHECK(std::move(request.ticket).respond("[1, 2]"));
    }
    CHECK(server.in_flight() == 0);
    move_bytes(server, back);
    while (auto event = back.next()) {
        auto &response = std::get<event::Response<std::optional<Ticket>>>(*event);
        CHECK(std::move(*response.value).relay(response.message));
    }
    move_bytes(front, client);
    std::string found;
    while (auto event = client.next()) {
        const auto &response = std::get<event::Response<std::string>>(*event);
        found += response.value + " " + std::string(response.message.result().value_or("-")) + ";";
    }
    CHECK(found == "second -;first [1, 2];third -;");
}

void reading() {
    Connection<> connection(Rules::json_rpc(), {.backlog = 100});
    const std::string input = request(1) + request(2) + request(3);
    std::size_t at = 0;
    const auto some = [&](std::span<char> room) -> std::ptrdiff_t {
        const std::size_t len = std::min({room.size(), input.size() - at, std::size_t{50}});
        std::copy_n(input.data() + at, len, room.data());
        at += len;
        return static_cast<std::ptrdiff_t>(len);
    };
    CHECK(connection.read_with([](std::span<char>) { return -1; }) == Status(WL_STATUS_IO));
    CHECK(connection.read_with([](std::span<char> room) { return room.size() + 1; }) == Status(WL_STATUS_INVALID_ARGUMENT));
    std::string output;
    while (!connection.is_done()) {
        if (connection.wants_read()) CHECK(connection.read_with(some));
        while (auto event = connection.next()) CHECK(std::move(std::get<event::Request>(*event).ticket).respond("\"a long result\""));
        // Nothing more is read from a peer that doesn't read.
        CHECK(connection.wants_read() || at == input.size() || connection.pending().size() > 100);
        const std::string_view bytes = connection.pending();
        output += bytes.substr(0, 30);
        connection.advance(std::min<std::size_t>(bytes.size(), 30));
    }
    CHECK(count(output, "a long result") == 3 && count(output, "\n") == 3);
}

void nothing_is_refused_or_ignored() {
    wl_message message = {};
    wl_fault fault = {};
    wl_event event = {};
    std::size_t len = 0;
    std::uint64_t number = 0;
    const wl_span absent = {nullptr, 0}, impossible = {nullptr, 5};
    CHECK(!wl_decoder_new(nullptr) && !wl_encoder_new(nullptr) && !wl_connection_new(nullptr, nullptr, nullptr, nullptr));
    wl_decoder_free(nullptr), wl_encoder_free(nullptr), wl_frame_free(nullptr), wl_connection_free(nullptr);
    wl_peer_free(nullptr), wl_ticket_free(nullptr), wl_stdout_free(nullptr);
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

    CHECK(wl_limits_init(nullptr) == WL_STATUS_INVALID_ARGUMENT && !wl_connection_peer(nullptr) && !wl_connection_keep(nullptr));
    CHECK(wl_connection_feed(nullptr, absent) == WL_STATUS_INVALID_ARGUMENT && wl_connection_finish(nullptr) == WL_STATUS_INVALID_ARGUMENT);
    CHECK(wl_connection_read(nullptr, nullptr, nullptr) == WL_STATUS_INVALID_ARGUMENT);
    CHECK(wl_connection_next(nullptr, &event) == WL_EVENT_KIND_INVALID_ARGUMENT);
    CHECK(wl_connection_next_expired(nullptr, 0, &event) == WL_EVENT_KIND_INVALID_ARGUMENT);
    CHECK(!wl_connection_next_deadline(nullptr, &number) && wl_connection_fault(nullptr, &fault) == WL_STATUS_INVALID_ARGUMENT);
    CHECK(!wl_connection_pending(nullptr).ptr && wl_connection_advance(nullptr, 1) == WL_STATUS_INVALID_ARGUMENT);
    CHECK(!wl_connection_wants_read(nullptr) && !wl_connection_wants_write(nullptr) && !wl_connection_is_done(nullptr));
    CHECK(!wl_connection_poll_wake(nullptr) && wl_connection_in_flight(nullptr) == 0);
    CHECK(wl_ticket_respond(nullptr, absent) == WL_STATUS_INVALID_ARGUMENT && !wl_ticket_id(nullptr).ptr);
    CHECK(wl_ticket_fail(nullptr, 1, absent, absent) == WL_STATUS_INVALID_ARGUMENT && !wl_ticket_is_cancelled(nullptr));
    CHECK(wl_ticket_relay(nullptr, nullptr) == WL_STATUS_INVALID_ARGUMENT);
    CHECK(wl_peer_call(nullptr, absent, absent, nullptr, nullptr) == WL_STATUS_INVALID_ARGUMENT);
    CHECK(wl_peer_notify(nullptr, absent, absent) == WL_STATUS_INVALID_ARGUMENT && wl_peer_cancel(nullptr, 1, nullptr) == WL_STATUS_INVALID_ARGUMENT);
    CHECK(wl_peer_set_deadline(nullptr, 1, 1) == WL_STATUS_INVALID_ARGUMENT);
    CHECK(wl_peer_abort(nullptr, 1, absent, absent) == WL_STATUS_INVALID_ARGUMENT);
    wl_peer_close(nullptr);

    wl_connection *connection = wl_connection_new(Rules::json_rpc().get(), nullptr, nullptr, nullptr);
    wl_peer *peer = wl_connection_peer(connection);
    CHECK(wl_connection_feed(connection, impossible) == WL_STATUS_INVALID_ARGUMENT && wl_connection_feed(connection, absent) == WL_STATUS_OK);
    CHECK(wl_connection_read(connection, nullptr, nullptr) == WL_STATUS_INVALID_ARGUMENT);
    CHECK(wl_connection_next(connection, nullptr) == WL_EVENT_KIND_INVALID_ARGUMENT);
    CHECK(wl_peer_call(peer, absent, absent, nullptr, nullptr) == WL_STATUS_INVALID_ARGUMENT);
    CHECK(wl_peer_call(peer, WL_TEXT("m"), absent, nullptr, nullptr) == WL_STATUS_OK && wl_peer_cancel(peer, 1, nullptr) == WL_STATUS_OK);
    CHECK(wl_peer_forward_request(peer, &message, nullptr, nullptr) == WL_STATUS_INVALID_ARGUMENT);
    const std::string line = request(1);
    wl_connection_feed(connection, wl_text(line.c_str()));
    CHECK(wl_connection_next(connection, &event) == WL_EVENT_KIND_REQUEST && wl_connection_fault(connection, &fault) == WL_STATUS_NOT_FOUND);
    // Only a response can be relayed. The ticket has answered nevertheless.
    CHECK(wl_ticket_relay(event.ticket, &event.message) == WL_STATUS_INVALID_ARGUMENT && wl_connection_in_flight(connection) == 0);
    wl_connection_free(connection);
    CHECK(wl_peer_call(peer, WL_TEXT("m"), absent, nullptr, nullptr) == WL_STATUS_CLOSED);
    wl_peer_free(peer);
    CHECK(std::string_view(wl_status_text(99)) == "unknown status");
}

// Prints go to stderr once stdout is claimed. The caller of this program checks both streams.
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
    cancelled_closed_and_aborted();
    batches();
    calls();
    proxy();
    reading();
    nothing_is_refused_or_ignored();
    stdout_is_claimed();
    std::puts("after the claim");
}
