use super::*;
use crate::native::SHARED;
use crate::{Access, Failure, Kind, LocationId, ObjectId, ThreadId, Touch};
use proptest::prelude::*;

pub(super) fn sample() -> TraceFile {
    let operation = Operation::new(Kind::Write, LocationId(0)).on(ObjectId(0), Access::Write);
    TraceFile {
        id: "0123abcd".into(),
        front_end: FrontEnd::Lab,
        program: "shared x = 0\nthread A { x = 1 }".into(),
        arguments: vec!["-v".into()],
        build: Some("gnu:00ff".into()),
        environment: Environment {
            directory: Some("here".into()),
            environment: vec![("NAME".into(), "value".into())],
            test: None,
            executable: Some("/t/deps/q-1".into()),
            name: Some("q".into()),
        },
        signature: None,
        parameters: vec![("n".into(), 3), (SHARED.into(), 1 << 44), (SHARED.into(), 7)],
        settings: Settings {
            step_limit: 1_000,
            timeouts_anytime: false,
            patience: 64,
            races: true,
            exit_last: false,
            step_limit_fails: false,
            memory: crate::MemoryModel::Sc,
            network: crate::Network::default(),
        },
        strategy: "pos".into(),
        seed: 1,
        run: 2,
        minimized: Some(Minimized { executions: 9, switches_before: 4, steps_before: 12 }),
        verdict: Verdict::Passed,
        fingerprint: u64::MAX,
        threads: vec!["A".into()],
        objects: vec!["x".into()],
        locations: vec!["line 2: x = 1".into()],
        steps: vec![TraceStep { thread: 0, operation }],
        picks: vec![(0, 2, 1)],
        values: Values::default(),
        details: Details::default(),
    }
}

/// A run of `steps` steps of four threads that count in loops and are interrupted all the time.
pub(super) fn long(steps: u32) -> TraceFile {
    let mut state = 1_u64;
    let mut progress = [0_u32; 4];
    let step = |_| {
        state = crate::mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
        let thread = (state % 4) as u32;
        let at = progress[thread as usize] % 5;
        progress[thread as usize] += 1;
        let kind = [Kind::Lock, Kind::Read, Kind::Write, Kind::Unlock, Kind::Yield][at as usize];
        let operation = Operation::new(kind, LocationId(at));
        let object = if at == 2 { progress[thread as usize] % 1_000 } else { at };
        TraceStep { thread, operation: operation.on(ObjectId(object), Access::Write) }
    };
    let mut file = sample();
    file.steps = (0..steps).map(step).collect();
    file.threads = ["main", "a", "b", "c"].map(str::to_owned).to_vec();
    file.objects = (0..1_000).map(|object| format!("0x7ffff7d8{object:04x}")).collect();
    file.locations = (0..5).map(|line| format!("queue.c:{line}")).collect();
    file
}

#[test]
fn reads_what_it_wrote() {
    assert_eq!(TraceFile::from_json(&sample().to_json()).unwrap(), sample());
    let long = long(5_000);
    assert_eq!(TraceFile::from_json(&long.to_json()).unwrap(), long);
}

#[test]
fn a_million_steps_are_small() {
    let text = long(1_000_000).to_json();
    assert!(text.len() < 2_000_000, "{} bytes", text.len());
    assert_eq!(TraceFile::from_json(&text).unwrap().steps.len(), 1_000_000);
}

#[test]
fn the_short_id_depends_on_the_content() {
    let mut file = sample();
    assert_eq!(file.file_name(), "raddle-failure-0123abcd.json");
    file.id.clear();
    let name = file.file_name();
    assert_eq!(name, file.clone().file_name());
    assert!(file.to_json().contains(&format!("\"id\": \"{}\"", file.short_id())));
    file.steps[0].operation.location = LocationId(1);
    assert_ne!(file.file_name(), name);
    file.id = "../a b".into();
    assert_eq!(file.file_name(), "raddle-failure-ab.json");
}

