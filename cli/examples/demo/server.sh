#!/bin/sh
# A server to try the tool on. It logs to stdout, fails a call, and never answers the last one.
while IFS= read -r line; do
    case $line in
        *'"initialize"'*)
            echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"demo","version":"1.0"}}}' ;;
        *'"tools/list"'*)
            echo 'Listing tools'
            sleep 0.1
            echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"echo","description":"Repeats a text"}]}}' ;;
        *'"echo"'*)
            echo '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"hello"}]}}' ;;
        *'"divide"'*)
            echo '{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"division by zero"}],"isError":true}}' ;;
    esac
done
