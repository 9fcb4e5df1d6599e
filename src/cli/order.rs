//! `--order`, of `run` and of studies.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use stats::order::Order;

#[derive(Debug, Clone, Copy, Args)]
pub struct OrderArgs {
    /// Order of the arms at the start of a round and in its laps
    #[arg(long, value_parser = orders(), default_value = Order::default().word())]
    pub order: Order,
}

fn orders() -> impl TypedValueParser<Value = Order> {
    let value = |it: Order| {
        let caution = it.caution().map(|caution| PossibleValue::new(it.word()).help(caution));
        caution.unwrap_or_else(|| PossibleValue::new(it.word()))
    };
    let named = |word: String| Order::ALL.into_iter().find(|it| it.word() == word);
    PossibleValuesParser::new(Order::ALL.map(value))
        .map(move |word| named(word).expect("a possible value"))
}
