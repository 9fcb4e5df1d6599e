//! The suite `others`: one program, so that shared code is linked once.

#[path = "../fake_support/mod.rs"]
mod fake_support;
#[path = "../support/mod.rs"]
mod support;

mod bisect;
mod blocks;
mod cli;
mod conditions;
mod diff;
mod disturbed;
mod environments;
mod faults;
mod faults_databases;
mod faults_deployments;
mod faults_files;
mod faults_output;
mod faults_passwords;
mod faults_processes;
mod faults_server;
mod gates;
mod hangs;
mod histories;
mod hostile_servers;
mod impossible;
mod installs;
mod limits;
mod machine;
mod order;
mod over_time;
mod probe;
mod results;
mod schemas;
mod seen;
mod servers;
mod sources;
mod taking_part;
mod tls;
mod versions;
