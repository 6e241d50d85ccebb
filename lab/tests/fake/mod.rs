//! A measuring program that pretends: it answers at once with what it was asked and round figures.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use arknet_lab::run::measurement::COUNTERS;
use arknet_lab::run::plan::{Cell, Plan};
use arknet_lab::run::record::Run;
use arknet_lab::run::runner::{self, Observer, Outcome, Request, RunError};
use arknet_lab::run::schedule::Step;
use tokio::sync::watch;

/// A scratch directory with the program and a place for the session.
pub(crate) struct Fake {
    root: PathBuf,
}

/// Interrupt when the process after this many begins.
pub(crate) struct StopAfter(pub(crate) usize);

impl Fake {
    pub(crate) fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("arknet-lab-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(&root).unwrap();
        let fake = Self { root };
        fake.write_program(&script());
        fake
    }

    pub(crate) fn session(&self) -> PathBuf {
        self.root.join("session")
    }

    /// Tells the program how to behave: `fault` with a window and an arm, or `hang`.
    pub(crate) fn say(&self, what: &str, text: &str) {
        std::fs::write(self.root.join(what), text).unwrap();
    }

    pub(crate) fn change_program(&self) {
        self.write_program(&format!("{}\n# another build\n", script()));
    }

    pub(crate) fn run(
        &self,
        plan: &Plan,
        resume: bool,
        stop: Option<StopAfter>,
    ) -> Result<Outcome, RunError> {
        let request = Request {
            executable: self.program(),
            directory: self.session(),
            plan: plan.clone(),
            resume,
        };
        let (send, receive) = watch::channel(false);
        let mut observer = Stopper { send, stop };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(runner::run(&request, &mut observer, receive))
    }

    /// Runs a session whose first process hangs, and interrupts it once that process says that it
    /// runs; `ended` is told the process and says whether it ended.
    #[cfg(target_os = "linux")]
    pub(crate) fn run_hanging<T: Send + 'static>(
        &self,
        plan: &Plan,
        watch_it: impl FnOnce(rustix::process::Pid) -> T + Send + 'static,
        judge: impl FnOnce(T) -> bool,
    ) -> (Outcome, bool) {
        self.say("hang", "yes");
        let pipe = self.root.join("pid");
        let made = std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap();
        assert!(made.success());
        let (send, receive) = watch::channel(false);
        let watcher = std::thread::spawn(move || {
            // Opening blocks until the process writes.
            let pid = std::fs::read_to_string(&pipe)
                .unwrap()
                .trim()
                .parse()
                .unwrap();
            let watched = watch_it(rustix::process::Pid::from_raw(pid).unwrap());
            send.send_replace(true);
            (watched, send)
        });
        let request = Request {
            executable: self.program(),
            directory: self.session(),
            plan: plan.clone(),
            resume: false,
        };
        let mut observer = Stopper {
            send: watch::channel(false).0,
            stop: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let outcome = runtime
            .block_on(runner::run(&request, &mut observer, receive))
            .unwrap();
        let (watched, _send) = watcher.join().unwrap();
        (outcome, judge(watched))
    }

    fn program(&self) -> PathBuf {
        self.root.join("measure.sh")
    }

    fn write_program(&self, text: &str) {
        // Written beside and renamed: the program may not be open for writing when it is run.
        let draft = self.root.join("draft");
        std::fs::write(&draft, text).unwrap();
        std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(draft, self.program()).unwrap();
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

struct Stopper {
    send: watch::Sender<bool>,
    stop: Option<StopAfter>,
}

impl Observer for Stopper {
    fn started(&mut self, _cell: &Cell, _step: &Step, done: usize, _total: usize) {
        if self.stop.as_ref().is_some_and(|stop| stop.0 == done) {
            self.send.send_replace(true);
        }
    }

    fn ended(&mut self, _run: &Run) {}
}

/// Where a file lies that the program was told something with.
pub(crate) fn beside(session: &Path, name: &str) -> PathBuf {
    session.with_file_name(name)
}

fn script() -> String {
    let counters: Vec<String> = COUNTERS
        .iter()
        .filter(|name| **name != "content_errors")
        .map(|name| format!("\"{name}\":0"))
        .collect();
    include_str!("measure.sh").replace("@COUNTERS@", &counters.join(","))
}