#[test]
fn damage_is_named() {
    let whole = sample().to_json();
    let cut = TraceFile::from_json(&whole[..whole.len() / 2]).unwrap_err().to_string();
    assert!(cut.starts_with("not a valid failure file: "), "{cut}");
    let newer = whole.replace("\"raddle_failure\": 2", "\"raddle_failure\": 99");
    let newer = TraceFile::from_json(&newer).unwrap_err().to_string();
    assert!(newer.contains("format version 99"), "{newer}");
    let foreign = TraceFile::from_json("{\"name\": \"a package\"}").unwrap_err().to_string();
    assert!(foreign.contains("not a failure file"), "{foreign}");
    for damage in [
        |file: &mut TraceFile| file.steps[0].thread = 7,
        |file: &mut TraceFile| file.objects.clear(),
        |file: &mut TraceFile| file.locations.clear(),
        |file: &mut TraceFile| file.picks[0].2 = 2,
    ] {
        let mut file = sample();
        damage(&mut file);
        let error = TraceFile::from_json(&file.to_json()).unwrap_err();
        assert!(matches!(error, FileError::Inconsistent { step: 0, .. }), "{error}");
    }
    let mut file = sample();
    let failure = Failure::Assertion { thread: ThreadId(1), location: LocationId(0), message: String::new() };
    file.verdict = Verdict::Failed { failure };
    let error = TraceFile::from_json(&file.to_json()).unwrap_err().to_string();
    assert_eq!(error, "the file is damaged: verdict: thread 1 of 1");
}

/// Replaces the packed part of a file.
fn with_packed(length: u64, bytes: &[u8]) -> String {
    let text = sample().to_json();
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    file["packed_length"] = length.into();
    file["packed"] = base64::encode(&packed::deflate(bytes)).into();
    file.to_string()
}

#[test]
fn a_decompression_bomb_is_rejected() {
    let zeros = vec![0; 8 << 20];
    for (length, part) in [
        (u64::MAX, "exceed the limit"),
        (packed::MOST_BYTES + 1, "exceed the limit"),
        (100, "inflation failed"),
        (zeros.len() as u64, "the segments"),
        (packed::MOST_BYTES, "bytes instead of"),
    ] {
        let error = TraceFile::from_json(&with_packed(length, &zeros)).unwrap_err().to_string();
        assert!(error.contains(part), "{length}: {error}");
    }
    // A count that exceeds the number of bytes.
    let error = TraceFile::from_json(&with_packed(6, &[0xff, 0xff, 0xff, 0xff, 0x7f, 0])).unwrap_err();
    assert!(error.to_string().contains("entries do not fit"), "{error}");
    let many = sample().to_json().replace("\"steps\": 1,", "\"steps\": 99999999999,");
    let error = TraceFile::from_json(&many).unwrap_err().to_string();
    assert!(error.contains("99999999999 steps"), "{error}");
}

