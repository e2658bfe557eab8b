//! The paths that an answer can take.

use std::collections::HashMap;
use std::future::Future;
use std::io::{self, Write};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use wireline::connection::{Call, Connection, Event, Ticket};
use wireline::{RpcError, Rules};

use super::script::{Act, Payload, Script, Session};
use super::streams::{Feed, Wire};

/// A path that answers can take.
#[derive(Clone, Copy)]
pub(crate) struct Door {
    /// Runs a session to its end.
    pub(crate) run: fn(&Session, Feed, Wire) -> io::Result<()>,
    /// Whether the next line is read before a request is answered, so that a request can be cancelled.
    pub(crate) reads_on: bool,
    /// Whether it closes the outgoing stream.
    pub(crate) closes: bool,
}

const fn door(run: fn(&Session, Feed, Wire) -> io::Result<()>) -> Door {
    Door { run, reads_on: true, closes: false }
}

pub(crate) const CORE_AT_ONCE: Door = Door { reads_on: false, ..door(core_at_once) };
pub(crate) const CORE_LATER: Door = door(core_later);
pub(crate) const CORE_THREADS: Door = door(core_threads);
pub(crate) const CORE_PROXY: Door = door(core_proxy);
pub(crate) const IO_NEXT: Door = door(io_next);
pub(crate) const IO_CONNECTION_SERVE: Door = door(io_connection_serve);
pub(crate) const IO_SERVE: Door = Door { reads_on: false, ..door(io_serve) };
pub(crate) const IO_ANSWER: Door = Door { reads_on: false, ..door(io_answer) };
#[cfg(feature = "tokio")]
pub(crate) use on_tokio::{AIO_NEXT_IN_PLACE, AIO_NEXT_TASKS, AIO_PROXY, AIO_SERVE};
#[cfg(feature = "futures-io")]
pub(crate) const FUTURES_SERVE: Door = Door { closes: true, ..door(futures_serve) };

/// Writes what is pending, unless the peer doesn't read.
fn write<T>(core: &mut Connection<T>, wire: &Wire) -> io::Result<()> {
    while core.wants_write() {
        match wire.try_write(core.pending()) {
            None => return Ok(()),
            Some(written) => core.advance(written?),
        }
    }
    Ok(())
}

/// Tickets are settled as soon as they are handed out.
fn core_at_once(script: &Session, mut feed: Feed, wire: Wire) -> io::Result<()> {
    let mut core: Connection<()> = Connection::new(script.config());
    let peer = core.peer();
    while !core.is_done() {
        if core.wants_read() {
            core.read_with(|room| io::Read::read(&mut feed, room))?;
        }
        while let Some(event) = core.next_event() {
            if let Event::Request(_, ticket) = event {
                script.has_arrived(&peer);
                script.settle_here(ticket);
            }
        }
        write(&mut core, &wire)?;
    }
    Ok(())
}

/// All tickets are kept until everything was read, and settled in the opposite order.
fn core_later(script: &Session, mut feed: Feed, wire: Wire) -> io::Result<()> {
    let mut core: Connection<()> = Connection::new(script.config());
    let (peer, mut tickets, mut has_ended) = (core.peer(), Vec::new(), false);
    while !core.is_done() {
        if core.wants_read() {
            let mut piece = [0; 1000];
            match io::Read::read(&mut feed, &mut piece)? {
                0 => {
                    has_ended = true;
                    core.finish();
                }
                len => core.feed(&piece[..len]),
            }
        }
        while let Some(event) = core.next_event() {
            if let Event::Request(_, ticket) = event {
                script.has_arrived(&peer);
                tickets.push(ticket);
            }
        }
        if let Err(error) = write(&mut core, &wire) {
            drop(core);
            // Nobody needs to work on them any more.
            assert!(tickets.iter().all(Ticket::is_cancelled));
            return Err(error);
        }
        if has_ended && !core.wants_write() && core.next_event().is_none() {
            tickets.drain(..).rev().for_each(|ticket| script.settle_here(ticket));
        }
    }
    Ok(())
}

/// Each ticket is settled in a thread of its own.
fn core_threads(script: &Session, mut feed: Feed, wire: Wire) -> io::Result<()> {
    let mut core: Connection<()> = Connection::new(script.config());
    let peer = core.peer();
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    while !core.is_done() {
        if core.wants_read() {
            core.read_with(|room| io::Read::read(&mut feed, room))?;
        }
        while let Some(event) = core.next_event() {
            if let Event::Request(_, ticket) = event {
                script.has_arrived(&peer);
                settle_in_thread(script, ticket);
            }
        }
        write(&mut core, &wire)?;
        while !core.wants_read() && core.poll_wake(&mut Context::from_waker(&waker)).is_pending() {
            thread::park();
        }
    }
    Ok(())
}

fn settle_in_thread(script: &Session, ticket: Ticket) {
    let script = Arc::clone(script);
    thread::spawn(move || {
        script.wait(ticket.id(), || ticket.is_cancelled());
        script.settle(ticket);
    });
}

