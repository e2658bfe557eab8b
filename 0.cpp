#include <wireline.hpp>

int main() {
    auto request = wireline::Request::from_json(R"({"jsonrpc":"2.0","id":7,"method":null})");
    if (!request) wireline::debug_log(request.error().code, ": ", request.error().message); // -32600: "method" must be a string
    return request ? 1 : 0;
}
