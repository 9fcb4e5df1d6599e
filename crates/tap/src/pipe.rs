//! One direction of a connection on the link: chunks between the thread that reads them and the one
//! that writes them when they are due. Its size in bytes is bounded.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};

#[derive(Debug)]
pub(super) struct LinkChunk {
    /// Longer than its content: clearing it for every read would cost as much as the link at 5
    /// Gbit/s.
    pub memory: Vec<u8>,
    pub count: usize,
    pub read_ns: u64,
    /// See `framing::Passed`.
    pub held_ns: u64,
    pub delivery_ns: u64,
}

/// A bounded queue of chunks, one thread at each end.
#[derive(Debug)]
pub(super) struct Pipe {
    bytes_max: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    chunks: VecDeque<LinkChunk>,
    bytes: usize,
    /// Whether no more chunks come.
    ended: bool,
    /// Whether no thread takes chunks any more.
    broken: bool,
    /// Memory of delivered chunks.
    spare: Vec<Vec<u8>>,
    delivery_ns: u64,
}

impl Pipe {
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, state: Mutex::new(State::default()), changed: Condvar::new() }
    }

    /// Waits until there is room for `bytes`. Returns false if the pipe is broken.
    pub fn room(&self, bytes: usize) -> bool {
        let state = self.state.lock().expect("no panic");
        // A single chunk always fits: the bound is far above its size.
        let full = |state: &mut State| !state.broken && state.bytes + bytes > self.bytes_max;
        !self.changed.wait_while(state, full).expect("no panic").broken
    }

    /// Puts a chunk in; one that jitter made early waits for the one before it.
    pub fn push(&self, mut chunk: LinkChunk) {
        let mut state = self.state.lock().expect("no panic");
        chunk.delivery_ns = chunk.delivery_ns.max(state.delivery_ns);
        state.delivery_ns = chunk.delivery_ns;
        state.bytes += chunk.count;
        state.chunks.push_back(chunk);
        drop(state);
        self.changed.notify_all();
    }

    /// The next chunk, which still counts until it is given to [`Pipe::through`]; None at the end.
    pub fn next(&self) -> Option<LinkChunk> {
        let state = self.state.lock().expect("no panic");
        let empty = |state: &mut State| state.chunks.is_empty() && !state.ended && !state.broken;
        let mut state = self.changed.wait_while(state, empty).expect("no panic");
        if state.broken { None } else { state.chunks.pop_front() }
    }

    /// Called when a chunk is delivered, which makes room for others.
    pub fn through(&self, chunk: LinkChunk) {
        let mut state = self.state.lock().expect("no panic");
        state.bytes -= chunk.count;
        state.spare.push(chunk.memory);
        drop(state);
        self.changed.notify_all();
    }

    /// Memory for a chunk of `bytes`, always the same for one pipe.
    pub fn memory(&self, bytes: usize) -> Vec<u8> {
        let spare = self.state.lock().expect("no panic").spare.pop();
        spare.unwrap_or_else(|| vec![0; bytes])
    }

    /// Ends the input; chunks inside are still delivered.
    pub fn end(&self) {
        self.state.lock().expect("no panic").ended = true;
        self.changed.notify_all();
    }

    /// Breaks the pipe because the connection has ended: both ends stop.
    pub fn break_off(&self) {
        self.state.lock().expect("no panic").broken = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(bytes: usize, delivery_ns: u64) -> LinkChunk {
        LinkChunk { memory: vec![0; 100], count: bytes, read_ns: 0, held_ns: 0, delivery_ns }
    }

    #[test]
    fn order_is_kept_and_what_is_inside_comes_out_after_the_end() {
        let pipe = Pipe::new(100);
        pipe.push(chunk(10, 7));
        pipe.push(chunk(20, 5));
        pipe.end();
        assert_eq!(pipe.next().map(|it| (it.count, it.delivery_ns)), Some((10, 7)));
        assert_eq!(pipe.next().map(|it| (it.count, it.delivery_ns)), Some((20, 7)));
        assert!(pipe.next().is_none());
    }

    #[test]
    fn a_full_pipe_holds_its_reader_until_bytes_are_through() {
        let pipe = Pipe::new(100);
        assert!(pipe.room(60));
        pipe.push(chunk(60, 0));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| pipe.room(60));
            let taken = pipe.next().expect("a chunk");
            assert!(!waiting.is_finished(), "taken out is not yet delivered");
            pipe.through(taken);
            assert!(waiting.join().expect("no panic"));
        });
    }

    #[test]
    fn a_broken_pipe_lets_both_ends_go() {
        let pipe = Pipe::new(100);
        pipe.push(chunk(90, 0));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| pipe.room(60));
            pipe.break_off();
            assert!(!waiting.join().expect("no panic"));
        });
        assert!(pipe.next().is_none());
    }
}
