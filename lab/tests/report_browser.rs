//! The page in a real browser: it sorts and filters, prints, is readable in both colour schemes,
//! asks the network for nothing and complains about nothing.
//!
//! Skipped, loudly, where there is no Chromium, unless `ARKNET_REQUIRE_PEERS` is 1.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod fake;

use std::path::{Path, PathBuf};
use std::process::Command;

use arknet_lab::report::render;
use arknet_lab::run::plan::Plan;
use fake::Fake;

/// Names under which distributions install it.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The longest that a page may take, in milliseconds of the browser's clock.
const BUDGET: &str = "--virtual-time-budget=5000";

struct Browser {
    program: PathBuf,
    profile: PathBuf,
    page: String,
    _fake: Fake,
}

/// What one start of the browser printed.
struct Seen {
    dom: String,
    log: String,
}

impl Browser {
    /// A browser with the page of a session in which one cell failed.
    fn open(name: &str) -> Option<Self> {
        let Some(program) = find() else {
            let required = std::env::var("ARKNET_REQUIRE_PEERS").is_ok_and(|value| value == "1");
            assert!(
                !required,
                "no Chromium; install it: apt-get install chromium"
            );
            eprintln!("SKIPPED: no Chromium; install it: apt-get install chromium");
            return None;
        };
        let fake = Fake::new(name);
        fake.say("fault", "16 async");
        let plan = Plan::find("native-tcp").unwrap();
        fake.run(&plan.with(None, Some(2), None).unwrap(), false, None)
            .unwrap();
        let pages = render::report(&fake.session()).unwrap();
        let page = fake.session().join("report.html");
        std::fs::write(&page, &pages.html).unwrap();
        let profile = fake::beside(&fake.session(), "profile");
        Some(Self {
            program,
            profile,
            page: format!("file://{}", page.display()),
            _fake: fake,
        })
    }

    fn start(&self, fragment: &str, options: &[&str]) -> Seen {
        let _ = std::fs::remove_dir_all(&self.profile);
        let output = Command::new(&self.program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--enable-logging=stderr",
                "--v=0",
                BUDGET,
            ])
            .arg(format!("--user-data-dir={}", self.profile.display()))
            .args(options)
            .arg(format!("{}{fragment}", self.page))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Seen {
            dom: String::from_utf8_lossy(&output.stdout).into_owned(),
            log: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn dom(&self, fragment: &str) -> String {
        let seen = self.start(fragment, &["--dump-dom"]);
        assert!(
            !seen.log.contains("CONSOLE"),
            "the page complains: {}",
            seen.log
        );
        seen.dom
    }

    fn picture(&self, scheme: &str) -> Vec<u8> {
        let path = self.profile.with_file_name(format!("{scheme}.png"));
        let setting = if scheme == "dark" { 0 } else { 1 };
        self.start(
            "",
            &[
                &format!("--blink-settings=preferredColorScheme={setting}"),
                "--window-size=1280,900",
                &format!("--screenshot={}", path.display()),
            ],
        );
        std::fs::read(path).unwrap()
    }
}

fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let candidates = NAMES
        .iter()
        .flat_map(|name| directories.iter().map(move |d| d.join(name)));
    candidates
        .into_iter()
        .find(|candidate| Path::new(candidate).is_file())
}

/// The rows of a table in the order in which the browser has them: their attributes and content.
fn rows<'a>(dom: &'a str, table: &str) -> Vec<&'a str> {
    let table = dom
        .split_once(&format!("<table id=\"{table}\">"))
        .unwrap()
        .1;
    let body = table
        .split_once("<tbody>")
        .unwrap()
        .1
        .split_once("</tbody>")
        .unwrap()
        .0;
    body.split("<tr").skip(1).collect()
}

fn is_hidden(row: &str) -> bool {
    row.split_once('>').unwrap().0.contains(" hidden")
}

/// What the nth cell sorts by.
fn sort_value(row: &str, cell: usize) -> Option<f64> {
    let cell = row.split("<td").nth(cell + 1)?;
    let value = cell.split_once("data-sort=\"")?.1.split_once('"')?.0;
    value.parse().ok()
}