/// A proxy and a server behind it, all in this thread.
fn core_proxy(script: &Session, mut feed: Feed, wire: Wire) -> io::Result<()> {
    let mut front: Connection<()> = Connection::new(script.config());
    // The server is bound by no dialect: the proxy has to cope with what it returns.
    let mut back: Connection<Ticket> = Connection::new(Rules::json_rpc());
    let mut server: Connection<()> = Connection::new(Rules::json_rpc().max_line_len(2000));
    let (front_peer, back_peer) = (front.peer(), back.peer());
    let (mut forwarded, mut kept) = (HashMap::new(), Vec::new());
    while !front.is_done() {
        if front.wants_read() {
            front.read_with(|room| io::Read::read(&mut feed, room))?;
        }
        while let Some(event) = front.next_event() {
            match event {
                Event::Request(request, ticket) => {
                    script.has_arrived(&front_peer);
                    let id = ticket.id().clone();
                    if let Ok(sent) = back_peer.forward_request(&request, ticket) {
                        forwarded.insert(sent, id);
                    }
                }
                Event::Cancelled(_, id, true) => {
                    let sent = forwarded.iter().filter(|(_, its_id)| **its_id == id);
                    for ticket in sent.filter_map(|(sent, _)| back_peer.cancel(sent)) {
                        script.settle_here(ticket);
                    }
                }
                _ => {}
            }
        }
        relay(&mut back, &mut server);
        while let Some(event) = server.next_event() {
            if let Event::Request(request, ticket) = event {
                match (script.act)(forwarded[request.id()].as_json()) {
                    Act::Respond(payload) => {
                        let answer = std::panic::AssertUnwindSafe(|| ticket.respond(&payload));
                        let _ = std::panic::catch_unwind(answer);
                    }
                    Act::Fail => ticket.fail(&RpcError::method_not_found()),
                    Act::AwaitCancel { .. } => kept.push(ticket),
                    Act::Drop | Act::Panic => drop(ticket),
                }
            }
        }
        relay(&mut server, &mut back);
        while let Some(event) = back.next_event() {
            if let Event::Response(response, ticket) = event {
                ticket.relay(&response);
            }
        }
        write(&mut front, &wire)?;
    }
    assert!(kept.iter().all(Ticket::is_cancelled));
    Ok(())
}

/// Passes bytes from one connection to another.
fn relay<T, U>(from: &mut Connection<T>, to: &mut Connection<U>) {
    while from.wants_write() {
        let bytes = from.pending();
        to.feed(bytes);
        let len = bytes.len();
        from.advance(len);
    }
}

/// A thread for each request.
fn io_next(script: &Session, feed: Feed, wire: Wire) -> io::Result<()> {
    let (peer, mut connection) = wireline::io::Connection::new(feed, wire, script.config());
    while let Some(event) = connection.next()? {
        if let Event::Request(_, ticket) = event {
            script.has_arrived(&peer);
            settle_in_thread(script, ticket);
        }
    }
    Ok(())
}

fn io_connection_serve(script: &Session, feed: Feed, wire: Wire) -> io::Result<()> {
    let (_, connection) = wireline::io::Connection::new(feed, wire, script.config());
    let script = Arc::clone(script);
    connection.report(|_| {}).serve(3, move |call| {
        if let Some(id) = call.id() {
            script.has_arrived(call.peer());
            script.wait(id, || call.is_cancelled());
        }
        script.outcome(call.id())
    })
}

/// One request after the other.
fn handle(script: &Script, call: &Call<'_>) -> Result<Payload, RpcError> {
    if call.id().is_some() {
        script.has_arrived(call.peer());
    }
    script.outcome(call.id())
}

fn io_serve(script: &Session, feed: Feed, wire: Wire) -> io::Result<()> {
    wireline::io::serve_with(feed, wire, script.config(), |call| handle(script, &call), |_| {})
}

/// A text for each line.
fn io_answer(script: &Session, _: Feed, mut wire: Wire) -> io::Result<()> {
    for text in script.input.split(|&byte| byte == b'\n').filter(|text| !text.trim_ascii().is_empty()) {
        let answer = wireline::io::answer_with(text, &script.rules, |call| handle(script, &call), |_| {});
        if let Some(answer) = answer {
            assert!(!answer.contains(&b'\n'));
            wire.write_all(&[&answer[..], b"\n"].concat())?;
        }
    }
    Ok(())
}

/// The handler for `serve` in a task.
#[cfg(any(feature = "futures-io", feature = "tokio"))]
async fn handle_async(script: Session, call: Call<'static>) -> Result<Payload, RpcError> {
    if let Some(id) = call.id() {
        script.has_arrived(call.peer());
        script.pause(id).await;
        if let Act::AwaitCancel { .. } = (script.act)(id.as_json()) {
            std::future::pending::<()>().await;
        }
    }
    script.outcome(call.id())
}

