//! `arknet-lab doctor`: can this machine measure?

use std::time::Instant;

use arknet_lab::run::calibrate::{Calibration, calibrate};
use arknet_lab::run::machine::Machine;
use arknet_lab::run::noise::Noise;
use arknet_lab::run::same::{self, Floor};
use serde::Serialize;

use super::exit::{End, Failure, print, say};

/// Wall time over processor time above which wall clocks measure the neighbours.
const WALL_OVER_CPU: f64 = 1.05;
/// Share of a processor that a hypervisor may take, percent.
const STEAL: f64 = 1.0;
/// Difference in processor time of equal programs above which nothing that anybody would publish
/// can be told apart, percent.
const CPU_FLOOR: f64 = 10.0;
/// Open files that the largest plan needs, with room: 1,024 clients, their servers, and a few.
const OPEN_FILES: u64 = 4096;

/// How to print it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Examination {
    fit: bool,
    machine: Machine,
    calibration: Option<Calibration>,
    floor: Option<Floor>,
    steal_percent: Option<f64>,
    pressure_percent: Option<f64>,
    faults: Vec<String>,
    warnings: Vec<String>,
    claims: Vec<String>,
}

/// Examines the machine; 0 when it can measure, 4 when it is too noisy.
pub(crate) fn run(args: &Args) -> Result<End, Failure> {
    say("calibrating, then measuring equal programs against each other: about ten seconds");
    let (before, started) = (Noise::read(), Instant::now());
    let calibration = calibrate();
    let floor = floor()?;
    let wall = started.elapsed().as_secs_f64();
    let after = Noise::read();
    let mut found = Examination {
        fit: true,
        machine: Machine::read(),
        calibration,
        floor: floor.as_ref().ok().cloned(),
        steal_percent: before.steal_percent(&after, wall),
        pressure_percent: before.pressure_percent(&after, wall),
        faults: Vec::new(),
        warnings: Vec::new(),
        claims: Vec::new(),
    };
    if let Err(reason) = floor {
        found
            .warnings
            .push(format!("equal programs could not be compared: {reason}"));
    }
    found.judge();
    let text = match args.json {
        true => serde_json::to_string(&found).map_err(Failure::broken)?,
        false => found.text(),
    };
    print(&text)?;
    Ok(if found.fit { End::Done } else { End::Noisy })
}

fn floor() -> Result<Result<Floor, String>, Failure> {
    let executable = std::env::current_exe().map_err(Failure::broken)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::broken)?;
    Ok(runtime.block_on(same::floor(&executable)))
}

impl Examination {
    fn judge(&mut self) {
        let ratio = self.calibration.as_ref().map(|it| it.wall_over_cpu.median);
        self.rule(
            "wall time over processor time",
            ratio.map(|r| (r - 1.0) * 100.0),
            (WALL_OVER_CPU - 1.0) * 100.0,
        );
        self.rule("time stolen by the hypervisor", self.steal_percent, STEAL);
        let cpu = self.floor.as_ref().and_then(|floor| floor.cpu_percent);
        self.rule("processor time of equal programs apart", cpu, CPU_FLOOR);
        self.warn();
        self.fit = self.faults.is_empty();
        self.claim();
    }

    /// Above the limit is a fault, above half of it a warning.
    fn rule(&mut self, what: &str, value: Option<f64>, limit: f64) {
        match value {
            Some(value) if value > limit => {
                self.faults
                    .push(format!("{what}: {value:.1} %, above {limit:.0} %"));
            }
            Some(value) if value > limit / 2.0 => {
                self.warnings
                    .push(format!("{what}: {value:.1} %, above half of {limit:.0} %"));
            }
            Some(_) => {}
            None => self.warnings.push(format!("{what}: not known here")),
        }
    }

    fn warn(&mut self) {
        let machine = &self.machine;
        let mut warnings = Vec::new();
        if machine.governor != "performance" && machine.governor != "unknown" {
            warnings.push(format!(
                "frequency governor is {}, not performance",
                machine.governor
            ));
        }
        if machine.virtualisation != "none seen" {
            warnings.push(format!(
                "this is a {}; its neighbours are not visible",
                machine.virtualisation
            ));
        }
        let soft = machine
            .open_files
            .split(' ')
            .next()
            .and_then(|soft| soft.parse::<u64>().ok());
        if soft.is_some_and(|soft| soft < OPEN_FILES) {
            warnings.push(format!("open files are limited to {}", machine.open_files));
        }
        if cfg!(debug_assertions) {
            warnings.push("this lab is a debug build; build it with --release".to_owned());
        }
        self.warnings.extend(warnings);
    }

    fn claim(&mut self) {
        let Some(floor) = &self.floor else {
            self.claims
                .push("nothing about speed: equal programs were not compared".to_owned());
            return;
        };
        if self.fit {
            self.claims.push(format!(
                "no difference in throughput below {:.1} %: equal programs differed by as much",
                floor.throughput_percent
            ));
        } else {
            self.claims
                .push("nothing that rests on a wall clock: throughput, response time".to_owned());
        }
        match floor.cpu_percent {
            Some(cpu) if cpu <= CPU_FLOOR => self.claims.push(format!(
                "no difference in processor time per message below {cpu:.1} %: equal programs differed by as much"
            )),
            _ => self.claims.push("nothing that rests on processor time".to_owned()),
        }
    }

    fn text(&self) -> String {
        let machine = &self.machine;
        let percent =
            |value: Option<f64>| value.map_or("unknown".to_owned(), |v| format!("{v:.1} %"));
        let mut lines = vec![
            format!(
                "cpu            {} · {} processors · governor {}",
                machine.cpu, machine.cpus, machine.governor
            ),
            format!(
                "system         {} · kernel {} · {}",
                machine.distribution, machine.kernel, machine.virtualisation
            ),
            format!(
                "limits         open files {} · quota {} · loopback MTU {}",
                machine.open_files, machine.cpu_quota, machine.loopback_mtu
            ),
        ];
        if let Some(calibration) = &self.calibration {
            let (ratio, cpu) = (calibration.wall_over_cpu, calibration.cpu_milliseconds);
            lines.push(format!(
                "calibration    wall/CPU {:.3} [{:.3}–{:.3}] · loop {:.2} ms CPU [{:.2}–{:.2}]",
                ratio.median, ratio.min, ratio.max, cpu.median, cpu.min, cpu.max
            ));
        }
        lines.push(format!(
            "meanwhile      stolen {} · some task waited for a processor {}",
            percent(self.steal_percent),
            percent(self.pressure_percent)
        ));
        if let Some(floor) = &self.floor {
            lines.push(format!("equal programs up to {:.1} % apart in throughput, {} in processor time per message ({} pairs)", floor.throughput_percent, percent(floor.cpu_percent), floor.pairs));
        }
        lines.extend(
            self.warnings
                .iter()
                .map(|warning| format!("warning        {warning}")),
        );
        lines.extend(
            self.faults
                .iter()
                .map(|fault| format!("FAULT          {fault}")),
        );
        lines.extend(
            self.claims
                .iter()
                .map(|claim| format!("may be claimed {claim}")),
        );
        lines.push(
            if self.fit {
                "this machine can measure"
            } else {
                "this machine is too noisy to measure"
            }
            .to_owned(),
        );
        lines.join("\n")
    }
}
