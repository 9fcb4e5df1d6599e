//! The records of link and tap.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A simulated link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// The link as asked for.
    pub asked: String,
    /// Sizes of its buffers, in words.
    pub buffers: String,
    /// What the link's own check measured before the first round.
    pub check: LinkCheck,
}

/// How the link measured up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkCheck {
    /// The bandwidth of the direction that was further off.
    pub bandwidth_measured_mbit: f64,
    /// Against the one asked for; + is faster.
    pub bandwidth_error_percent: f64,
    /// Median round trip of a small message, us.
    pub ping_rtt_us: f64,
    /// Against the one asked for; + is slower.
    pub ping_error_us: f64,
    /// Bandwidth within 5 %, ping within 5 % or 50 us.
    pub ok: bool,
    /// In words.
    pub sentence: String,
}

/// Commands and bytes on the wire in one phase of one run (methodology 8.3).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tap {
    /// By command name; legacy opcodes as `OP_INSERT`, compressed messages as `OP_COMPRESSED`.
    pub commands: BTreeMap<String, TapCommand>,
    /// Commands an operation.
    pub round_trips_per_op: f64,
    /// Bytes to the server, an operation.
    pub bytes_out_per_op: f64,
    /// Bytes from the server, an operation.
    pub bytes_in_per_op: f64,
    /// Connections opened during the turns.
    pub connections_opened: u64,
    /// Connections closed during the turns.
    pub connections_closed: u64,
    /// Most connections open at once.
    pub connections_peak: u64,
    /// Connections open during the turns that carried none of the operations' commands: monitors
    /// and spares.
    #[serde(default)]
    pub connections_idle: u64,
    /// Mean number of commands under way during the turns.
    pub in_flight_mean: f64,
    /// Most commands under way at once.
    #[serde(default)]
    pub in_flight_peak: u64,
    /// The mean of each turn, in order.
    #[serde(default)]
    pub in_flight_by_turn: Vec<f64>,
    /// Server and wire: the sum of p3 - p1 over the operations, us an operation.
    pub server_us_per_op: f64,
    /// Time on the simulated link, both ways, us an operation; 0 without `--link`.
    pub link_us_per_op: f64,
    /// Service time less server and link, us an operation; None where it is not separable.
    pub driver_us_per_op: Option<f64>,
    /// Median from call to last request byte, us, of the operations matched one to one.
    pub encode_p50_us: Option<f64>,
    /// Median from last reply byte to return, us, of the operations matched one to one.
    pub decode_p50_us: Option<f64>,
    /// Operations matched one to one with their commands.
    pub matched_operations: u64,
    /// Why the driver's share cannot be told, in words.
    pub not_separable: Option<String>,
}

/// One command of one phase of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TapCommand {
    /// How many.
    pub count: u64,
    /// Commands that belong to no operation: handshakes and monitors.
    #[serde(default)]
    pub background: u64,
    /// Documents in inserts, statements in updates and deletes; 0 for others.
    pub documents: u64,
    /// Bytes to the server.
    pub bytes_out: u64,
    /// Bytes from the server.
    pub bytes_in: u64,
    /// Without an answer (w:0).
    pub unanswered: u64,
    /// Server and wire, p50, us; None where too few.
    pub server_p50_us: Option<f64>,
    /// Server and wire, p99, us; None where too few.
    pub server_p99_us: Option<f64>,
    /// Top-level field names of the commands seen, sorted (`lsid`, `txnNumber`, …).
    pub fields: Vec<String>,
    /// Sizes of the batches on the wire: documents a command, and the number of such commands.
    pub batches: BTreeMap<u32, u64>,
}
