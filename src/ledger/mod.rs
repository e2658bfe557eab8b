//! Ledgers that make sure each request gets exactly one response.
//!
//! [`Inbound`] is for the side that receives requests. Admitting a request returns a [`Ticket`], and answering turns
//! the ticket into an [`Answer`]: an encoded line together with the obligation to send it. The request is settled when
//! a writer accepts the answer, and not before. If there is no room for the answer, or a batch around it is rolled
//! back, or a panic drops it, the request is still owed an answer.
//!
//! [`Outbound`] is for the side that sends requests. It keeps a value for each request, and returns it once.
//!
//! Neither does any I/O. Both limit the number of requests in flight, release memory after a burst, and compare ids by
//! type and value: `1` equals `1.0`, but not `"1"`.
//!
//! ```
//! use wireline::io::FrameWriter;
//! use wireline::ledger::{Inbound, Outbound};
//! use wireline::{Decoder, Encoder, Frame, Message, Rules};
//!
//! // The client asks, and remembers what for.
//! let rules = Rules::json_rpc();
//! let (mut asked, mut request) = (Outbound::new(100), Encoder::new(rules));
//! let id = asked.issue("greeting")?;
//! request.request(&id, "hello", &())?;
//!
//! // The server admits the request and answers it.
//! let (owed, writer) = (Inbound::new(rules, 100), FrameWriter::new(Vec::new(), rules));
//! let mut decoder = Decoder::new(rules);
//! decoder.feed(&request.take());
//! while let Some(frame) = decoder.next_frame() {
//!     let answer = match frame {
//!         Ok(Frame::Message(Message::Request(request))) => match owed.admit(&request) {
//!             Ok(ticket) => ticket.respond("world"),
//!             Err(refusal) => refusal,
//!         },
//!         Ok(_) => continue,
//!         Err(fault) => match fault.reply() {
//!             Some(reply) => owed.reply(&reply),
//!             None => continue,
//!         },
//!     };
//!     let _ = writer.answer(answer)?;
//! }
//!
//! // The client looks up what the answer is for.
//! let mut decoder = Decoder::new(rules);
//! decoder.feed(&writer.into_parts().unwrap().0);
//! let Some(Ok(Frame::Message(Message::Response(response)))) = decoder.next_frame() else { panic!() };
//! assert_eq!(asked.settle(&response)?, "greeting");
//! assert!(asked.settle(&response).is_err()); // only once
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod hash;
mod in_flight;
mod inbound;
mod marks;
mod outbound;
mod owed;
mod refusal;
mod share;
mod slab;
mod spares;
mod table;
mod ticket;

pub use answer::Answer;
pub(crate) use answer::append_array;
pub(crate) use in_flight::InFlight;
pub use inbound::Inbound;
pub(crate) use inbound::append_reply;
pub use outbound::{Full, Outbound, Stray, Untracked};
pub(crate) use owed::Wakes;
pub use refusal::Refusal;
pub use ticket::Ticket;
