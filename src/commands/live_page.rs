//! `--live`: the page of a folder while the folder fills.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::ask::Here;
use base::error::{Error, Result};
use base::live::{self, Viewer};
use base::say;
use report::live_server::LiveServer;

/// The page until the end of its run.
pub struct LivePage(Arc<LiveFolder>);

struct LiveFolder {
    server: LiveServer,
    path: PathBuf,
    history: Option<PathBuf>,
}

/// Serves the page of what fills `path`, where `--live` asks for it.
///
/// # Errors
/// No port is free.
pub fn serve(here: &Here, path: &Path) -> Result<Option<LivePage>> {
    if !here.live {
        return Ok(None);
    }
    let server = LiveServer::start().map_err(|error| {
        Error::environment(format!("--live: no page can be served: {error}"), "leave out --live")
    })?;
    say!("live page: {}", server.address());
    let (path, history) = (path.to_owned(), here.history.clone());
    let folder = Arc::new(LiveFolder { server, path, history });
    live::set_viewer(Some(folder.clone()));
    Ok(Some(LivePage(folder)))
}

impl Viewer for LiveFolder {
    fn show(&self, state: &str, words: &str) {
        self.server.show(state, words);
    }

    fn round_ended(&self) {
        match super::report::page(&self.path, self.history.clone()) {
            Ok(page) => self.server.publish(&page),
            Err(error) => say::once(format!("the live page stays as it was: {error}")),
        }
    }
}

impl Drop for LivePage {
    fn drop(&mut self) {
        live::set_viewer(None);
        let file = self.0.path.join("report.html");
        let page = fs::read_to_string(&file).ok();
        let kept = page.as_ref().map_or_else(
            || "no round was finished".to_owned(),
            |_| format!("this page is kept in {}", file.display()),
        );
        self.0.server.end(page.as_deref(), &kept);
    }
}
