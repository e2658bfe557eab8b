// A Model Context Protocol server on stdin and stdout with two tools, `echo` and `add`: examples/mcp_server.rs in C++.
//
//     cmake -S c -B target/c && cmake --build target/c
//     target/c/server --rules mcp
//
// It supports clients that start with an `initialize` handshake (revisions 2024-11-05 to 2025-11-25) and clients that
// name the revision in each request (2026-07-28). Tools are called by several threads, and answered in any order.

#include <array>
#include <cerrno>
#include <climits>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <fcntl.h>
#include <limits>
#include <mutex>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "wireline.hpp"
#include "wireline_nlohmann.hpp"

using nlohmann::json;

namespace {

constexpr const char *help = "A Model Context Protocol server on stdin and stdout\n"
                             "\n"
                             "Usage: server [--rules RULES]\n"
                             "\n"
                             "Options:\n"
                             "      --rules RULES  The rules for messages: mcp or json-rpc [default: mcp]\n"
                             "  -h, --help         Print help\n";

constexpr std::size_t threads = 4, longest_queue = 256;

// Revisions that start with an `initialize` handshake, the oldest first.
constexpr std::array<std::string_view, 4> handshake = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
// The revision without a handshake: each request names its version in `_meta`.
constexpr std::string_view stateless = "2026-07-28";

// The error with which a request is answered instead of a result.
struct RpcError {
    std::int64_t code;
    std::string message;
    std::optional<json> data = {};
};

RpcError invalid_params(std::string message) { return {-32602, std::move(message)}; }

using Outcome = wireline::Result<json, RpcError>;

const json *member(const json *value, std::string_view name) {
    if (!value || !value->is_object()) return nullptr;
    const auto found = value->find(name);
    return found == value->end() ? nullptr : &*found;
}

const std::string *string_member(const json *value, std::string_view name) {
    const json *found = member(value, name);
    return found ? found->get_ptr<const json::string_t *>() : nullptr;
}

json capabilities() { return {{"tools", json::object()}}; }

json server_info() { return {{"name", "wireline-example"}, {"version", wl_version()}}; }

json tools() {
    return {
        {{"name", "echo"},
         {"description", "Returns the given text"},
         {"inputSchema",
          {{"type", "object"},
           {"properties", {{"text", {{"type", "string"}, {"description", "The text to return"}}}}},
           {"required", {"text"}}}}},
        {{"name", "add"},
         {"description", "Adds two numbers"},
         {"inputSchema",
          {{"type", "object"},
           {"properties", {{"a", {{"type", "number"}}}, {"b", {{"type", "number"}}}}},
           {"required", {"a", "b"}}}},
         {"outputSchema", {{"type", "object"}, {"properties", {{"sum", {{"type", "number"}}}}}, {"required", {"sum"}}}}},
    };
}

json text_content(std::string text) { return json::array({{{"type", "text"}, {"text", std::move(text)}}}); }

// The sum, as an integer if both numbers are integers and the sum fits; nothing if it isn't finite.
std::optional<json> sum(const json &a, const json &b) {
    const auto integer = [](const json &number) -> std::optional<std::int64_t> {
        if (!number.is_number_integer()) return std::nullopt;
        const auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        if (number.is_number_unsigned() && number.get<std::uint64_t>() > largest) return std::nullopt;
        return number.get<std::int64_t>();
    };
    if (const auto x = integer(a), y = integer(b); x && y) {
        std::int64_t total;
        if (!__builtin_add_overflow(*x, *y, &total)) return json(total);
    }
    const double total = a.get<double>() + b.get<double>();
    if (!std::isfinite(total)) return std::nullopt;
    return json(total);
}

// Calls a tool. An unknown tool or invalid arguments are a protocol error; a tool that fails returns a result with
// `isError`, for the model to read.
Outcome call_tool(const json *params) {
    const std::string *name = string_member(params, "name");
    if (!name) return invalid_params("expected name, a string");
    const json *arguments = member(params, "arguments");
    if (*name == "echo") {
        const std::string *text = string_member(arguments, "text");
        if (!text) return invalid_params("echo: expected text, a string");
        return json{{"content", text_content(*text)}};
    }
    if (*name == "add") {
        const json *a = member(arguments, "a"), *b = member(arguments, "b");
        if (!a || !b || !a->is_number() || !b->is_number()) return invalid_params("add: expected a and b, two numbers");
        if (const auto total = sum(*a, *b))
            return json{{"content", text_content(total->dump())}, {"structuredContent", {{"sum", *total}}}};
        return json{{"content", text_content("the sum is too large for a number")}, {"isError", true}};
    }
    return invalid_params("unknown tool: expected echo or add");
}

Outcome initialize(const json *params) {
    const std::string *asked_for = string_member(params, "protocolVersion");
    if (!asked_for) return invalid_params("expected protocolVersion, a string");
    // The requested version if it is supported, otherwise the newest, which the client can accept or reject.
    std::string_view version = handshake.back();
    for (const std::string_view known : handshake)
        if (known == *asked_for) version = known;
    return json{{"protocolVersion", version}, {"capabilities", capabilities()}, {"serverInfo", server_info()}};
}

// Whether a request names the stateless revision, or an error.
wireline::Result<bool, RpcError> is_stateless(const json *params) {
    const json *meta = member(params, "_meta");
    const json *version = member(meta, "io.modelcontextprotocol/protocolVersion");
    if (!version) return false;
    if (!version->is_string()) return invalid_params("expected a string as io.modelcontextprotocol/protocolVersion");
    const auto &name = version->get_ref<const std::string &>();
    if (name == stateless) {
        const json *client = member(meta, "io.modelcontextprotocol/clientCapabilities");
        if (client && client->is_object()) return true;
        return invalid_params("expected an object as io.modelcontextprotocol/clientCapabilities");
    }
    json supported = handshake;
    for (const json &known : supported)
        if (known == name) return false;
    supported.push_back(stateless);
    return RpcError{-32022, "unsupported protocol version", json{{"supported", supported}, {"requested", name}}};
}

// The result of a request, or an error.
Outcome answer(std::string_view method, const json *params) {
    const RpcError not_found{-32601, "Method not found"};
    const auto era = is_stateless(params);
    if (!era) return era.error();
    if (!*era) {
        if (method == "initialize") return initialize(params);
        if (method == "ping") return json::object();
        if (method == "tools/list") return json{{"tools", tools()}};
        if (method == "tools/call") return call_tool(params);
        if (method == "server/discover")
            return invalid_params("expected _meta with io.modelcontextprotocol/protocolVersion");
        return not_found;
    }
    const auto cacheable = [](json result) {
        result["ttlMs"] = 3'600'000;
        result["cacheScope"] = "public";
        return result;
    };
    Outcome outcome = not_found;
    if (method == "server/discover")
        outcome = cacheable({{"supportedVersions", {stateless}}, {"capabilities", capabilities()}});
    else if (method == "tools/list")
        outcome = cacheable({{"tools", tools()}});
    else if (method == "tools/call")
        outcome = call_tool(params);
    if (outcome) {
        (*outcome)["resultType"] = "complete";
        (*outcome)["_meta"] = {{"io.modelcontextprotocol/serverInfo", server_info()}};
    }
    return outcome;
}

void answer(wireline::Ticket ticket, const wireline::Message &request) try {
    const json params = wireline::to_nlohmann(request.params());
    wireline::Status status = WL_STATUS_OK;
    if (params.is_discarded()) {
        status = std::move(ticket).fail(-32602, "params contain values that can't be represented");
    } else if (const Outcome outcome = answer(request.method(), request.params() ? &params : nullptr)) {
        status = std::move(ticket).respond(wireline::from_nlohmann(*outcome));
    } else {
        const RpcError &error = outcome.error();
        const auto data = error.data ? std::optional(wireline::from_nlohmann(*error.data)) : std::nullopt;
        status = std::move(ticket).fail(error.code, error.message, data);
    }
    if (!status) wireline::debug_log("server: answered with an internal error: ", status.text());
} catch (const std::exception &) {
    // The ticket is destroyed, which answers with an internal error.
    wireline::debug_log("server: a request failed");
}

// Threads that call tools. All other requests are fast.
class Workers {
public:
    Workers() {
        for (std::size_t n = 0; n < threads; n++) workers_.emplace_back([this] { work(); });
    }
    ~Workers() {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        changed_.notify_all();
        for (std::thread &worker : workers_) worker.join();
    }

