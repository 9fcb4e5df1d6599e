//! The token of experiments side by side, one on each server: only its holder uses the machine. The
//! others wait with idle servers, between two of their rounds.

use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};

/// Clones are the same token. An experiment alone always gets it at once.
#[derive(Debug, Clone, Default)]
pub struct Token {
    mutex: Arc<Mutex<()>>,
}

/// The token until it is dropped.
#[derive(Debug)]
pub struct HeldToken {
    mutex: Arc<Mutex<()>>,
    /// None while it waits.
    guard: Option<OwnedMutexGuard<()>>,
}

impl Token {
    /// The same token for one of several.
    pub async fn take(&self) -> HeldToken {
        let mutex = Arc::clone(&self.mutex);
        HeldToken { guard: Some(Arc::clone(&mutex).lock_owned().await), mutex }
    }
}

impl HeldToken {
    /// Lets each of those that wait go first. The mutex is fair, so rounds alternate.
    pub async fn pass(&mut self) {
        self.guard = None;
        self.guard = Some(Arc::clone(&self.mutex).lock_owned().await);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test]
    async fn rounds_alternate_until_one_has_made_all_of_its_own() {
        let (token, made) = (Token::default(), RefCell::new(String::new()));
        let experiment = async |name: char, rounds: u32| {
            let mut held = token.take().await;
            for round in 0..rounds {
                if round > 0 {
                    held.pass().await;
                }
                made.borrow_mut().push(name);
                tokio::task::yield_now().await; // the others may try
            }
        };
        tokio::join!(experiment('a', 2), experiment('b', 4), experiment('c', 3));
        assert_eq!(*made.borrow(), "abcabcbcb");
    }
}
