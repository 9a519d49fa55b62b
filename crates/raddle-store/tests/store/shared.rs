//! Stores in files, and in a PostgreSQL database if `RADDLE_POSTGRES` names one (tools/postgres.sh): the same tests.

use crate::common::{self, EXPOSED, FAILED, each, entry, open, pair, place, search};
use raddle_model::{Action, Idiom, Standing};
use raddle_store::{
    Campaign, CampaignCause, CampaignTurn, Entry, Location, NewFailure, Night, Replay, Sighting,
};
use std::path::Path;

#[test]
fn entries_survive_reopening() {
    each("reopened", |path| {
        let mut store = open(path);
        assert_eq!(store.add(&[pair(1, EXPOSED), pair(2, FAILED)], &search(10)).expect("it is written"), 1);
        drop(store);
        let mut store = open(path);
        assert_eq!(store.entries().expect("it is read"), [pair(1, EXPOSED), pair(2, FAILED)]);
        // Numbers add up, and only an iRoot exposed for the first time is new.
        let again = [pair(1, EXPOSED), pair(2, FAILED), pair(2, EXPOSED)];
        assert_eq!(store.add(&again, &search(5)).expect("it is written"), 1);
        let both = Standing { exposed: true, predicted: true, failed: 4, met: 2 };
        assert_eq!(store.entries().expect("it is read"), [pair(1, EXPOSED), pair(2, both)]);
        let searches = store.searches().expect("it is read");
        assert_eq!(
            searches.iter().map(|made| (made.what.runs, made.fresh)).collect::<Vec<_>>(),
            [(10, 1), (5, 1)]
        );
    });
}

#[test]
fn the_two_readings_of_idiom_5_are_one() {
    each("idiom_five", |path| {
        let mut store = open(path);
        let sites: Vec<(Location, Action)> = (0..4).map(|n| (place("f", 1, n), Action::Lock)).collect();
        let mut turned = sites.clone();
        turned.rotate_left(2);
        store.add(&[entry(Idiom::Five, &sites, EXPOSED)], &search(1)).expect("it is written");
        assert_eq!(store.add(&[entry(Idiom::Five, &turned, EXPOSED)], &search(1)).expect("it is written"), 0);
        // In the other idioms order matters.
        store.add(&[entry(Idiom::Four, &sites, EXPOSED)], &search(1)).expect("it is written");
        assert_eq!(store.add(&[entry(Idiom::Four, &turned, EXPOSED)], &search(1)).expect("it is written"), 1);
        assert_eq!(store.entries().expect("it is read").len(), 3);
    });
}

#[test]
fn only_changed_code_is_removed() {
    each("forgotten", |path| {
        let mut store = open(path);
        let other = entry(
            Idiom::One,
            &[(place("other", 7, 1), Action::Write), (place("other", 7, 21), Action::Read)],
            EXPOSED,
        );
        let all: Vec<Entry> = (1..=30).map(|offset| pair(offset, EXPOSED)).chain([other.clone()]).collect();
        store.add(&all, &search(1)).expect("it is written");
        // A location with the number 1 must not take those with 10 or 21 with it.
        let set_1 = |(place, _): &(Location, Action)| place.offset == 1 && place.function == "set";
        assert_eq!(store.forget(|entry| !entry.sites.iter().any(set_1)).expect("it is written"), 1);
        // Shared locations stay, and are reused later.
        assert_eq!(store.entries().expect("it is read"), all[1..]);
        store.add(&[pair(99, EXPOSED)], &search(1)).expect("it is written");
        assert_eq!(store.entries().expect("it is read"), [&all[1..], &[pair(99, EXPOSED)]].concat());
        assert_eq!(store.forget(|entry| entry.sites[1].0.body != u64::MAX).expect("it is written"), 30);
        assert_eq!(store.entries().expect("it is read"), [other]);
    });
}

