//! When the block on the terminal is drawn, and what replaces it elsewhere.
//!
//! It costs the arms nothing: the block is drawn between their turns, not by a thread that would
//! run beside them, and at most twice a second. A turn that lasts longer than a second is a whole
//! run; there the time left is drawn once a second, when the sampler works as well.

use std::cell::Cell;
use std::time::{Duration, Instant};

use base::secrets::mask_text;
use base::{live, say};

/// Off a terminal a line in this interval replaces the block.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// The block is drawn again after this time.
const DRAW_EVERY: Duration = Duration::from_millis(500);
/// The live page gets the state in this interval: a browser that draws it takes CPU.
const VIEW_EVERY: Duration = Duration::from_secs(1);
/// Within a long turn it is drawn in this interval.
const TICK: Duration = Duration::from_secs(1);

/// The place where the present step is shown. It is cleared when this is dropped.
pub struct LiveBlock {
    drawn: Cell<Option<Instant>>,
    viewed: Cell<Option<Instant>>,
    said: Cell<Instant>,
}

impl LiveBlock {
    pub fn new() -> Self {
        Self { drawn: Cell::new(None), viewed: Cell::new(None), said: Cell::new(Instant::now()) }
    }

    /// Shows the present step unless something was shown a moment ago. The lines, of at most so
    /// many columns, and the sentence are only made where they are shown.
    pub fn show(
        &self,
        lines: impl FnOnce(usize) -> Vec<String>,
        sentence: impl FnOnce() -> String,
    ) {
        if self.drawn.get().is_some_and(|drawn| drawn.elapsed() < DRAW_EVERY) {
            return;
        }
        if let Some((columns, _)) = live::screen() {
            live::draw(&lines(columns - 1));
            self.drawn.set(Some(Instant::now()));
        } else if self.said.get().elapsed() >= LINE_EVERY {
            say::tell(&sentence());
            self.said.set(Instant::now());
        }
    }

    /// Shows the present step on the live page, if there is one and it is due.
    pub fn view(&self, state: impl FnOnce() -> String, sentence: impl FnOnce() -> String) {
        if self.viewed.get().is_some_and(|viewed| viewed.elapsed() < VIEW_EVERY) {
            return;
        }
        if let Some(viewer) = live::viewer() {
            viewer.show(&mask_text(&state()), &mask_text(&sentence()));
            self.viewed.set(Some(Instant::now()));
        }
    }

    /// The next step is shown at once.
    pub fn hurry(&self) {
        self.drawn.set(None);
        self.viewed.set(None);
    }
}

impl Drop for LiveBlock {
    fn drop(&mut self) {
        live::clear();
    }
}

/// Waits for work. While it lasts, `tick` is called once a second.
pub async fn ticking<T>(work: impl Future<Output = T>, tick: impl Fn()) -> T {
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(TICK) => tick(),
        }
    }
}
