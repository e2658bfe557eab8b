// A Model Context Protocol server on stdin and stdout with two tools, `echo` and `add`: examples/mcp_server.rs in C++.
//
//     cmake -S c -B target/c && cmake --build target/c
//     target/c/server --rules mcp
//
// It supports clients that start with an `initialize` handshake (revisions 2024-11-05 to 2025-11-25) and clients that name
// the revision in each request (2026-07-28). Requests are answered by several threads, in any order, once each.

#include <array>
#include <cerrno>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
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

constexpr std::size_t threads = 4, longest_queue = 256, most_in_flight = 1024, read_size = 64 << 10;

// Revisions that start with an `initialize` handshake, the oldest first.
constexpr std::array<std::string_view, 4> handshake = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
// The revision without a handshake: each request names its version in `_meta`.
constexpr std::string_view stateless = "2026-07-28";

// What a request is answered with instead of a result.
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
    // The requested version, or else the newest, which the client can accept or reject.
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

wireline::Answer answer(wireline::Ticket ticket, const wireline::Message &request) {
    // If anything in here throws, the ticket is destroyed, and the ledger still owes an answer.
    const json params = wireline::to_nlohmann(request.params());
    if (params.is_discarded()) return std::move(ticket).fail(-32602, "params contain values that can't be represented");
    const Outcome outcome = answer(request.method(), request.params() ? &params : nullptr);
    if (outcome) return std::move(ticket).respond(wireline::from_nlohmann(*outcome));
    const RpcError &error = outcome.error();
    if (!error.data) return std::move(ticket).fail(error.code, error.message);
    return std::move(ticket).fail(error.code, error.message, wireline::from_nlohmann(*error.data));
}

class Server {
public:
    Server(const wireline::Rules &rules, wireline::Stdout out) : decoder_(rules), owed_(rules, most_in_flight), out_(std::move(out)) {}

    // Until the end of the input.
    int run() {
        std::vector<std::thread> workers;
        for (std::size_t n = 0; n < threads; n++) workers.emplace_back([this] { work(); });
        const bool was_read = read_all();
        {
            const std::lock_guard lock(queue_mutex_);
            closed_ = true;
        }
        queue_changed_.notify_all();
        for (std::thread &worker : workers) worker.join();
        send_dropped();
        return was_read ? 0 : 1;
    }

private:
    // A line, and the ticket for it if it is a request.
    struct Job {
        wireline::Frame frame;
        std::optional<wireline::Ticket> ticket;
    };

    bool read_all() {
        for (;;) {
            const std::span<char> room = decoder_.reserve(read_size);
            const ssize_t len = read(STDIN_FILENO, room.data(), room.size());
            if (len < 0 && errno == EINTR) continue;
            if (len <= 0) {
                decoder_.finish();
                take_lines();
                return len == 0;
            }
            if (!decoder_.commit(static_cast<std::size_t>(len))) return false;
            take_lines();
        }
    }

    void take_lines() {
        while (auto item = decoder_.next()) {
            if (const auto *fault = std::get_if<wireline::Fault>(&*item)) {
                if (auto reply = owed_.reply(*fault)) send(std::move(*reply));
            } else if (const auto *message = std::get_if<wireline::Message>(&*item)) {
                take_message(*message);
            } else if (auto batch = decoder_.keep()) {
                push({std::move(*batch), std::nullopt});
            }
        }
    }

    void take_message(const wireline::Message &message) {
        if (message.is_notification()) notified(message);
        if (!message.is_request()) return;
        auto admitted = owed_.admit(message);
        if (auto *refusal = std::get_if<wireline::Answer>(&admitted)) return send(std::move(*refusal));
        if (auto *ticket = std::get_if<wireline::Ticket>(&admitted))
            if (auto frame = decoder_.keep()) push({std::move(*frame), std::move(*ticket)});
    }

    void notified(const wireline::Message &notification) {
        if (notification.method() != "notifications/cancelled") return;
        const json params = wireline::to_nlohmann(notification.params());
        // Ids are compared by value, so it doesn't matter how it is spelled.
        if (const json *id = member(&params, "requestId"); id && (id->is_string() || id->is_number()))
            owed_.cancel(wireline::from_nlohmann(*id));
    }

    // Waits while too much is waiting: then the client has to wait, too.
    void push(Job job) {
        std::unique_lock lock(queue_mutex_);
        queue_changed_.wait(lock, [this] { return queue_.size() < longest_queue; });
        queue_.push_back(std::move(job));
        lock.unlock();
        queue_changed_.notify_all();
    }

    void work() {
        for (;;) {
            std::unique_lock lock(queue_mutex_);
            queue_changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
            if (queue_.empty()) return;
            Job job = std::move(queue_.front());
            queue_.pop_front();
            lock.unlock();
            queue_changed_.notify_all();
            try {
                do_job(std::move(job));
            } catch (const std::exception &) {
                wireline::debug_log("server: a request failed");
            }
            send_dropped();
        }
    }

    void do_job(Job job) {
        const wireline::Item item = job.frame.item();
        if (const auto *request = std::get_if<wireline::Message>(&item); request && job.ticket)
            send(answer(std::move(*job.ticket), *request));
        if (const auto *batch = std::get_if<wireline::Batch>(&item)) answer_batch(*batch);
    }

    void answer_batch(const wireline::Batch &batch) {
        std::vector<wireline::Answer> answers;
        for (const wireline::Entry &entry : batch) {
            if (const auto *fault = std::get_if<wireline::Fault>(&entry)) {
                if (auto reply = owed_.reply(*fault)) answers.push_back(std::move(*reply));
                continue;
            }
            const auto &message = std::get<wireline::Message>(entry);
            if (message.is_notification()) notified(message);
            if (!message.is_request()) continue;
            auto admitted = owed_.admit(message);
            if (auto *refusal = std::get_if<wireline::Answer>(&admitted)) answers.push_back(std::move(*refusal));
            if (auto *ticket = std::get_if<wireline::Ticket>(&admitted))
                answers.push_back(answer(std::move(*ticket), message));
        }
        if (auto all = owed_.batch(std::move(answers))) send(std::move(*all));
    }

    void send(wireline::Answer answer) {
        const std::lock_guard lock(out_mutex_);
        // Without a reader there is nobody left to answer. The input will end, too.
        if (!out_.write(answer.accept())) _exit(0);
    }

    void send_dropped() {
        while (auto answer = owed_.next_dropped()) send(std::move(*answer));
    }

    wireline::Decoder decoder_;
    wireline::Inbound owed_;
    std::mutex out_mutex_;
    wireline::Stdout out_;
    std::mutex queue_mutex_;
    std::condition_variable queue_changed_;
    std::deque<Job> queue_;
    bool closed_ = false;
};

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
    return Server(rules, std::move(*out)).run();
}