#[test]
fn locations_with_different_callers_are_different() {
    each("callers", |path| {
        let mut store = open(path);
        let called = |callers: &[u64]| {
            let caller = callers.iter().rev().fold(None, |caller, &offset| {
                Some(Box::new(Location { caller, ..place("main", 9, offset) }))
            });
            let sites = [
                (Location { caller, ..place("set", 1, 2) }, Action::Write),
                (place("get", 3, 4), Action::Read),
            ];
            entry(Idiom::One, &sites, EXPOSED)
        };
        let all = [called(&[]), called(&[1]), called(&[2]), called(&[1, 2]), called(&[2, 1])];
        assert_eq!(store.add(&all, &search(1)).expect("it is written"), 5);
        assert_eq!(store.add(&all, &search(1)).expect("it is written"), 0);
        assert_eq!(store.entries().expect("it is read"), all);
        let identities: std::collections::BTreeSet<_> = all.iter().map(Entry::identity).collect();
        assert_eq!(identities.len(), 5);
        // Callers of kept locations are kept, and nothing else.
        let kept = |entry: &Entry| entry.sites[0].0.way().count() == 3;
        assert_eq!(store.forget(kept).expect("it is written"), 3);
        assert_eq!(store.entries().expect("it is read"), all[3..]);
    });
}

#[test]
fn concurrent_writes_lose_nothing() {
    each("written_at_once", |path| {
        std::thread::scope(|scope| {
            for writer in 0..4 {
                scope.spawn(move || {
                    for turn in 0..25 {
                        // The first ones also create the file.
                        let mut store = open(path);
                        store
                            .add(&[pair(writer * 100 + turn, EXPOSED), pair(7_000, FAILED)], &search(1))
                            .expect("it is written");
                    }
                });
            }
        });
        let entries = open(path).entries().expect("it is read");
        assert_eq!(entries.len(), 101);
        let common = entries.iter().find(|entry| entry.sites[0].0.offset == 7_000).expect("it is there");
        assert_eq!(common.standing.failed, 200);
    });
}

/// Returns a campaign that has no state yet.
fn campaign(path: &Path) -> Campaign {
    Campaign::open(path).expect("it can be opened").0
}

fn turn(target: &str, worker: &str, number: u64) -> CampaignTurn {
    CampaignTurn {
        target: target.to_owned(),
        worker: worker.to_owned(),
        number,
        night: 1,
        at: 1_000 + number as i64,
        build: "gnu:1".to_owned(),
        seed: u64::MAX - number,
        seconds: 0.25 * number as f64,
        runs: 100,
        orders: vec![number, u64::MAX, 1 << 63],
        ..CampaignTurn::default()
    }
}

fn failure(id: &str, worker: &str, number: u64, steps: u64) -> NewFailure {
    let cause = CampaignCause { id: id.to_owned(), target: "a".to_owned(), ..CampaignCause::default() };
    let (cause_of, worker, at) = (id.to_owned(), worker.to_owned(), number as i64);
    let sighting = Sighting { cause: cause_of, worker, turn: number, night: 1, at };
    NewFailure { cause, sighting, schedule: format!("a schedule with {steps} steps"), steps }
}

/// Everything that two campaigns can differ in.
type State =
    (Vec<Night>, Vec<CampaignTurn>, Vec<CampaignCause>, Vec<Sighting>, Vec<(String, String)>, Vec<Replay>);

fn state(campaign: &Campaign) -> State {
    let read = "it can be read";
    (
        campaign.nights().expect(read),
        campaign.turns().expect(read),
        campaign.causes().expect(read),
        campaign.sightings().expect(read),
        campaign.schedules().expect(read),
        campaign.replays().expect(read),
    )
}

#[test]
fn the_state_of_a_campaign_survives_reopening() {
    each("campaign_reopened", |path| {
        let kept = campaign(path);
        kept.set("seed", "1").expect("it is written");
        kept.set("seed", "7").expect("it is written");
        let night = Night { worker: "w".to_owned(), number: 1, began: 5, ended: 0, budget: "all".to_owned() };
        kept.add_night(&night).expect("it is written");
        let night = Night { ended: 9, ..night };
        kept.add_night(&night).expect("it is written");
        let turns = [turn("a", "w", 1), turn("a", "w", 2), turn("b", "w", 1)];
        kept.add_turn(&turns[1], Some(&failure("c", "w", 2, 30))).expect("it is written");
        kept.add_turn(&turns[0], None).expect("it is written");
        kept.add_turn(&turns[2], Some(&failure("c", "w", 1, 20))).expect("it is written");
        // A longer schedule and a later sighting of the same turn change nothing.
        kept.add_failure(&failure("c", "w", 1, 40)).expect("it is written");
        kept.add_alias("name", "c").expect("it is written");
        let before = state(&kept);
        drop(kept);
        let kept = Campaign::open_to_read(path).expect("it is there");
        assert_eq!(state(&kept), before);
        assert_eq!((&before.0[..], &before.1[..]), (&[night][..], &turns[..]));
        assert_eq!(before.3.len(), 2);
        assert_eq!(before.4, [("c".to_owned(), "a schedule with 20 steps".to_owned())]);
        assert_eq!(kept.setting("seed").expect("it can be read").as_deref(), Some("7"));
        assert_eq!(kept.aliases().expect("they can be read"), [("name".to_owned(), "c".to_owned())]);
        assert!(kept.set("seed", "8").is_err() || raddle_store::url(path).is_some());
    });
}