/// Number of cases of each property: few by default, `RADDLE_FILE_CASES` for a long test.
#[expect(clippy::disallowed_methods, reason = "a test has no arguments")]
fn cases() -> ProptestConfig {
    let cases = std::env::var("RADDLE_FILE_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases.unwrap_or(300)) }
}

fn touch() -> impl Strategy<Value = Touch> {
    prop_oneof![Just(Touch::NONE), (0..6_u32).prop_map(Touch::from_bits)]
}

fn step() -> impl Strategy<Value = TraceStep> {
    let kind = prop_oneof![Just(Kind::Read), Just(Kind::OnceWait), Just(Kind::Lock), Just(Kind::Choose)];
    let argument = prop_oneof![Just(Operation::UNTIMED), any::<u64>(), 0..4_u64];
    (0..3_u32, kind, [touch(), touch()], 0..4_u32, argument).prop_map(
        |(thread, kind, touches, location, argument)| TraceStep {
            thread,
            operation: Operation { argument, touches, location: LocationId(location), kind },
        },
    )
}

prop_compose! {
    fn file()(
        steps in prop::collection::vec(step(), 1..60),
        picks in prop::collection::vec((any::<prop::sample::Index>(), 2..9_u32), 0..6),
        names in prop::array::uniform3(".*"),
        values in prop::collection::vec((0..9_u32, any::<Option<u64>>(), any::<Option<u64>>()), 0..9),
        shared in prop::collection::vec(any::<i64>(), 0..5),
        numbers in any::<[u64; 3]>(),
        build in prop::option::of("[a-z:0-9]{0,9}"),
    ) -> TraceFile {
        let mut file = sample();
        file.picks = picks.iter().map(|(at, n)| (at.index(steps.len()) as u32, *n, n - 1)).collect();
        file.steps = steps;
        file.values = super::values::tests::some(&values, file.steps.len() as u32, &names);
        file.threads = names.to_vec();
        file.objects = names.to_vec();
        file.locations = [names.to_vec(), vec!["here".into()]].concat();
        file.parameters = shared.into_iter().map(|unit| (SHARED.to_owned(), unit)).collect();
        [file.seed, file.run, file.fingerprint] = numbers;
        file.build = build;
        file
    }
}

/// Changes a few bytes of small files, in the text or in the columns behind the checksum. Nothing panics, and
/// whatever is read is consistent. Files are created once and nothing is shrunk, so that a million cases take
/// a minute.
#[test]
fn small_damaged_files_are_rejected_or_consistent() {
    let mut small = sample();
    small.threads = vec!["main".into(), "T1".into()];
    small.steps = (0..6).map(|index| TraceStep { thread: index % 2, ..small.steps[0] }).collect();
    small.picks = vec![(0, 2, 1)];
    let whole = small.to_json();
    assert_eq!(TraceFile::from_json(&whole).unwrap(), small);
    let columns = packed::pack(&small, &[small.steps[0].operation.kind], &[]);
    let unpacked = {
        let mut file: serde_json::Value = serde_json::from_str(&whole).unwrap();
        file["packed"] = "PACKED".into();
        file["packed_length"] = (columns.len() as u64).into();
        file.to_string()
    };
    let (mut refused, mut harmless) = (0, 0);
    for case in 0..u64::from(cases().cases) {
        let random = |number: u64| crate::mix(case << 8 | number);
        let damage = |bytes: &mut [u8]| {
            for change in 0..1 + random(1) % 3 {
                let at = random(3 * change + 2) as usize % bytes.len();
                bytes[at] = random(3 * change + 3) as u8 & 0x7f;
            }
        };
        let text = if random(0).is_multiple_of(2) {
            let mut text = whole.clone().into_bytes();
            damage(&mut text);
            text.truncate(if random(200).is_multiple_of(16) {
                random(201) as usize % text.len()
            } else {
                text.len()
            });
            String::from_utf8(text).expect("seven bits are UTF-8")
        } else {
            let mut columns = columns.clone();
            damage(&mut columns);
            unpacked.replace("PACKED", &base64::encode(&packed::deflate(&columns)))
        };
        match TraceFile::from_json(&text) {
            Ok(read) => {
                harmless += 1;
                assert!(read.steps.iter().all(|step| (step.thread as usize) < read.threads.len()), "{text}");
            }
            Err(error) => {
                refused += 1;
                assert!(error.to_string().len() > 10, "{text}");
            }
        }
    }
    assert!(refused > 0 && harmless > 0, "{refused} rejected, {harmless} consistent");
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_file_survives_a_round_trip(file in file()) {
        prop_assert_eq!(TraceFile::from_json(&file.to_json()).unwrap(), file);
    }

    /// A damaged file is rejected with a message, or is another consistent file.
    #[test]
    fn damage_is_rejected_or_consistent(
        file in file(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..4),
        in_packed: bool,
    ) {
        let mut text = file.to_json().into_bytes();
        for (at, byte, how) in damage {
            let from = if in_packed { text.len().saturating_sub(text.len() / 4) } else { 0 };
            let at = from + at.index(text.len().saturating_sub(from).max(1));
            if at >= text.len() {
                continue;
            }
            match how {
                0 => text[at] ^= 1 << (byte % 8),
                1 => text.truncate(at),
                2 => { text.remove(at); }
                _ => text.insert(at, byte & 0x7f),
            }
        }
        if let Ok(text) = String::from_utf8(text) {
            match TraceFile::from_json(&text) {
                Ok(read) => prop_assert_eq!(TraceFile::from_json(&read.to_json()).unwrap(), read),
                Err(error) => prop_assert!(error.to_string().len() > 10),
            }
        }
    }

    /// The same for the columns behind the checksum, which does not catch the damage.
    #[test]
    fn damaged_columns_are_rejected_or_consistent(
        file in file(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        count in prop::option::of(any::<u64>()),
    ) {
        let kinds = [Kind::Read, Kind::OnceWait, Kind::Lock, Kind::Choose];
        let mut bytes = packed::pack(&file, &kinds, &[]);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let count = count.unwrap_or(file.steps.len() as u64);
        if let Ok(read) = packed::unpack(&bytes, count, &kinds) {
            prop_assert_eq!(read.steps.len() as u64, count);
        }
    }

    /// Swaps the values of two fields.
    #[test]
    fn swapped_fields_are_rejected_or_consistent(file in file(), a: prop::sample::Index, b: prop::sample::Index) {
        let mut json: serde_json::Value = serde_json::from_str(&file.to_json()).unwrap();
        let fields = json.as_object_mut().unwrap();
        let names: Vec<String> = fields.keys().cloned().collect();
        let (a, b) = (a.get(&names), b.get(&names));
        let (first, second) = (fields[a].clone(), fields[b].clone());
        fields[a] = second;
        fields[b] = first;
        if let Err(error) = TraceFile::from_json(&json.to_string()) {
            prop_assert!(error.to_string().len() > 10);
        }
    }
}
