//! A process with a BloomFilter of fastbloom; see process.go.

use fastbloom::BloomFilter;
use std::hash::BuildHasher;
use std::io::BufRead;
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |i: usize| args[i].parse::<usize>().unwrap();
    let keys = std::fs::read(&args[2]).unwrap();
    let (width, n) = (number(3), number(4));
    let builder = BloomFilter::with_false_pos(args[5].parse().unwrap());
    if args[1] == "fold" {
        let hasher = foldhash::fast::RandomState::default();
        run(builder.hasher(hasher).expected_items(n), &keys, width);
    } else {
        run(builder.expected_items(n), &keys, width);
    }
}

fn run<H: BuildHasher>(mut f: BloomFilter<H>, keys: &[u8], width: usize) {
    println!("ready {}", f.num_bits());
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        if words[0] == "empty" {
            f.clear();
            println!("0 0");
            continue;
        }
        let number = |i: usize| words[i].parse::<usize>().unwrap();
        let part = &keys[number(1) * width..][..number(2) * width];
        if words[0] == "fill" {
            add(&mut f, part, width);
            println!("0 0");
            continue;
        }
        find(&f, &keys[number(3) * width..][..number(2) * width], width);
        let start = Instant::now();
        let found = match words[0] {
            "add" => add(&mut f, part, width),
            _ => find(&f, part, width),
        };
        println!("{} {}", start.elapsed().as_nanos(), found);
    }
}

#[inline(never)]
fn add<H: BuildHasher>(f: &mut BloomFilter<H>, keys: &[u8], width: usize) -> usize {
    for key in keys.chunks_exact(width) {
        f.insert(key);
    }
    0
}

#[inline(never)]
fn find<H: BuildHasher>(f: &BloomFilter<H>, keys: &[u8], width: usize) -> usize {
    keys.chunks_exact(width).filter(|key| f.contains(*key)).count()
}