#[cfg(feature = "futures-io")]
fn futures_serve(script: &Session, feed: Feed, wire: Wire) -> io::Result<()> {
    use wireline::aio::{Connection, Futures};

    let (_, connection) = Connection::new(Futures(feed), Futures(wire), script.config());
    let handler = |call| handle_async(Arc::clone(script), call);
    block_on(connection.report(|_| {}).concurrency(2).serve(handler))
}

#[cfg(feature = "tokio")]
mod on_tokio {
    use std::sync::Mutex;

    use tokio::runtime::{Builder, Runtime};
    use wireline::Id;
    use wireline::aio::{Connection, Tokio};

    use super::*;

    pub(crate) const AIO_NEXT_TASKS: Door = Door { closes: true, ..door(aio_next_tasks) };
    pub(crate) const AIO_NEXT_IN_PLACE: Door = Door { reads_on: false, closes: true, ..door(aio_next_in_place) };
    pub(crate) const AIO_SERVE: Door = Door { closes: true, ..door(aio_serve) };
    pub(crate) const AIO_PROXY: Door = Door { closes: true, ..door(aio_proxy) };

    fn current_thread() -> Runtime {
        Builder::new_current_thread().build().unwrap()
    }

    /// A task for each request, in two threads.
    fn aio_next_tasks(script: &Session, feed: Feed, wire: Wire) -> io::Result<()> {
        let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
        runtime.block_on(async {
            let (peer, mut connection) = Connection::new(Tokio(feed), Tokio(wire), script.config());
            while let Some(event) = connection.next().await? {
                if let Event::Request(_, ticket) = event {
                    script.has_arrived(&peer);
                    let script = Arc::clone(script);
                    tokio::spawn(async move {
                        script.wait_async(&ticket).await;
                        script.settle(ticket);
                    });
                }
            }
            Ok(())
        })
    }

    fn aio_next_in_place(script: &Session, feed: Feed, wire: Wire) -> io::Result<()> {
        current_thread().block_on(async {
            let (peer, mut connection) = Connection::new(Tokio(feed), Tokio(wire), script.config());
            while let Some(event) = connection.next().await? {
                if let Event::Request(_, ticket) = event {
                    script.has_arrived(&peer);
                    script.settle_here(ticket);
                }
            }
            Ok(())
        })
    }

    fn aio_serve(script: &Session, feed: Feed, wire: Wire) -> io::Result<()> {
        let (_, connection) = Connection::new(Tokio(feed), Tokio(wire), script.config());
        let handler = |call| handle_async(Arc::clone(script), call);
        current_thread().block_on(connection.report(|_| {}).serve(handler))
    }

    /// A proxy with a task for each request, and a server behind it.
    fn aio_proxy(script: &Session, feed: Feed, wire: Wire) -> io::Result<()> {
        current_thread().block_on(async {
            let (near, far) = tokio::io::duplex(100);
            let (reader, writer) = tokio::io::split(far);
            let rules = Rules::json_rpc().max_line_len(2000);
            let (_, server) = Connection::new(Tokio(reader), Tokio(writer), rules);
            // The ids of requests, in the order of those that the proxy gives them.
            let forwarded = Arc::new(Mutex::new(Vec::<Id<'static>>::new()));
            let for_server = (Arc::clone(script), Arc::clone(&forwarded));
            let server = server.report(|_| {}).serve(move |call| {
                let (script, forwarded) = for_server.clone();
                async move {
                    let Some(number) = call.id().and_then(Id::as_u64) else { return Ok(Payload::Fine) };
                    let id = forwarded.lock().unwrap()[number as usize - 1].clone();
                    match (script.act)(id.as_json()) {
                        Act::Respond(payload) => Ok(payload),
                        Act::Fail => Err(RpcError::method_not_found()),
                        Act::AwaitCancel { .. } => std::future::pending().await,
                        Act::Drop | Act::Panic => panic!("on purpose"),
                    }
                }
            });
            let server = tokio::spawn(server);

            let (reader, writer) = tokio::io::split(near);
            let (back, connection) = Connection::new(Tokio(reader), Tokio(writer), Rules::json_rpc());
            let running = tokio::spawn(connection.run());
            let (peer, mut front) = Connection::new(Tokio(feed), Tokio(wire), script.config());
            let result = loop {
                match front.next().await {
                    Ok(Some(Event::Request(request, ticket))) => {
                        script.has_arrived(&peer);
                        let script = Arc::clone(script);
                        forwarded.lock().unwrap().push(ticket.id().clone());
                        let reply = back.relay(&request);
                        tokio::spawn(async move {
                            tokio::select! {
                                response = reply.response() => if let Ok(response) = response {
                                    ticket.relay(&response);
                                },
                                () = ticket.cancelled() => script.settle_here(ticket),
                            }
                        });
                    }
                    Ok(Some(_)) => {}
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            back.end();
            server.await.unwrap().unwrap();
            running.await.unwrap().unwrap();
            result
        })
    }
}

pub(crate) struct Unpark(pub(crate) Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread, which is parked while it waits.
#[allow(dead_code, reason = "depends on the features")]
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
