Content-Length: 73

{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"hoverProvider":true}}}indexing 12 files
Content-Length: 67

{"jsonrpc":"2.0","id":2,"result":{"contents":"def café() -> None"}}Content-Length: 109

{"jsonrpc":"2.0","method":"textDocument/publishDiagnostics","params":{"uri":"file:///a.py","diagnostics":[]}}