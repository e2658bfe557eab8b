//! Who owes whom an answer: exactly one response for each request.
//!
//! [`Inbound`] is the side that is asked. Admitting a request gives a [`Ticket`]. Answering turns the ticket into an
//! [`Answer`], an encoded line together with the duty that it fulfils. The request counts as answered when that is
//! accepted by whoever writes it, and not before: an answer that found no room, was rolled back or was lost in a panic is
//! still owed. [`Outbound`] is the side that asks. It keeps a value for each request, and gives it back once.
//!
//! Both do no I/O, have a limit, give memory back, and compare ids by type and value: `1` is `1.0`, but not `"1"`.
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
mod inbound;
mod marks;
mod outbound;
mod owed;
mod table;
mod ticket;

pub use answer::Answer;
pub(crate) use answer::append_array;
pub(crate) use inbound::append_reply;
pub use inbound::{Inbound, Refusal};
pub use outbound::{Full, Outbound, Stray, Untracked};
pub(crate) use owed::Wakes;
pub use ticket::Ticket;
