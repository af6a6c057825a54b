use harness::problem::wavegru::{reference::*, weights::*};
fn main() {
    let a: Vec<u64> = std::env::args().skip(1).map(|v| v.parse().unwrap()).collect();
    let (h, n, s0, count) = (a[0] as usize, a[1] as usize, a[2], a[3]);
    let t=std::time::Instant::now();
    let w = Weights::draw(h, 1);
    eprintln!("weights {:?}", t.elapsed());
    let _=w.digest();
    eprintln!("digest {:?}", t.elapsed());
    let m = Model::new(&w);
    eprintln!("model {:?}", t.elapsed());
    let starts: Vec<Start> = (s0..s0+count).map(|s| Start::draw(h, s)).collect();
    let threads = a.get(4).map(|v| *v as usize).unwrap_or(std::thread::available_parallelism().unwrap().get());
    let r = m.run(&starts, Sampling{steps:n, first_token:128, temperature:1.0, min_p:0.05}, threads, &mut |d,a| if d%2048==0 {eprintln!("{d}/{a} {:?}", t.elapsed())});
    for (s,r) in starts.iter().zip(&r) {
        println!("{} margin {:.2e} at {} entropy {:.2} minp {} {:?}", s.seed, r.margin, r.margin_step, r.entropy, r.min_p_changed, &r.tokens[..6]);
    }
    eprintln!("{:?}", t.elapsed());
}
