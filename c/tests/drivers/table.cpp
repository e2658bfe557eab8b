// Runs the acceptance table through wireline.hpp: table_cpp FILE, which `cargo run --example cases` has written.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <variant>

#include "wireline.hpp"

using namespace wireline;

namespace {

// Writes a string like Rust's `{:?}`, for the characters that occur in the table.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (std::size_t at = 0; at < text.size(); at++) {
        const char byte = text[at];
        char escape[16];
        if (byte == '"' || byte == '\\') (out += '\\') += byte;
        else if (byte == '\n') out += "\\n";
        else if (byte == '\r') out += "\\r";
        else if (byte == '\t') out += "\\t";
        else if (byte == 0) out += "\\0";
        else if ((byte > 0 && byte < 0x20) || byte == 0x7f) {
            std::snprintf(escape, sizeof escape, "\\u{%x}", static_cast<unsigned>(byte));
            out += escape;
        } else if (text.substr(at, 3) == "\u2028" || text.substr(at, 3) == "\u2029") {
            out += text.substr(at, 3) == "\u2028" ? "\\u{2028}" : "\\u{2029}";
            at += 2;
        } else out += byte;
    }
    return out += '"';
}

std::string or_dash(std::optional<std::string_view> text) { return std::string(text.value_or("-")); }

std::string describe(const Message &message) {
    if (message.is_request()) return "request " + or_dash(message.id()) + " " + quoted(message.method()) + " " + or_dash(message.params());
    if (message.is_notification()) return "notification " + quoted(message.method()) + " " + or_dash(message.params());
    if (message.result()) return "result " + or_dash(message.id()) + " " + or_dash(message.result());
    wl_error error;
    std::string text(message.text().size(), 0);
    std::size_t len = 0;
    if (wl_message_error(message.get(), &error) != WL_STATUS_OK) std::abort();
    if (wl_json_string(error.message, reinterpret_cast<std::uint8_t *>(text.data()), text.size(), &len) != WL_STATUS_OK) std::abort();
    return "error " + or_dash(message.id()) + " " + std::to_string(error.code) + " " + quoted(text.substr(0, len)) + " " +
           or_dash(detail::optional(error.data));
}

std::string describe(const Fault &fault) {
    std::string reply = "none";
    if (fault.reply()) {
        const Frame frame = Frame::parse(*fault.reply(), Rules::json_rpc().answer_without_id(WL_ANSWER_WITHOUT_ID_OMIT_ID));
        const Item item = frame.item();
        const auto *message = std::get_if<Message>(&item);
        if (!message || !message->error()) std::abort();
        reply = message->id() ? std::string(*message->id()) : "omitted";
    }
    return "fault " + std::string(fault.name()) + " @" + std::to_string(fault.column()) + " id=" + or_dash(fault.id()) + " reply=" + reply;
}

std::string describe(const Batch &batch) {
    std::string out = "batch [", separator;
    for (const Entry &entry : batch) {
        out += separator + std::visit([](const auto &each) { return describe(each); }, entry);
        separator = " | ";
    }
    return out += "]";
}

std::string describe(const Item &item) {
    return std::visit([](const auto &each) { return describe(each); }, item);
}

// Parses a text as Request, Notification or Response, or returns the error on which all three agree.
std::string from_json(std::string_view line, const Rules &rules, const std::string &expected) {
    const auto request = Request::from_json(line, rules);
    const auto notification = Notification::from_json(line, rules);
    const auto response = Response::from_json(line, rules);
    if (request.has_value() + notification.has_value() + response.has_value() > 1) return "of two kinds";
    std::string delimited;
    if (request) delimited = request->to_string_delimited();
    if (notification) delimited = notification->to_string_delimited();
    if (response) delimited = response->to_string_delimited();
    if (request && "request " + std::string(request->id()) + " " + quoted(request->method()) + " " + or_dash(request->params()) != expected)
        return "another request";
    if (notification && "notification " + quoted(notification->method()) + " " + or_dash(notification->params()) != expected)
        return "another notification";
    if (response && response->result().has_value() == response->error().has_value()) return "neither or both";
    if (delimited.empty()) {
        const bool is_fault = expected.starts_with("fault");
        const std::string id = or_dash(request.error().id);
        if (is_fault && expected.find(" id=" + id + " ") == std::string::npos) return "id " + id;
        if (is_fault && request.error().message.empty()) return "no message";
        return is_fault || expected.starts_with("batch") ? expected : "error " + request.error().message;
    }
    if (delimited.find_first_of("\r\n") != delimited.size() - 1) return "several lines";
    Decoder decoder(rules);
    decoder.feed(delimited);
    const auto item = decoder.next();
    return item ? describe(*item) : "nothing";
}

} // namespace

int main(int argc, char **argv) {
    std::ifstream file(argc == 2 ? argv[1] : "", std::ios::binary);
    unsigned long dialect, line_len, expected_len, count = 0, failures = 0;
    const auto check = [&](const char *how, const std::string &found, const std::string &expected) {
        if (found == expected) return;
        failures++;
        std::cout << how << ":\n  expected " << expected << "\n  found    " << found << '\n';
    };
    while (file >> dialect >> line_len >> expected_len && file.get() == '\n') {
        std::string line(line_len, 0), expected(expected_len, 0);
        file.read(line.data(), static_cast<std::streamsize>(line_len));
        file.read(expected.data(), static_cast<std::streamsize>(expected_len));
        const Rules rules = dialect == 0 ? Rules::json_rpc() : dialect == 1 ? Rules::mcp() : Rules::acp();
        for (const std::size_t step : {line_len + 1, 1UL, 7UL}) {
            Decoder decoder(rules);
            std::string found;
            const std::string stream = line + '\n';
            for (std::size_t at = 0; at < stream.size(); at += step) {
                decoder.feed(std::string_view(stream).substr(at, step));
                while (const auto item = decoder.next()) found += describe(*item);
            }
            check("decoded", found, expected);
            if (const auto frame = decoder.keep()) check("kept", describe(frame->item()), expected);
        }
        check("parsed", describe(Frame::parse(line, rules).item()), expected);
        check("from_json", from_json(line, rules, expected), expected);
        count++;
    }
    std::cout << count << " cases, " << failures << " failures\n";
    return count > 100 && failures == 0 ? 0 : 1;
}
