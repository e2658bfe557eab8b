"""Says what each line of stdin is, as JSON-RPC: decode.py LIBRARY, which is target/c/libwireline.so."""
import ctypes as c
import sys

class Span(c.Structure):
    _fields_ = [("ptr", c.c_void_p), ("len", c.c_size_t)]
    def __str__(self):
        return c.string_at(self.ptr, self.len).decode() if self.ptr else "-"

class Message(c.Structure):
    _fields_ = [("kind", c.c_int), ("line", c.c_uint64), ("offset", c.c_uint64), ("source", c.c_void_p)]
    _fields_[3:3] = [(name, Span) for name in ("text", "id", "method", "params", "result", "error")]

wl = c.CDLL(sys.argv[1])
wl.wl_decoder_new.restype = c.c_void_p
rules, message = c.create_string_buffer(256), Message()
wl.wl_rules_init(rules, 1)  # WL_DIALECT_MCP; a wl_rules is shorter than that
decoder = c.c_void_p(wl.wl_decoder_new(rules))
chunk = True
while chunk:
    if chunk := sys.stdin.buffer.read1():
        wl.wl_decoder_feed(decoder, Span(c.cast(chunk, c.c_void_p), len(chunk)))
    else:
        wl.wl_decoder_finish(decoder)  # a last line needs no line feed
    while kind := wl.wl_decoder_next(decoder, c.byref(message)):
        name = ["", "request", "notification", "result", "error", "batch", "fault"][kind]
        print(message.line, name, message.id, message.method, message.params)
wl.wl_decoder_free(decoder)
