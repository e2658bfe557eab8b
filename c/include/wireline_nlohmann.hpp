// Between spans of wireline and nlohmann::json. Optional: nothing else needs nlohmann/json.

#ifndef WIRELINE_NLOHMANN_HPP
#define WIRELINE_NLOHMANN_HPP

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "wireline.hpp"

namespace wireline {

// A payload as a value, or `discarded` (see is_discarded) if nlohmann/json doesn't accept it, as with a lone surrogate. An
// absent payload is null.
inline nlohmann::json to_nlohmann(std::optional<std::string_view> payload) {
    if (!payload) return nullptr;
    return nlohmann::json::parse(*payload, nullptr, false);
}

// A value as a payload on one line. Strings that aren't UTF-8 get U+FFFD in place of what isn't.
inline std::string from_nlohmann(const nlohmann::json &value) {
    return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace wireline

#endif // WIRELINE_NLOHMANN_HPP
