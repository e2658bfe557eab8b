//! How much memory a line beyond the limit takes.

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

/// The peak of what is allocated while 32 MiB come in without a line end. rmcp's own transport is bounded as well.
#[test]
fn a_line_beyond_the_limit_takes_no_more_memory_than_the_limit() {
    let rules = Rules::mcp().max_line_len(MAX_LINE_LEN);
    let wireline = peak(|reader| LineTransport::with_rules(reader, sink(), rules));
    assert!(wireline < ALLOWED, "{wireline} bytes");
    let stock = peak(|reader| AsyncRwTransport::new(reader, sink()).with_max_line_length(MAX_LINE_LEN));
    assert!(stock < ALLOWED, "{stock} bytes, by rmcp");
    println!("peak, in bytes: {wireline}; by rmcp: {stock}");
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
