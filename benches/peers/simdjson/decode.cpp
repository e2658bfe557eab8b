// Decodes a corpus with simdjson's DOM parser, which checks each message completely, and finds the members of the
// envelope: the same task, on the same slices, as the decoding part of `peers`.
//
//     decode FILE SECONDS
//
// Prints messages, members, and GB/s in the best and the median round.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

using Clock = std::chrono::steady_clock;

// As in peers: slices of 128 KiB or two lines, whichever is more.
static std::vector<simdjson::padded_string> slices(const std::string &stream) {
    std::vector<simdjson::padded_string> slices;
    for (size_t start = 0, end = 0, lines = 0; start < stream.size(); lines = 0, start = end) {
        while (end < stream.size() && (end - start < (128 << 10) || lines < 2)) {
            end = stream.find('\n', end) + 1;
            lines++;
        }
        slices.emplace_back(std::string_view(stream).substr(start, end - start));
    }
    return slices;
}

struct Found {
    uint64_t messages = 0;
    uint64_t members = 0;
    bool operator==(const Found &other) const { return messages == other.messages && members == other.members; }
};

static Found decode(simdjson::dom::parser &parser, const simdjson::padded_string &slice) {
    Found found;
    simdjson::dom::document_stream documents;
    if (parser.parse_many(slice, slice.size()).get(documents)) abort();
    for (auto document : documents) {
        simdjson::dom::object message;
        if (document.get_object().get(message)) abort();
        found.messages++;
        for (auto [name, value] : message) {
            found.members += name == "jsonrpc" || name == "id" || name == "method" || name == "params" ||
                             name == "result" || name == "error";
        }
    }
    if (documents.truncated_bytes() > 0) abort();
    return found;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    std::ifstream file(argv[1], std::ios::binary);
    const std::string stream{std::istreambuf_iterator<char>(file), {}};
    const auto parts = slices(stream);
    simdjson::dom::parser parser;
    std::vector<double> best(parts.size(), 1e9), rounds;
    Found expected;
    for (const auto &part : parts) {
        const Found found = decode(parser, part); // warm-up
        expected.messages += found.messages;
        expected.members += found.members;
    }
    if (expected.messages != static_cast<uint64_t>(std::count(stream.begin(), stream.end(), '\n'))) abort();
    const auto start = Clock::now();
    do {
        Found found;
        double round = 0;
        for (size_t at = 0; at < parts.size(); at++) {
            const auto before = Clock::now();
            const Found part = decode(parser, parts[at]);
            const double took = std::chrono::duration<double>(Clock::now() - before).count();
            best[at] = std::min(best[at], took);
            round += took;
            found.messages += part.messages;
            found.members += part.members;
        }
        if (!(found == expected)) abort();
        rounds.push_back(round);
    } while (std::chrono::duration<double>(Clock::now() - start).count() < atof(argv[2]));
    double sum = 0;
    for (double part : best) sum += part;
    std::sort(rounds.begin(), rounds.end());
    printf("%7llu messages, %7llu members, %5.2f GB/s, median %5.2f GB/s\n",
           static_cast<unsigned long long>(expected.messages), static_cast<unsigned long long>(expected.members),
           stream.size() / sum / 1e9, stream.size() / rounds[rounds.size() / 2] / 1e9);
}
