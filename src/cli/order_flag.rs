//! `--order`, of `run` and of studies.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use stats::order::Order;

#[derive(Debug, Clone, Copy, Args)]
pub struct OrderArgs {
    /// Order of the arms in rounds and laps; the report says if it was not shuffled
    #[arg(long, value_parser = orders(), default_value = Order::default().word())]
    pub order: Order,
}

fn orders() -> impl TypedValueParser<Value = Order> {
    let named = |word: String| Order::ALL.into_iter().find(|it| it.word() == word);
    PossibleValuesParser::new(Order::ALL.map(Order::word))
        .map(move |word| named(word).expect("a possible value"))
}
