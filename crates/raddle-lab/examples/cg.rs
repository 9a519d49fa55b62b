//! x
use raddle_lab::*; use raddle_engine::*;
fn main(){ let th: Vec<Vec<String>> = ["Wz Wy Wy Wz","Wx Ww Wy Wx","Ww Wx Ww Wy","Wz Wx Ww Wz"].iter().map(|t|t.split(' ').map(String::from).collect()).collect();
 let a: Vec<String> = std::env::args().collect(); let rep: usize = a[3].parse().unwrap(); let th: Vec<Vec<String>> = th.iter().map(|t| { let mut v=vec![]; for _ in 0..rep { v.extend(t.clone()); } v }).collect(); let a: Vec<String> = std::env::args().collect(); let runs: u64 = a[2].parse().unwrap();
 let tally=sample(Job{program:Box::new(Straight::new(&th,false).unwrap()),strategy:raddle_strategies::build(&a[1]).unwrap(),config:Config::default(),seed:1,runs,in_order:false,until_failure:false},1,&|_|()); println!("{}", tally.census.distinct()); }
