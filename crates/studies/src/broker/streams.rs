//! The part `streams`: a tailable cursor and a change stream side by side. It is made in place of
//! the study's own experiment, whose server is no replica set.

use super::CONSUMER;
use crate::definition::{Asked, Definition};
use crate::study;
use base::error::Result;
use record::study_folder::StudyPart;
use record::words::Words;

pub const NAME: &str = "streams";

pub fn definition() -> Definition {
    Definition::read(include_str!("../../../../studies/broker/streams.toml"))
}

/// The part, with `own` parameters beside the count of its messages.
///
/// # Errors
/// A scale that makes no experiment.
pub fn part(asked: &Asked, own: Option<(&str, String)>) -> Result<StudyPart> {
    let definition = definition();
    let (_, messages) = definition.scale(asked)?;
    let own = own.into_iter().chain([("messages", messages.to_string())]);
    let (drivers, rounds) = (definition.drivers(asked), definition.rounds(asked, messages));
    let mut part = study::part(NAME, &definition.workload, own, &drivers, rounds, asked);
    if let Some(consumer) = asked.flags.get(CONSUMER) {
        part.request.consumer = Some(Words::new(consumer));
    }
    // A server that the user names is taken as it is.
    if asked.server().is_none() && !asked.by_uri() {
        part.request.on_server(definition.server);
    }
    Ok(part)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::broker::BrokerStudy;
    use crate::study::{Study as _, planned};
    use record::request::Request;

    fn words(request: Request) -> String {
        words_of(Asked { request, ..Asked::default() })
    }

    fn words_of(asked: Asked) -> String {
        let asked = Asked { parts: vec![NAME.to_owned()], ..asked };
        let parts = planned(&BrokerStudy, &asked).expect("a plan");
        assert_eq!(parts.len(), 1);
        parts[0].request.words().expect("words").join(" ")
    }

    #[test]
    fn it_is_measured_on_a_replica_set_or_on_the_server_that_is_named() {
        assert_eq!(
            words(Request::default()),
            "broker-streams --set messages=900 -d node -d python --rounds 6 \
             --server embedded:replset=1"
        );
        let server = Some(Words::new("mongod:replset=3"));
        let named = words(Request { server, ..Request::default() });
        assert!(named.ends_with(" --server mongod:replset=3"), "{named}");
        let uri = Some(Words::new("mongodb://h"));
        assert!(!words(Request { uri, ..Request::default() }).contains("--server"));
    }

    #[test]
    fn what_is_asked_of_the_study_holds_for_it() {
        let request = Request {
            quick: true,
            drivers: vec![Words::new("rust")],
            rounds: Some(2),
            parameters: BTreeMap::from([("rate".to_owned(), "100".to_owned())]),
            ..Request::default()
        };
        let asked = Asked {
            request,
            flags: BTreeMap::from([(CONSUMER, "python".to_owned())]),
            ..Asked::default()
        };
        assert_eq!(
            words_of(asked),
            "broker-streams --set messages=300 --set rate=100 --set warmup=0.1 -d rust --rounds 2 \
             --consumer python --server embedded:replset=1"
        );
    }

    #[test]
    fn another_part_is_refused() {
        let asked = Asked { parts: vec!["stream".to_owned()], ..Asked::default() };
        let error = planned(&BrokerStudy, &asked).expect_err("no part");
        assert_eq!(error.hint, "it has streams");
    }

    #[test]
    fn its_scales_are_those_of_the_study() {
        let (own, all) = (definition(), BrokerStudy.definition());
        let scales = |it: Definition| [it.scale_max, it.scale, it.quick_scale].map(f64::to_bits);
        assert_eq!(scales(own), scales(all));
    }
}
