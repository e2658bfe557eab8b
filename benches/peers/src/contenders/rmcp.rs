//! rmcp's codec. Its stdio and socket transports write with this codec, and read in the same way.

use std::hint::black_box;

use bytes::BytesMut;
use rmcp::model::{ClientRequest, JsonRpcMessage, ServerNotification, ServerResult};
use rmcp::transport::async_rw::JsonRpcMessageCodec;
use tokio_util::codec::Decoder;

use super::Contender;
use crate::comparison::Part;
use crate::members::{Members, Tally};

/// Each kind of message has the types of the side that sends most of it, since the corpora mix both directions.
type Message = JsonRpcMessage<ClientRequest, ServerResult, ServerNotification>;

#[derive(Default)]
pub(super) struct Messages {
    buffer: BytesMut,
}

impl Contender for Messages {
    fn name(&self) -> &str {
        "rmcp"
    }

    fn part(&self) -> Part {
        Part::Codec
    }

    /// Its types don't show whether `params` was present, only its contents.
    fn tells(&self) -> Members {
        Members::ID.and(Members::METHOD).and(Members::RESULT).and(Members::ERROR)
    }

    fn pass(&mut self, stream: &[u8], chunk: usize) -> Option<Tally> {
        let mut codec = JsonRpcMessageCodec::<Message>::new();
        let mut tally = Tally::default();
        self.buffer.clear();
        for chunk in stream.chunks(chunk) {
            self.buffer.extend_from_slice(chunk);
            while let Some(message) = codec.decode(&mut self.buffer).ok()? {
                tally.count(match black_box(&message) {
                    JsonRpcMessage::Request(_) => Members::ID.and(Members::METHOD),
                    JsonRpcMessage::Notification(_) => Members::METHOD,
                    JsonRpcMessage::Response(_) => Members::ID.and(Members::RESULT),
                    JsonRpcMessage::Error(error) => Members::ERROR.and(Members::ID.if_found(error.id.is_some())),
                });
            }
        }
        // It stops at a notification that it ignores, even if more lines follow.
        self.buffer.is_empty().then_some(tally)
    }
}
