//! One connection and the messages of a driver that sends a write concern and offers a compressor.

use std::io::Write as _;
use std::net::TcpStream;

use adapter::protocol::AdapterOperation;
use bson::{RawDocumentBuf, rawdoc};
use workload::plan::OperationKind;

pub struct Driver {
    connection: TcpStream,
    database: String,
}

impl Driver {
    pub fn open(host: &str, database: &str) -> Self {
        let connection = TcpStream::connect(host).expect("a server");
        let mut driver = Self { connection, database: database.to_owned() };
        driver.exchange(&rawdoc! {
            "hello": 1, "$db": "admin", "compression": ["zstd"],
            "client": { "application": { "name": "double" }, "driver": { "name": "fake-driver" } },
        });
        driver
    }

    pub fn send(&mut self, operation: &AdapterOperation) {
        let (of, database) = (operation.collection.as_str(), self.database.as_str());
        match operation.kind {
            OperationKind::InsertOne => self.exchange(&rawdoc! {
                "insert": of, "$db": database, "documents": [{ "_id": 1 }],
                "writeConcern": { "w": 1, "j": true },
            }),
            OperationKind::FindOne => self.exchange(&rawdoc! {
                "find": of, "$db": database, "filter": {}, "limit": 1,
                "$readPreference": { "mode": "nearest" },
            }),
            _ => {}
        }
    }

    fn exchange(&mut self, command: &RawDocumentBuf) {
        let mut message = Vec::new();
        wire::reply_messages::msg(&mut message, 1, 0, command);
        self.connection.write_all(&message).expect("sent");
        wire::read_message(&mut self.connection, &mut message).expect("an answer");
    }
}