#[test]
fn merges_of_campaigns_are_idempotent_and_commutative() {
    each("campaign_merged", |path| {
        let other = common::fresh("campaign_merged_other");
        let third = common::fresh("campaign_merged_third");
        let (one, two, all) = (campaign(path), campaign(&other), campaign(&third));
        one.add_turn(&turn("a", "one", 1), Some(&failure("c", "one", 1, 30))).expect("it is written");
        two.add_turn(&turn("a", "two", 1), Some(&failure("c", "two", 1, 20))).expect("it is written");
        // The same turn, which came further on one of them.
        let further = CampaignTurn { runs: 250, ..turn("b", "both", 1) };
        one.add_turn(&turn("b", "both", 1), None).expect("it is written");
        two.add_turn(&further, None).expect("it is written");
        for from in [&two, &one, &two] {
            all.merge(from).expect("it is merged");
        }
        one.merge(&two).expect("it is merged");
        let merged = state(&one);
        assert_eq!(merged, state(&all));
        assert_eq!(merged.1, [turn("a", "one", 1), turn("a", "two", 1), further]);
        one.merge(&all).expect("it is merged");
        one.merge(&one).expect("it is merged");
        assert_eq!(merged, state(&one));
    });
}

#[test]
fn merges_of_stores_are_idempotent() {
    each("store_merged", |path| {
        let other = common::fresh("store_merged_other");
        let (mut one, mut two) = (open(path), open(&other));
        one.add(&[pair(1, EXPOSED), pair(2, FAILED)], &search(10)).expect("it is written");
        two.add(&[pair(2, FAILED), pair(3, EXPOSED)], &search(5)).expect("it is written");
        two.add(&[pair(2, FAILED), pair(1, EXPOSED)], &search(7)).expect("it is written");
        assert_eq!(one.merge(&two).expect("it is merged"), 1);
        let (entries, searches) = (one.entries().expect("it is read"), one.searches().expect("it is read"));
        let standing = |offset: u64| {
            entries.iter().find(|entry| entry.sites[0].0.offset == offset).map(|entry| entry.standing)
        };
        assert_eq!(standing(2), Some(Standing { failed: 6, met: 3, ..FAILED }));
        assert_eq!((entries.len(), searches.iter().map(|made| made.what.runs).sum::<u64>()), (3, 22));
        two.merge(&one).expect("it is merged");
        for _ in 0..2 {
            assert_eq!(one.merge(&two).expect("it is merged"), 0);
            assert_eq!(one.entries().expect("it is read"), entries);
            assert_eq!(one.searches().expect("it is read").len(), 3);
        }
    });
}

#[test]
fn several_processes_add_to_a_campaign() {
    each("campaign_shared", |path| {
        std::thread::scope(|scope| {
            for worker in ["a", "b", "c"] {
                scope.spawn(move || {
                    let shared = campaign(path);
                    for number in 1..=20 {
                        shared
                            .add_turn(&turn("t", worker, number), Some(&failure("c", worker, number, 9)))
                            .expect("it is written");
                    }
                });
            }
        });
        let (_, turns, causes, sightings, ..) = state(&campaign(path));
        assert_eq!((turns.len(), causes.len(), sightings.len()), (60, 1, 60));
    });
}

