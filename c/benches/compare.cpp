// Compares decoding with wireline and nlohmann/json: compare FILE...
//
// Both split a stream of 64 KiB reads into lines, and find the kind, id, method and payload of each message.
// nlohmann/json parses the line, and the checks that JSON-RPC 2.0 requires are done on the value. They take turns, and
// the best round of each counts. Each file must contain only valid messages, one per line.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "wireline.hpp"

using nlohmann::json;

namespace {

constexpr std::size_t chunk = 64 << 10;

struct Seen {
    std::size_t messages = 0, members = 0;
    bool operator==(const Seen &) const = default;
};

Seen with_wireline(std::string_view stream) {
    Seen seen;
    wireline::Decoder decoder(wireline::Rules::json_rpc());
    for (std::size_t at = 0; at < stream.size(); at += chunk) {
        decoder.feed(stream.substr(at, chunk));
        while (const auto item = decoder.next()) {
            const auto *message = std::get_if<wireline::Message>(&*item);
            if (!message) std::abort();
            seen.messages++;
            seen.members += message->id().has_value() + !message->method().empty() + message->params().has_value() +
                            message->result().has_value() + message->error().has_value();
        }
    }
    return seen;
}

// The members of one message, or 0 if it isn't valid.
std::size_t checked(const json &message) {
    if (!message.is_object()) return 0;
    const auto end = message.end();
    const auto version = message.find("jsonrpc"), id = message.find("id"), method = message.find("method");
    const auto params = message.find("params"), result = message.find("result"), error = message.find("error");
    if (version == end || !version->is_string() || version->get_ref<const std::string &>() != "2.0") return 0;
    if ((method != end) + (result != end) + (error != end) != 1) return 0;
    if (id != end && !id->is_string() && !id->is_number() && !id->is_null()) return 0;
    if (method == end && id == end) return 0;
    if (method != end && !method->is_string()) return 0;
    if (params != end && !params->is_structured()) return 0;
    if (error != end) {
        const auto code = error->find("code"), text = error->find("message");
        if (!error->is_object() || code == error->end() || !code->is_number_integer() || text == error->end() || !text->is_string())
            return 0;
    }
    return static_cast<std::size_t>((id != end) + (method != end) + (params != end) + (result != end) + (error != end));
}

Seen with_nlohmann(std::string_view stream) {
    Seen seen;
    std::string buffer;
    for (std::size_t at = 0; at < stream.size(); at += chunk) {
        buffer += stream.substr(at, chunk);
        std::size_t start = 0;
        for (std::size_t line; (line = buffer.find('\n', start)) != std::string::npos; start = line + 1) {
            const json message = json::parse(buffer.data() + start, buffer.data() + line, nullptr, false);
            const std::size_t members = message.is_discarded() ? 0 : checked(message);
            if (members == 0) std::abort();
            seen.messages++;
            seen.members += members;
        }
        buffer.erase(0, start);
    }
    return seen;
}

template <class Decode>
double seconds(Decode decode, std::string_view stream, const Seen &expected) {
    const auto start = std::chrono::steady_clock::now();
    if (decode(stream) != expected) std::abort();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

int main(int argc, char **argv) {
    std::printf("%-30s %10s %12s %12s %8s\n", "MB/s, best round", "messages", "wireline", "nlohmann", "ratio");
    for (int at = 1; at < argc; at++) {
        std::ifstream file(argv[at], std::ios::binary);
        const std::string stream((std::istreambuf_iterator<char>(file)), {});
        if (stream.empty()) return std::fprintf(stderr, "compare: %s is empty\n", argv[at]), 2;
        const Seen expected = with_wireline(stream);
        double ours = 1e9, theirs = 1e9;
        const auto start = std::chrono::steady_clock::now();
        while (std::chrono::steady_clock::now() - start < std::chrono::seconds(4)) {
            theirs = std::min(theirs, seconds(with_nlohmann, stream, expected));
            for (int round = 0; round < 3; round++) ours = std::min(ours, seconds(with_wireline, stream, expected));
        }
        const auto megabytes = static_cast<double>(stream.size()) / 1e6;
        std::printf("%-30s %10zu %12.0f %12.0f %7.1fx\n", argv[at], expected.messages, megabytes / ours, megabytes / theirs, theirs / ours);
    }
}
