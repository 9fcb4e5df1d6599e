//! The suite `studies`: one program, so that shared code is linked once.

#[path = "../support/fake.rs"]
mod fake_support;
#[path = "../support/study.rs"]
mod study_support;
#[path = "../support/mod.rs"]
mod support;

mod study_budget;
mod study_bulk_load;
mod study_crud_scale;
mod study_faults;
mod study_noise;
mod study_resume;
mod study_server;
mod study_upgrade;
mod study_whole;
mod study_write_cost;
