//! Studies: experiments made for a question, and the rules that make an answer of them.

pub mod broker;
pub mod definition;