    // Waits while the queue is full. Then the client has to wait too.
    void push(wireline::Ticket ticket, wireline::Frame request) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return queue_.size() < longest_queue; });
        queue_.push_back({std::move(ticket), std::move(request)});
        lock.unlock();
        changed_.notify_all();
    }

private:
    struct Job {
        wireline::Ticket ticket;
        wireline::Frame request;
    };

    void work() {
        for (;;) {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
            if (queue_.empty()) return;
            Job job = std::move(queue_.front());
            queue_.pop_front();
            lock.unlock();
            changed_.notify_all();
            const wireline::Item item = job.request.item();
            if (!job.ticket.is_cancelled()) answer(std::move(job.ticket), std::get<wireline::Message>(item));
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> queue_;
    bool closed_ = false;
    std::vector<std::thread> workers_;
};

// A pipe that wakes up the thread that polls its reading end.
class Alarm {
public:
    Alarm() {
        if (pipe(ends_) != 0) std::abort();
        for (const int end : ends_) fcntl(end, F_SETFL, O_NONBLOCK);
    }
    ~Alarm() {
        for (const int end : ends_) close(end);
    }

    int fd() const { return ends_[0]; }
    void reset() const {
        char bytes[64];
        while (read(ends_[0], bytes, sizeof bytes) > 0) {}
    }
    // If the pipe is full, the alarm is ringing already.
    static void ring(void *alarm) { [[maybe_unused]] const auto len = write(static_cast<Alarm *>(alarm)->ends_[1], "", 1); }

private:
    int ends_[2];
};

// Serves until the input has ended and everything is answered and written, or until the client stops reading.
int serve(const wireline::Rules &rules, wireline::Stdout out) {
    Alarm alarm;
    wireline::Connection<> connection(rules, {}, Alarm::ring, &alarm);
    Workers workers;
    bool was_read = true;
    while (!connection.is_done()) {
        while (auto event = connection.next()) {
            auto *request = std::get_if<wireline::event::Request>(&*event);
            if (!request) continue;
            if (request->message.method() != "tools/call")
                answer(std::move(request->ticket), request->message);
            else if (auto kept = connection.keep())
                workers.push(std::move(request->ticket), std::move(*kept));
        }
        // If there is nothing to write, the alarm will ring once there is.
        const bool writes = connection.poll_wake() && connection.wants_write();
        pollfd polled[] = {{connection.wants_read() ? STDIN_FILENO : -1, POLLIN, 0},
                           {writes ? out.fd() : -1, POLLOUT, 0},
                           {alarm.fd(), POLLIN, 0}};
        if (connection.is_done() || poll(polled, 3, -1) < 0) continue;
        alarm.reset();
        if (polled[1].revents) {
            // A pipe that is ready accepts this much without blocking.
            const std::string_view bytes = connection.pending().substr(0, PIPE_BUF);
            const ssize_t len = write(out.fd(), bytes.data(), bytes.size());
            if (len < 0 && errno != EINTR && errno != EAGAIN) return 0;
            if (len > 0) connection.advance(static_cast<std::size_t>(len));
        }
        if (polled[0].revents) {
            const auto status =
                connection.read_with([](std::span<char> room) { return read(STDIN_FILENO, room.data(), room.size()); });
            if (!status && errno != EINTR && errno != EAGAIN) {
                was_read = false;
                connection.finish();
            }
        }
    }
    return was_read ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
    // Revision 2025-03-26 has batches; clients of other revisions don't send any.
    wireline::Rules rules = wireline::Rules::mcp().batches(true);
    const std::vector<std::string_view> arguments(argv + 1, argv + argc);
    if (arguments == std::vector<std::string_view>{"-h"} || arguments == std::vector<std::string_view>{"--help"})
        return std::fputs(help, stdout) < 0;
    if (arguments == std::vector<std::string_view>{"--rules", "json-rpc"}) {
        rules = wireline::Rules::json_rpc();
    } else if (!arguments.empty() && arguments != std::vector<std::string_view>{"--rules", "mcp"}) {
        std::fputs(help, stderr);
        return 2;
    }
    std::signal(SIGPIPE, SIG_IGN);
    auto out = wireline::Stdout::claim();
    if (!out) {
        wireline::debug_log("server: ", out.error().text());
        return 1;
    }
    // Without the claim, the client would receive this line as a message.
    std::puts("server: printed to stdout, redirected to stderr");
    std::fflush(stdout);
    return serve(rules, std::move(*out));
}
