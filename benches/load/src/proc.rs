//! CPU time and memory of a server process (and its descendants), read from outside.
use std::{collections::HashMap, fs, sync::OnceLock};

/// The name of a program whose processes are not counted: the server behind a bridge.
static UNCOUNTED: OnceLock<String> = OnceLock::new();

pub fn leave_out(program: String) {
    let _ = UNCOUNTED.set(program);
}
/// The processes of a tree that are counted.
fn counted(root: u32) -> impl Iterator<Item = u32> {
    let is_left_out = |pid: u32| {
        let file = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        UNCOUNTED.get().is_some_and(|program| file.file_name().is_some_and(|name| *name == **program))
    };
    tree(root).into_iter().filter(move |&pid| !is_left_out(pid))
}

#[derive(Clone, Copy, Default)]
pub struct Cpu {
    /// ns, from clock_gettime() on the process's CPU clock: exact, counts exited threads too.
    pub clock_ns: u64,
    /// utime and stime in us from /proc/PID/stat (10 ms steps): the cross-check.
    pub user_us: u64,
    pub sys_us: u64,
}
impl std::ops::Add for Cpu {
    type Output = Cpu;
    fn add(self, o: Cpu) -> Cpu {
        Cpu { clock_ns: self.clock_ns + o.clock_ns, user_us: self.user_us + o.user_us, sys_us: self.sys_us + o.sys_us }
    }
}
impl std::ops::Sub for Cpu {
    type Output = Cpu;
    fn sub(self, o: Cpu) -> Cpu {
        Cpu {
            clock_ns: self.clock_ns.saturating_sub(o.clock_ns),
            user_us: self.user_us.saturating_sub(o.user_us),
            sys_us: self.sys_us.saturating_sub(o.sys_us),
        }
    }
}

fn clock(id: libc::clockid_t) -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    if unsafe { libc::clock_gettime(id, &mut t) } != 0 {
        return 0;
    }
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
pub fn own_cpu_ns() -> u64 {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of exactly one process.
pub fn cpu_one(pid: u32) -> Cpu {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let f: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let tick = 1_000_000 / unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as u64;
    let g = |i: usize| f.get(i).and_then(|x| x.parse::<u64>().ok()).unwrap_or(0) * tick;
    // The kernel's encoding of "CPU clock of process pid" (what clock_getcpuclockid returns).
    Cpu { clock_ns: clock((!(pid as libc::clockid_t) << 3) | 2), user_us: g(11), sys_us: g(12) }
}

pub fn tree(root: u32) -> Vec<u32> {
    let mut kids: HashMap<u32, Vec<u32>> = HashMap::new();
    for e in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = e.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
            continue;
        };
        let pp = stat
            .rsplit(')')
            .next()
            .and_then(|r| r.split_whitespace().nth(1).map(|x| x.parse().unwrap_or(0)))
            .unwrap_or(0);
        kids.entry(pp).or_default().push(pid);
    }
    let (mut out, mut i) = (vec![root], 0);
    while i < out.len() {
        if let Some(k) = kids.get(&out[i]) {
            out.extend(k);
        }
        i += 1;
    }
    out
}
pub fn cpu(root: u32) -> Cpu {
    counted(root).map(cpu_one).fold(Cpu::default(), |a, b| a + b)
}
/// CPU time of several processes, each with its descendants.
pub fn cpu_of(roots: &[u32]) -> Cpu {
    roots.iter().map(|&root| cpu(root)).fold(Cpu::default(), |a, b| a + b)
}
pub fn rss_of(roots: &[u32]) -> (u64, u64) {
    roots.iter().map(|&root| rss(root)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
}

/// (VmRSS, RssAnon) in KiB, over the process tree.
pub fn rss(root: u32) -> (u64, u64) {
    let mut r = (0, 0);
    for pid in counted(root) {
        for l in fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default().lines() {
            let kb = || l.split_whitespace().nth(1).and_then(|x| x.parse::<u64>().ok()).unwrap_or(0);
            if l.starts_with("VmRSS:") {
                r.0 += kb()
            } else if l.starts_with("RssAnon:") {
                r.1 += kb()
            }
        }
    }
    r
}
/// Starts measuring the peak of exactly one process, and returns its VmRSS in KiB.
pub fn reset_peak(pid: u32) -> u64 {
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
    peak(pid)
}
/// VmHWM of exactly one process in KiB.
pub fn peak(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    line.and_then(|l| l.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
pub fn loadavg() -> f64 {
    fs::read_to_string("/proc/loadavg")
        .ok()
        .and_then(|s| s.split(' ').next().and_then(|x| x.parse().ok()))
        .unwrap_or(-1.0)
}
