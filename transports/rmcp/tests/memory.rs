//! The memory that a line over the limit takes.

use allocation_counter::measure;
use rmcp::RoleServer;
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncWriteExt, DuplexStream, duplex, sink};
use wireline::Rules;
use wireline_rmcp::LineTransport;

const MAX_LINE_LEN: usize = 64 << 10;
const SENT: usize = 32 << 20;
const ALLOWED: u64 = 512 << 10;

/// The peak of allocated memory while 32 MiB arrive without a line ending. It is bounded for rmcp's own transport too.
#[test]
fn memory_is_bounded_by_the_line_limit() {
    let rules = Rules::mcp().max_line_len(MAX_LINE_LEN);
    let wireline = peak(|reader| LineTransport::new(reader, sink()).rules(rules));
    assert!(wireline < ALLOWED, "{wireline} bytes");
    let stock = peak(|reader| AsyncRwTransport::new(reader, sink()).with_max_line_length(MAX_LINE_LEN));
    assert!(stock < ALLOWED, "{stock} bytes, rmcp");
    println!("peak in bytes: wireline {wireline}, rmcp {stock}");
}

fn peak<T: Transport<RoleServer>>(transport: impl FnOnce(DuplexStream) -> T) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let measured = measure(|| {
        runtime.block_on(async {
            let (mut near, far) = duplex(16 << 10);
            let mut transport = transport(far);
            let send = async {
                near.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{\"x\":\"").await.unwrap();
                for _ in 0..SENT >> 14 {
                    near.write_all(&[b'x'; 16 << 10]).await.unwrap();
                }
                near.write_all(b"\"},\"id\":1}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n").await.unwrap();
            };
            let (received, ()) = tokio::join!(transport.receive(), send);
            assert!(received.is_some());
        });
    });
    measured.bytes_max
}
