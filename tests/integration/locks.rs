// SPDX-License-Identifier: MIT
// locks.rs ROUNDS: Rust's threads, Mutex, Condvar, RwLock, channels and atomics, which are futexes of its own.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{mpsc, Arc, Condvar, Mutex, RwLock};
use std::thread;

fn main() {
    let rounds: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let order = Arc::new((Mutex::new(0u64), Condvar::new()));
    let sum = Arc::new(AtomicU64::new(0));
    let shared = Arc::new(RwLock::new(vec![0u64; 4]));
    let (tx, rx) = mpsc::channel();
    let mut threads = vec![];
    for t in 0..4usize {
        let (order, sum, shared, tx) = (order.clone(), sum.clone(), shared.clone(), tx.clone());
        threads.push(thread::spawn(move || {
            let mut last = 0;
            for i in 0..rounds {
                {
                    let mut o = order.0.lock().unwrap();
                    *o = o.wrapping_mul(31).wrapping_add(t as u64);
                    last ^= *o;
                    order.1.notify_one();
                }
                sum.fetch_add(i, Ordering::Relaxed);
                if i % 100 == 0 {
                    shared.write().unwrap()[t] += i;
                    tx.send((t, last)).unwrap();
                } else {
                    last ^= shared.read().unwrap()[(t + 1) % 4];
                }
            }
            last
        }));
    }
    drop(tx);
    let mut seen = 0u64;
    for (t, v) in rx {
        seen = seen.wrapping_mul(1099511628211).wrapping_add(v ^ t as u64);
    }
    let mut last = 0u64;
    for t in threads {
        last = last.wrapping_add(t.join().unwrap());
    }
    // the order decides the first three
    println!("{:x} {:x} {:x}", seen, last, *order.0.lock().unwrap());
    println!("{}", sum.load(Ordering::SeqCst));
}
