//! Measures fastbloom's BloomFilter; process.go has the rules.

use fastbloom::BloomFilter;
use std::hash::BuildHasher;
use std::io::BufRead;
use std::time::{Duration, Instant};

const ADD: usize = 0;
const PRESENT: usize = 1;
const ABSENT: usize = 2;
const OPS: usize = 3;

struct Workload {
    keys: Vec<u8>,
    width: usize,
    n: usize,
    window: usize,
    passes: usize,
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |i: usize| args[i].parse::<usize>().unwrap();
    let w = Workload {
        keys: std::fs::read(&args[2]).unwrap(),
        width: number(3),
        n: number(4),
        window: number(5),
        passes: number(6),
    };
    let builder = BloomFilter::with_false_pos(args[7].parse().unwrap());
    if args[1] == "fold" {
        let hasher = foldhash::fast::RandomState::default();
        run(builder.hasher(hasher).expected_items(w.n), w);
    } else {
        run(builder.expected_items(w.n), w);
    }
}

fn run<H: BuildHasher>(mut f: BloomFilter<H>, w: Workload) {
    w.round(&mut f, 0);
    let absent = &w.keys[w.n * w.width..];
    println!("ready {} {}", f.num_bits(), count(&f, absent, w.width));
    for line in std::io::stdin().lock().lines() {
        let ns = w.round(&mut f, line.unwrap().parse().unwrap());
        println!("{}", ns.map(|x| x.to_string()).join(" "));
    }
}

impl Workload {
    fn round<H: BuildHasher>(&self, f: &mut BloomFilter<H>, round: usize) -> [f64; OPS] {
        let (added, absent) = self.keys.split_at(self.n * self.width);
        let mut ns = [0.0; OPS];
        for _ in 0..self.passes {
            f.clear();
            ns[ADD] += timed(self.n, || add(f, added, self.width));
        }
        for (op, keys) in [(PRESENT, added), (ABSENT, absent)] {
            let windows = keys.len() / self.width / self.window;
            let mut found = 0;
            for pass in 0..self.passes {
                let size = self.window * self.width;
                let at = (round * self.passes + pass) % windows * size;
                let part = &keys[at..at + size];
                ns[op] += timed(self.window, || found += count(f, part, self.width));
            }
            assert!(op == ABSENT || found == self.passes * self.window);
        }
        ns.map(|x| x / self.passes as f64)
    }
}

/// Nanoseconds per key: of the processor's time if CPU_TIME is set, on 64-bit Linux.
fn timed(keys: usize, f: impl FnOnce()) -> f64 {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    if std::env::var_os("CPU_TIME").is_some() {
        let start = cpu_time();
        f();
        return (cpu_time() - start) as f64 / keys as f64;
    }
    let start = Instant::now();
    f();
    let elapsed: Duration = start.elapsed();
    elapsed.as_nanos() as f64 / keys as f64
}

/// Nanoseconds that this process has computed, as Linux tells.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn cpu_time() -> i64 {
    extern "C" {
        fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    }
    const PROCESS_CPUTIME: i32 = 2;
    let mut time = [0; 2];
    assert_eq!(unsafe { clock_gettime(PROCESS_CPUTIME, &mut time) }, 0);
    time[0] * 1_000_000_000 + time[1]
}

#[inline(never)]
fn add<H: BuildHasher>(f: &mut BloomFilter<H>, keys: &[u8], width: usize) {
    for key in keys.chunks_exact(width) {
        f.insert(key);
    }
}

#[inline(never)]
fn count<H: BuildHasher>(f: &BloomFilter<H>, keys: &[u8], width: usize) -> usize {
    keys.chunks_exact(width).filter(|key| f.contains(*key)).count()
}
