//! A glob import of the crate doesn't shadow other names that programs use.
#![cfg(feature = "tokio")]

use wireline::*;

#[tokio::test]
async fn tokio_is_still_tokio() {
    tokio::task::yield_now().await;
    let line = to_line(&Rules::mcp(), |encoder| encoder.notification("note", &())).unwrap();
    let (mut near, _far) = tokio::io::duplex(100);
    tokio::io::AsyncWriteExt::write_all(&mut near, line.as_bytes()).await.unwrap();
    std::io::Write::write_all(&mut std::io::sink(), line.as_bytes()).unwrap();
}