#[test]
fn a_table_sorts_in_both_directions_by_value_with_gaps_last() {
    let Some(browser) = Browser::open("sort") else {
        return;
    };
    let column = 4;
    for (direction, rising) in [("asc", true), ("desc", false)] {
        let fragment = format!("#sort=table-roundtrips_per_second:{column}:{direction}");
        let dom = browser.dom(&fragment);
        let rows = rows(&dom, "table-roundtrips_per_second");
        assert_eq!(rows.len(), 12);
        let values: Vec<Option<f64>> = rows.iter().map(|row| sort_value(row, column)).collect();
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        assert_eq!(known.len(), 6, "the six cells that did not fail");
        assert!(
            values[..6].iter().all(Option::is_some),
            "gaps are not last: {values:?}"
        );
        let ordered = known.windows(2).all(|two| {
            if rising {
                two[0] <= two[1]
            } else {
                two[0] >= two[1]
            }
        });
        assert!(ordered, "{direction}: {known:?}");
        assert!(dom.contains(if rising {
            "aria-sort=\"ascending\""
        } else {
            "aria-sort=\"descending\""
        }));
    }
}

#[test]
fn a_filter_hides_every_other_row_and_says_how_many_are_shown() {
    let Some(browser) = Browser::open("filter") else {
        return;
    };
    let whole = browser.dom("");
    assert!(rows(&whole, "data").iter().all(|row| !is_hidden(row)));
    assert!(
        !whole.contains("id=\"tools\" class=\"tools\" hidden"),
        "the tools stay hidden"
    );
    let filtered = browser.dom("#filter=window%3D16%3B%20sharded");
    let rows = rows(&filtered, "data");
    let shown: Vec<_> = rows.iter().filter(|row| !is_hidden(row)).collect();
    assert_eq!((rows.len(), shown.len()), (12, 2));
    assert!(
        shown
            .iter()
            .all(|row| row.contains("window=16;") && row.contains("io=sharded:4"))
    );
    assert!(filtered.contains("rows shown"));
}

#[test]
fn the_page_asks_the_network_for_nothing() {
    let Some(browser) = Browser::open("network") else {
        return;
    };
    let dom = browser.dom("");
    assert!(dom.contains("default-src 'none'"));
    for word in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!dom.contains(word), "{word}");
    }
}

#[test]
fn every_chart_has_a_title_a_description_and_real_text() {
    let Some(browser) = Browser::open("charts") else {
        return;
    };
    let dom = browser.dom("");
    let charts: Vec<&str> = dom.split("<svg").skip(1).collect();
    assert!(charts.len() >= 8, "{}", charts.len());
    for chart in charts {
        let chart = chart.split_once("</svg>").unwrap().0;
        assert!(chart.contains("<title>") && chart.contains("<desc>") && chart.contains("<text"));
    }
    assert!(dom.contains("class=\"cross\""), "no failure mark");
    assert!(dom.contains("class=\"one\""), "no line at 1");
    assert!(dom.contains("class=\"whisker\""), "no whiskers");
}

#[test]
fn it_prints() {
    let Some(browser) = Browser::open("print") else {
        return;
    };
    let path = browser.profile.with_file_name("report.pdf");
    browser.start(
        "",
        &[
            "--no-pdf-header-footer",
            &format!("--print-to-pdf={}", path.display()),
        ],
    );
    let pdf = std::fs::read(path).unwrap();
    assert!(
        pdf.starts_with(b"%PDF-") && pdf.len() > 20_000,
        "{} bytes",
        pdf.len()
    );
}

#[test]
fn the_two_colour_schemes_differ() {
    let Some(browser) = Browser::open("schemes") else {
        return;
    };
    let (light, dark) = (browser.picture("light"), browser.picture("dark"));
    assert!(light.starts_with(b"\x89PNG") && dark.starts_with(b"\x89PNG"));
    assert_ne!(light, dark);
}
