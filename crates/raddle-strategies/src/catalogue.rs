//! Every strategy with its parameters, source and promise, as shown by `raddle strategies`.

/// What kind of strategy it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Chooses at random.
    Randomized,
    /// Enumerates schedules.
    Systematic,
    /// Goes around another strategy.
    Wrapper,
}

/// A parameter of a strategy.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What holds if it is not given.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// A strategy that can be named.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name by which a specification begins.
    pub name: &'static str,
    /// What kind it is.
    pub family: Family,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Where it comes from.
    pub source: &'static str,
    /// What it promises.
    pub guarantee: &'static str,
}

const fn parameter(name: &'static str, default: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, default, meaning }
}

const STEPS: Parameter =
    parameter("steps", "learnt", "k, the number of steps of a run; the longest run seen if not given");

/// Every strategy, in the order of presentation.
pub const CATALOGUE: &[Entry] = &[
    Entry {
        name: "random-walk",
        family: Family::Randomized,
        summary: "any enabled thread at every step",
        parameters: &[],
        source: "baseline of all papers",
        guarantee: "any schedule of k steps and n threads: 1/n^k",
    },
    Entry {
        name: "pct",
        family: Family::Randomized,
        summary: "random thread priorities, lowered at depth-1 random steps",
        parameters: &[
            parameter("depth", "3", "d: a number, `drawn` (per run), or `auto` (from confidence and runs)"),
            STEPS,
            parameter("count", "all", "`all` steps count, or only `choices` (more than one thread enabled)"),
            parameter("at", "any", "change points at `any` step, or at `sync` operations only"),
            parameter("exit", "free", "`last`: a thread about to end the program waits for the others"),
            parameter("confidence", "0.95", "for depth=auto: the wanted chance of a hit"),
            parameter("runs", "10000", "for depth=auto: how many runs are planned"),
        ],
        source: "Burckhardt et al., ASPLOS 2010",
        guarantee: "a bug of depth d: 1/(n k^(d-1))",
    },
    Entry {
        name: "pct-large",
        family: Family::Randomized,
        summary: "PCT whose priorities are weights: a thread of low priority runs seldom, not last",
        parameters: &[parameter("depth", "3", "d, as for pct"), STEPS],
        source: "Yu and Narayanasamy, OOPSLA 2012 (PCTLarge)",
        guarantee: "every schedule can come up; no bound",
    },
    Entry {
        name: "random-delay",
        family: Family::Randomized,
        summary: "threads side by side, each of which sleeps now and then",
        parameters: &[
            parameter("one-in", "10", "of so many steps one is followed by a delay"),
            parameter("longest", "100", "the longest delay, in steps"),
        ],
        source: "a baseline in Yu and Narayanasamy, OOPSLA 2012",
        guarantee: "none",
    },
    Entry {
        name: "rpro",
        family: Family::Randomized,
        summary: "PCT whose change points lie within a radius of the first",
        parameters: &[
            parameter("depth", "3", "d, as for pct"),
            parameter("radius", "10", "r, in steps"),
            STEPS,
        ],
        source: "Cai and Yang, ASE 2016",
        guarantee: "a bug of depth d >= 2 and radius r: 1/(n k (2r+1)^(d-2))",
    },
    Entry {
        name: "basic-pos",
        family: Family::Randomized,
        summary: "a random priority for every event",
        parameters: &[],
        source: "Yuan, Yang, Gu, CAV 2018, section 4.1",
        guarantee: "an error guided by c events, d of them delayed: (c-d)!/c!",
    },
    Entry {
        name: "pos",
        family: Family::Randomized,
        summary: "a random priority for every event, drawn again after each conflict",
        parameters: &[parameter(
            "reads",
            "independent",
            "`dependent`: reads of one object conflict too (POS*- of the thesis)",
        )],
        source: "Yuan, Yang, Gu, CAV 2018; Yuan's thesis, chapter 3",
        guarantee: "any partial order: n^-k r^u (thesis, corollary 3.7; see `raddle lab bound`)",
    },
    Entry {
        name: "rapos",
        family: Family::Randomized,
        summary: "random batches of pairwise independent events",
        parameters: &[],
        source: "Sen, ASE 2007; Yuan's thesis, section 2.2.3",
        guarantee: "every partial order can come up; no bound",
    },
    Entry {
        name: "stride",
        family: Family::Randomized,
        summary: "a random walk in which the picked thread takes several steps",
        parameters: &[
            parameter("max", "2", "the longest stride, the same for all threads"),
            parameter(
                "confidence",
                "none",
                "instead of max: strides from thread lengths, for this confidence",
            ),
            parameter("runs", "10000", "with confidence: how many runs are planned"),
            parameter("edges", "1", "with confidence: how many least likely orders in one run"),
        ],
        source: "Abdelrasoul, ASE 2017",
        guarantee: "with confidence: the least likely order of two events that do not block, half of equation (5) a run",
    },
    Entry {
        name: "urw",
        family: Family::Randomized,
        summary: "a random walk weighted by what each thread still has to do",
        parameters: &[],
        source: "Selectively Uniform Concurrency Testing, ASPLOS 2025",
        guarantee: "uniform over interleavings, if counts are as learnt and nobody blocks",
    },
    Entry {
        name: "surw",
        family: Family::Randomized,
        summary: "uniform over the orders of one object's accesses, another object each run",
        parameters: &[],
        source: "Selectively Uniform Concurrency Testing, ASPLOS 2025",
        guarantee: "uniform over the orders of the target's accesses, if counts are as learnt and nobody waits",
    },
    Entry {
        name: "oos",
        family: Family::Randomized,
        summary: "a random order of the accesses to every racing object, all in one run",
        parameters: &[parameter("learn", "50", "how many runs are learnt from")],
        source: "Raddle",
        guarantee: "uniform over the orders of one racing object; none for several",
    },
    Entry {
        name: "upo",
        family: Family::Randomized,
        summary: "learns how many partial orders lie below each choice and samples them all alike",
        parameters: &[
            parameter(
                "nodes",
                "1000000",
                "how many nodes are kept; beyond them POS chooses among the threads not asleep",
            ),
            parameter("repeats", "avoided", "`allowed`: a partial order may come again before all were seen"),
        ],
        source: "Raddle",
        guarantee: "uniform over partial orders, once learnt; and an estimate of how many there are",
    },
    Entry {
        name: "maple",
        family: Family::Randomized,
        summary: "predicts interleavings that no run has had, and makes a run for each",
        parameters: &[
            parameter("window", "1000", "how many steps of a thread its accesses in an idiom may be apart"),
            parameter("profile", "3", "how many runs in a row that predict nothing new end the prediction"),
            parameter("attempts", "6", "how many runs are made in vain for one interleaving"),
            parameter("end", "100", "the end is when less than one in so many runs would show anything new"),
        ],
        source: "Yu and Narayanasamy, OOPSLA 2012",
        guarantee: "none; no run is made for an interleaving that a run has had",
    },
    Entry {
        name: "dfs",
        family: Family::Systematic,
        summary: "every schedule, depth first",
        parameters: &[],
        source: "textbook",
        guarantee: "every schedule exactly once",
    },
    Entry {
        name: "preemption",
        family: Family::Systematic,
        summary: "every schedule, those with fewest preemptions first",
        parameters: &[
            parameter("bound", "none", "the most preemptions"),
            parameter("sleep", "none", "`sets`: leave out schedules that differ in independent steps only"),
        ],
        source: "Musuvathi and Qadeer, PLDI 2007",
        guarantee: "every schedule with at most that many preemptions, exactly once (with sleep sets some are left out)",
    },
    Entry {
        name: "chess",
        family: Family::Systematic,
        summary: "preemption bounding with sleep sets",
        parameters: &[parameter("bound", "2", "the most preemptions")],
        source: "Musuvathi et al., OSDI 2008; baseline of the Maple paper",
        guarantee: "no schedule twice; a partial order within the bound may be left out",
    },
    Entry {
        name: "delay",
        family: Family::Systematic,
        summary: "every schedule, those with fewest deviations from round-robin first",
        parameters: &[parameter("bound", "none", "the most delays")],
        source: "Emmi, Qadeer, Rakamaric, POPL 2011",
        guarantee: "every schedule with at most that many delays, exactly once",
    },
    Entry {
        name: "dpor",
        family: Family::Systematic,
        summary: "one schedule per partial order, by source sets and sleep sets",
        parameters: &[],
        source: "Abdulla, Aronis, Jonsson, Sagonas, POPL 2014",
        guarantee: "every partial order exactly once (runs cut off by sleep sets are counted apart)",
    },
    Entry {
        name: "period",
        family: Family::Systematic,
        summary: "every schedule of two periods, then of three, and so on",
        parameters: &[parameter("periods", "none", "the most periods")],
        source: "Wen et al., ICSE 2022",
        guarantee: "every schedule with fewer switches than periods, if thread lengths are as learnt",
    },
    Entry {
        name: "conflict",
        family: Family::Wrapper,
        summary: "operations that never conflicted run at once, the others as the inner strategy (any randomized one but upo and maple) says",
        parameters: &[],
        source: "Morpheus, Yuan's thesis, section 4.2.3",
        guarantee: "the inner strategy's, over conflicting events, once these are known",
    },
    Entry {
        name: "conflict-place",
        family: Family::Wrapper,
        summary: "the same, but what conflicted is known by the place in the code alone, not by thread and place",
        parameters: &[],
        source: "Morpheus, Yuan's thesis, section 4.5.3",
        guarantee: "the inner strategy's, over conflicting events, once these are known",
    },
    Entry {
        name: "exit-last",
        family: Family::Wrapper,
        summary: "in three of four runs of the inner strategy (any randomized one) the program ends when nothing else can run",
        parameters: &[],
        source: "Raddle",
        guarantee: "the inner strategy's in a quarter of the runs; in the others for the program whose end waits",
    },
];
