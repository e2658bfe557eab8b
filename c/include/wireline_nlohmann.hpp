// Converts payloads to nlohmann::json and back. Optional: nothing else in this package needs nlohmann/json.

#ifndef WIRELINE_NLOHMANN_HPP
#define WIRELINE_NLOHMANN_HPP

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "wireline.hpp"

namespace wireline {

// Parses a payload. The result is `discarded` (see is_discarded) if nlohmann/json rejects it, for example because of a
// lone surrogate. An absent payload is null.
inline nlohmann::json to_nlohmann(std::optional<std::string_view> payload) {
    if (!payload) return nullptr;
    return nlohmann::json::parse(*payload, nullptr, false);
}

// Prints a value as a payload on one line. Invalid UTF-8 in strings is replaced with U+FFFD.
inline std::string from_nlohmann(const nlohmann::json &value) {
    return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace wireline

#endif // WIRELINE_NLOHMANN_HPP