/// The server is killed and started again while turns are added; the state is that of an undisturbed campaign.
#[test]
fn a_restart_of_the_server_loses_nothing_and_doubles_nothing() {
    let Some(restart) = std::env::var_os("RADDLE_POSTGRES_RESTART") else { return };
    let Some(url) = common::remote("restarted") else { return };
    let (path, undisturbed) = (Path::new(&url), common::fresh("undisturbed"));
    let add = |campaign: &Campaign, range: std::ops::RangeInclusive<u64>| {
        for number in range {
            let found = failure("c", "w", number, 1_000 - number);
            campaign.add_turn(&turn("t", "w", number), Some(&found)).expect("it is written");
        }
    };
    let restart = || {
        let done = std::process::Command::new("sh").arg("-c").arg(&restart).status();
        assert!(done.expect("sh starts").success());
    };
    let shared = campaign(path);
    add(&shared, 1..=20);
    restart();
    add(&shared, 21..=40);
    std::thread::scope(|scope| {
        let restarts = scope.spawn(restart);
        let mut number = 40;
        while !restarts.is_finished() || number < 60 {
            number += 1;
            add(&shared, number..=number);
        }
        let expected = campaign(&undisturbed);
        add(&expected, 1..=number);
        assert_eq!(state(&campaign(path)), state(&expected));
    });
    let mut store = open(path);
    store.add(&[pair(2, FAILED)], &search(1)).expect("it is written");
    restart();
    assert_eq!(store.entries().expect("it is read"), [pair(2, FAILED)]);
    restart();
    store.add(&[pair(2, FAILED)], &search(1)).expect("it is written");
    assert_eq!(store.entries().expect("it is read")[0].standing.failed, 4);
}

#[cfg(feature = "postgres")]
#[test]
fn a_database_of_an_earlier_version_is_upgraded_and_a_later_one_is_rejected() {
    const SECOND: &str = "CREATE TABLE place (id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, module TEXT NOT NULL, \
        function TEXT NOT NULL, body BIGINT NOT NULL, \"offset\" BIGINT NOT NULL, shown TEXT NOT NULL, is_library BIGINT NOT NULL, \
        caller BIGINT NOT NULL, UNIQUE (module, function, body, \"offset\", caller)); \
        CREATE TABLE iroot (id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, idiom BIGINT NOT NULL, sites TEXT NOT NULL, \
        exposed BIGINT NOT NULL, predicted BIGINT NOT NULL, failed BIGINT NOT NULL, met BIGINT NOT NULL, UNIQUE (idiom, sites)); \
        CREATE TABLE search (id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, at BIGINT NOT NULL, program TEXT NOT NULL, \
        arguments TEXT NOT NULL, strategy TEXT NOT NULL, runs BIGINT NOT NULL, failures BIGINT NOT NULL, fresh BIGINT NOT NULL); \
        CREATE TABLE raddle_version (version BIGINT NOT NULL); INSERT INTO raddle_version VALUES (2); \
        INSERT INTO place (module, function, body, \"offset\", shown, is_library, caller) \
        VALUES ('program', 'set', 1, 2, 'set.c:2', 0, 0), ('program', 'get', -1, 4, 'get.c:4', 0, 0); \
        INSERT INTO iroot (idiom, sites, exposed, predicted, failed, met) VALUES (1, ',1w,2r,', 0, 1, 2, 1); \
        INSERT INTO search (at, program, arguments, strategy, runs, failures, fresh) VALUES (1, 'program', 'in', '', 9, 0, 0);";
    let Some(url) = common::remote("second") else { return };
    let mut client = postgres::Client::connect(&url, postgres::NoTls).expect("the server runs");
    client.batch_execute(SECOND).expect("tables can be made");
    let path = Path::new(&url);
    let mut store = raddle_store::Store::open_to_read(path).expect("it is upgraded");
    assert_eq!(store.entries().expect("it is read"), [pair(2, FAILED)]);
    store.add(&[pair(2, FAILED)], &search(1)).expect("it is written");
    assert_eq!(store.entries().expect("it is read")[0].standing.failed, 4);
    assert_eq!(store.searches().expect("it is read").len(), 2);
    client.batch_execute("UPDATE raddle_version SET version = 9").expect("it is there");
    assert!(matches!(
        raddle_store::Store::open(path),
        Err(raddle_store::StoreError::Newer { version: 9, .. })
    ));
    let Some(url) = common::remote("empty") else { return };
    assert!(matches!(
        raddle_store::Store::open_to_read(Path::new(&url)),
        Err(raddle_store::StoreError::NoStore { .. })
    ));
}
