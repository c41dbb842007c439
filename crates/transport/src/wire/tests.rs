//! What is written is read back; anything else gives a typed error.

use random::Random;

use super::*;

fn example_hello() -> Hello {
    Hello {
        versions: Versions { lowest: 1, highest: 4 },
        cluster: "wood".to_string(),
        epoch: 7,
        from: Identity { id: 1, incarnation: 99 },
        to: Identity { id: 2, incarnation: u64::MAX },
        received: 300,
    }
}

fn example_frame() -> Frame<'static> {
    Frame { epoch: 7, first: 1000, acknowledged: 3, payloads: vec![b"one", b"", &[7; 300]] }
}

/// The body of what was written, which must be all of it.
fn body(bytes: &[u8]) -> &[u8] {
    let body = first_body(bytes, LONGEST_BODY).unwrap().unwrap();
    assert_eq!(body.len() + LENGTH_BYTES, bytes.len());
    body
}

#[test]
fn what_is_written_is_read_back() {
    let mut bytes = Vec::new();
    put_hello(&example_hello(), &mut bytes);
    assert_eq!(hello(body(&bytes)), Ok(example_hello()));
    let refusals = [
        HelloRefusal::Versions { caller: VERSIONS, called: Versions { lowest: 2, highest: 3 } },
        HelloRefusal::Cluster { caller: "a".to_string(), called: "b".to_string() },
        HelloRefusal::WrongDirection,
    ];
    let answers = refusals.map(Answer::Refused).into_iter().chain([Answer::Welcome(example_hello())]);
    for expected in answers {
        let mut bytes = Vec::new();
        put_answer(&expected, &mut bytes);
        assert_eq!(answer(body(&bytes)), Ok(expected));
    }
    let mut bytes = Vec::new();
    put_frame(1, &example_frame(), &mut bytes);
    assert_eq!(read_frame(1, body(&bytes)), Ok(example_frame()));
}

/// The layout that docs/wire.md promises, byte by byte.
#[test]
fn the_layout_stays_as_it_is() {
    let mut bytes = Vec::new();
    let small = Frame { epoch: 7, first: 300, acknowledged: 3, payloads: vec![b"one", b""] };
    put_frame(1, &small, &mut bytes);
    assert_eq!(bytes, [11, 0, 0, 0, 1, 7, 0xac, 2, 3, 2, 3, b'o', b'n', b'e', 0]);
    let mut bytes = Vec::new();
    let hello = Hello { to: Identity { id: 2, incarnation: 5 }, ..example_hello() };
    put_hello(&hello, &mut bytes);
    let expected = [&[23, 0, 0, 0, 0][..], b"tokenwd\n", &[1, 4, 4], b"wood", &[7, 1, 99, 2, 5, 0xac, 2]];
    assert_eq!(bytes, expected.concat());
}

#[test]
fn the_longest_payload_fits_into_a_frame() {
    let payload = vec![1; LONGEST_PAYLOAD];
    let most = u64::MAX;
    let longest = Frame { epoch: most, first: most, acknowledged: most, payloads: vec![&payload] };
    let mut bytes = Vec::new();
    put_frame(1, &longest, &mut bytes);
    assert_eq!(read_frame(1, body(&bytes)), Ok(longest));
    let name = "n".repeat(LONGEST_CLUSTER_NAME);
    let (caller, called) = (name.clone(), name.clone());
    let mut bytes = Vec::new();
    put_answer(&Answer::Refused(HelloRefusal::Cluster { caller, called }), &mut bytes);
    put_hello(&Hello { cluster: name, ..example_hello() }, &mut bytes);
    assert!(bytes.len() <= LONGEST_GREETING);
}

#[test]
fn wrong_bytes_have_names() {
    assert_eq!(body_length(&[0, 0, 16], LONGEST_BODY), Ok(None));
    assert_eq!(body_length(&[0, 0, 16, 0], LONGEST_BODY), Ok(Some(LONGEST_BODY)));
    let too_long = WireError::TooLong { length: LONGEST_BODY + 1, most: LONGEST_BODY };
    assert_eq!(body_length(&[1, 0, 16, 0], LONGEST_BODY), Err(too_long));
    assert_eq!(body_length(&[0; 4], LONGEST_BODY), Err(WireError::Empty));
    assert_eq!(read_frame(1, &[]), Err(WireError::Empty));
    assert_eq!(read_frame(1, &[2, 0, 0, 0, 0]), Err(WireError::Version { found: 2, agreed: 1 }));
    assert_eq!(read_frame(1, &[1, 0, 0, 0, 0, 9]), Err(WireError::TrailingBytes(1)));
    assert!(matches!(read_frame(1, &[1, 0, 0, 0, 1]), Err(WireError::Malformed(_))));
    assert_eq!(hello(b"GET / HTTP/1.1"), Err(WireError::NotTokenwood));
}

#[test]
fn the_highest_common_version_is_agreed_on() {
    let range = |lowest, highest| Versions { lowest, highest };
    assert_eq!(range(1, 4).common(range(2, 3)), Some(3));
    assert_eq!(range(1, 4).common(range(4, 9)), Some(4));
    assert_eq!(range(1, 2).common(range(3, 9)), None);
    assert_eq!(range(3, 9).common(range(1, 2)), None);
}

/// Truncated, changed and random bytes are read without a panic, and what is accepted means something: it can be
/// written again and read back.
#[test]
fn hostile_bytes_are_refused_without_a_panic() {
    let mut random = Random::new(1);
    let mut templates = [Vec::new(), Vec::new(), Vec::new()];
    put_hello(&example_hello(), &mut templates[0]);
    put_answer(&Answer::Welcome(example_hello()), &mut templates[1]);
    put_frame(1, &example_frame(), &mut templates[2]);
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..300_000usize {
        let mut below = |bound: usize| random.below(bound as u64) as usize;
        let mut bytes = match round % 4 {
            3 => (0..below(64)).map(|_| below(256) as u8).collect(),
            template => templates[template].clone(),
        };
        for _ in 0..below(4) {
            if !bytes.is_empty() {
                let near = 1 + below(400);
                let place = below(bytes.len().min(near));
                bytes[place] = below(256) as u8;
            }
        }
        if below(4) == 0 {
            bytes.truncate(below(bytes.len() + 1));
        }
        let good = first_body(&bytes, LONGEST_BODY).is_ok_and(|body| body.is_some());
        let inside = bytes.get(LENGTH_BYTES..).unwrap_or(&[]);
        let read = [hello(inside).is_ok(), answer(inside).is_ok(), read_frame(1, inside).is_ok()];
        if let Ok(read) = read_frame(1, inside) {
            let mut again = Vec::new();
            put_frame(1, &read, &mut again);
            assert_eq!(read_frame(1, body(&again)), Ok(read));
        }
        if good && read.contains(&true) {
            accepted += 1;
        } else {
            refused += 1;
        }
    }
    assert!(accepted > 10_000 && refused > 50_000, "{accepted} accepted, {refused} refused");
}
