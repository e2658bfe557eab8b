//! Who owes whom an answer: exactly one response for each request.
//!
//! [`Inbound`] is the side that is asked. Admitting a request gives a [`Ticket`]; answering consumes it, so that nothing
//! is answered twice, and a ticket that is dropped is answered by an internal error, so that nobody waits for ever.
//! [`Outbound`] is the side that asks. It makes the ids, keeps a value for each request, and gives it back once.
//!
//! Both do no I/O, have a limit, and compare ids by type and value: `1` is `1.0`, but not `"1"`.
//!
//! ```
//! use wireline::ledger::{Inbound, Outbound};
//! use wireline::{Decoder, Encoder, Frame, Message, Rules};
//!
//! let rules = Rules::json_rpc();
//! let (mut wire, mut back) = (Encoder::new(rules), Encoder::new(rules));
//!
//! // The client asks, and remembers what for.
//! let mut asked = Outbound::new(100);
//! let id = asked.issue("greeting")?;
//! wire.request(&id, "hello", &())?;
//!
//! // The server takes the request in, and answers it.
//! let owed = Inbound::new(rules, 100);
//! let mut decoder = Decoder::new(rules);
//! decoder.feed(&wire.take());
//! let Some(Ok(Frame::Message(Message::Request(request)))) = decoder.next_frame() else { panic!() };
//! let ticket = owed.admit(&request)?;
//! ticket.respond(&mut back, "world")?;
//!
//! // The client finds what the answer is to.
//! let mut decoder = Decoder::new(rules);
//! decoder.feed(&back.take());
//! let Some(Ok(Frame::Message(Message::Response(response)))) = decoder.next_frame() else { panic!() };
//! assert_eq!(asked.settle(&response)?, "greeting");
//! assert!(asked.settle(&response).is_err()); // only once
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod inbound;
mod outbound;

pub(crate) use inbound::answer;
pub use inbound::{Inbound, Refusal, Ticket};
pub use outbound::{Full, Outbound, Stray};
