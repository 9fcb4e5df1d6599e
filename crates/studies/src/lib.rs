//! Studies: experiments made for a question, and the rules that answer it. A study is the folder
//! `studies/NAME/` with its definition, a module here, and its line in [`STUDIES`].

pub mod answerable;
pub mod broker;
pub mod bulk_load;
pub mod crud_scale;
pub mod definition;
pub mod doubts;
pub mod driver_upgrade;
pub mod finished;
pub mod frame;
pub mod noise;
pub mod outcome;
mod study;
mod table;
#[cfg(test)]
mod tests;
pub mod write_cost;

pub use definition::Asked;
pub use finished::{StudyTable, finished, own_files};
pub use outcome::{Made, Outcome};
pub use study::{Flag, Study, planned};

pub static STUDIES: [&dyn Study; 6] = [
    &broker::BrokerStudy,
    &bulk_load::BulkLoadStudy,
    &crud_scale::CrudScaleStudy,
    &driver_upgrade::DriverUpgradeStudy,
    &noise::NoiseStudy,
    &write_cost::WriteCostStudy,
];

pub fn find(name: &str) -> Option<&'static dyn Study> {
    STUDIES.into_iter().find(|study| study.name() == name)
}
