//! Transactions by the driver's own loop: the same in all generations of the API that have one.

#[cfg(feature = "sync")]
use futures_util::FutureExt;
use mongodb::error::{Error, Result};

use super::api::{self, ClientSession};
use super::calls::{begin, Part, Pending};
use super::client::Target;
use crate::call::Answer;

/// Parts of a transaction, and how many attempts have begun.
pub struct Attempts<'a> {
    parts: Vec<Part<'a>>,
    begun: &'a mut u64,
}

/// Failure of a part whose answer is not right: the driver aborts its transaction.
struct WrongPart;

pub fn transaction<'a>(
    target: &'a Target,
    parts: Vec<Part<'a>>,
    begun: &'a mut u64,
) -> Pending<'a> {
    Box::pin(async move {
        match api::transaction(target, Attempts { parts, begun }).await {
            Err(failed) if failed.get_custom::<WrongPart>().is_some() => {
                Ok(Answer::right_if(false))
            }
            done => done,
        }
    })
}

/// An attempt of the driver's loop; each is given copies, as the driver's users give them.
pub async fn attempt(session: &mut ClientSession, attempts: &mut Attempts<'_>) -> Result<Answer> {
    *attempts.begun += 1;
    let mut all = Answer::right_if(true);
    for Part { target, kind, options, given } in &mut attempts.parts {
        let mut given = given.again();
        let answer = begin(target, *kind, options, &mut given, Some(&mut *session)).await?;
        if !answer.right {
            return Err(Error::custom(WrongPart));
        }
        all.documents += answer.documents;
        all.sum += answer.sum;
    }
    Ok(all)
}

/// An attempt whose calls block, so that it never waits.
#[cfg(feature = "sync")]
pub fn attempted(session: &mut ClientSession, attempts: &mut Attempts<'_>) -> Result<Answer> {
    attempt(session, attempts).now_or_never().expect("calls that block")
}
