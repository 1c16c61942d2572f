use super::*;

const ALICE: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)));
const BOB: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2)));

fn admission(limits: AdmissionLimits) -> Arc<Admission> {
    Admission::new(limits)
}

fn of_connections(connections: usize, per_address: usize) -> Arc<Admission> {
    admission(AdmissionLimits { connections, per_address, ..AdmissionLimits::default() })
}

fn of_requests() -> Arc<Admission> {
    admission(AdmissionLimits { requests: 3, streams: 2, per_client: 2, ..AdmissionLimits::default() })
}

fn of_bytes(bytes: usize) -> Arc<Admission> {
    admission(AdmissionLimits { bytes, ..AdmissionLimits::default() })
}

fn used(admission: &Admission, resource: Resource) -> usize {
    admission.table.lock().used[resource as usize].all
}

fn enter(admission: &Arc<Admission>, holder: Option<&str>) -> Option<Permit> {
    let mut permit = admission.permit(holder);
    permit.take_slot().ok().map(|()| permit)
}

fn connect(connections: &Arc<Admission>, address: Option<IpAddr>) -> Place {
    connections.connect(address).ok().unwrap()
}

const OF_ALL: Option<Full> = Some(Full { resource: Resource::Connection, of_client: false });
const OF_ADDRESS: Option<Full> = Some(Full { resource: Resource::Connection, of_client: true });

fn limit_hit(connections: &Arc<Admission>, address: Option<IpAddr>) -> Option<Full> {
    connections.connect(address).err()
}

async fn evicted(place: &Place) -> bool {
    tokio::time::timeout(Duration::from_millis(1), place.activity.evicted.notified()).await.is_ok()
}

/// Each limit, reached by one client and by all.
#[tokio::test(start_paused = true)]
async fn each_limit_has_its_error() {
    const BYTES: usize = 16 * SMALL_BODY;
    const LARGE: usize = BYTES / 4 + 1;
    let limits =
        AdmissionLimits { connections: 2, per_address: 1, requests: 2, streams: 2, per_client: 1, bytes: BYTES };
    let admission = admission(limits);
    let connections = [ALICE, None].map(|address| connect(&admission, address));
    let _calls = connections.each_ref().map(|place| place.activity.begin());
    let mut streams = [Some("ada"), None].map(|holder| enter(&admission, holder).unwrap());
    streams.iter_mut().for_each(|stream| stream.becomes_stream().unwrap());
    let requests = [Some("ada"), None].map(|holder| enter(&admission, holder).unwrap());
    let mut held = [Some("ada"), None].map(|holder| admission.permit(holder));
    held.iter_mut().for_each(|permit| permit.hold(LARGE).unwrap());
    let stream_of = |holder| {
        let mut permit = admission.permit(holder);
        permit.slot = Some(Resource::Request);
        let becomes = permit.becomes_stream();
        permit.slot = None;
        becomes
    };
    let read = |_: usize| {
        tokio::spawn({
            let admission = Arc::clone(&admission);
            async move { admission.read(None, std::future::pending::<()>()).await }
        })
    };
    let mut bodies: Vec<_> = (0..3).map(read).collect();
    let table = [
        (admission.connect(ALICE).map(drop), "too many connections from this address are open"),
        (admission.connect(BOB).map(drop), "too many connections are open"),
        (bodies.remove(0).await.unwrap(), "too many bodies are being sent"),
        (admission.permit(Some("bob")).check_slot(), "too many requests are being served"),
        (admission.permit(None).take_slot(), "too many requests are being served"),
        (stream_of(None), "too many streams of change notifications are open"),
        (admission.permit(Some("ada")).hold(LARGE), "too much data of this client is in flight"),
        (
            admission.permit(Some("ada")).hold_values(MAX_UNCOUNTED_VALUES + 1),
            "too much data of this client is in flight",
        ),
        (admission.permit(None).hold(BYTES / 2), "too much data is in flight"),
        (admission.permit(None).check_room(BYTES as u64), "too much data is in flight"),
        (admission.permit(None).hold_values(BYTES), "too much data is in flight"),
    ];
    for (outcome, text) in table {
        let full = outcome.expect_err(text);
        assert_eq!((full.text(), full.refusing(None).status.as_u16()), (text, 503));
    }
    assert!(bodies.iter().all(|body| !body.is_finished()), "only the oldest is abandoned");
    // With capacity left for others, it is the limit of the client.
    drop((requests, streams));
    let (request, mut stream) = (enter(&admission, Some("ada")).unwrap(), admission.permit(Some("ada")));
    assert_eq!(stream.take_slot().unwrap_err().text(), "too many requests of this client are being served");
    drop(request);
    stream.take_slot().unwrap();
    stream.becomes_stream().unwrap();
    assert_eq!(
        stream_of(Some("ada")).unwrap_err().text(),
        "too many streams of change notifications of this client are open"
    );
}

#[test]
fn slots_are_bounded_in_all_and_for_each_client() {
    let admission = of_requests();
    let (_a, b) = (enter(&admission, Some("ada")).unwrap(), enter(&admission, Some("ada")).unwrap());
    assert!(enter(&admission, Some("ada")).is_none());
    let _c = enter(&admission, Some("bob")).unwrap();
    assert!(enter(&admission, None).is_none());
    drop(b);
    let mut d = enter(&admission, Some("ada")).unwrap();
    d.take_slot().unwrap();
    assert!(enter(&admission, None).is_none(), "one place for one message");
    drop(d);
    assert!(enter(&admission, None).is_some());
}

#[tokio::test(start_paused = true)]
async fn beyond_the_limit_the_client_with_most_bodies_loses_one() {
    let admission = of_requests();
    let read = |holder: Option<&str>| {
        let (admission, holder) = (Arc::clone(&admission), holder.map(Arc::from));
        tokio::spawn(async move { admission.read(holder, std::future::pending::<()>()).await })
    };
    // Each time, the body that is abandoned next.
    for (holders, abandoned) in [
        ([Some("bob"), Some("ada"), Some("ada"), Some("ada")], 1),
        ([Some("bob"), Some("ada"), Some("ada"), Some("carol")], 1),
        ([Some("bob"), Some("ada"), Some("carol"), Some("carol")], 2),
        ([Some("bob"), None, None, Some("ada")], 1),
        ([Some("bob"), Some("ada"), Some("carol"), Some("dave")], 0),
        ([None; 4], 0),
    ] {
        let mut bodies = holders.map(read);
        let ended = tokio::time::timeout(Duration::from_secs(1), &mut bodies[abandoned]).await;
        let full = ended.expect("another one was abandoned").unwrap().unwrap_err();
        assert_eq!(full.text(), "too many bodies are being sent");
        assert_eq!(bodies.iter().filter(|body| body.is_finished()).count(), 1);
        assert_eq!(used(&admission, Resource::Body), 3);
        for (number, body) in bodies.into_iter().enumerate() {
            body.abort();
            if number != abandoned {
                let _ = body.await;
            }
        }
        assert_eq!(used(&admission, Resource::Body), 0);
    }
}

#[test]
fn streams_have_their_own_slots() {
    let admission = of_requests();
    let mut streams: Vec<_> = (0..3).map(|_| enter(&admission, None).unwrap()).collect();
    streams[0].becomes_stream().unwrap();
    streams[0].becomes_stream().unwrap();
    streams[1].becomes_stream().unwrap();
    assert!(streams[2].becomes_stream().is_err());
    let (_d, _e) = (enter(&admission, None).unwrap(), enter(&admission, None).unwrap());
    assert!(enter(&admission, None).is_none());
    drop(streams);
    assert_eq!((used(&admission, Resource::Request), used(&admission, Resource::Stream)), (2, 0));
}

#[test]
fn bytes_are_held_until_the_message_is_done() {
    let admission = of_bytes(10);
    let (mut a, mut b) = (admission.permit(None), admission.permit(None));
    a.hold(6).unwrap();
    assert!(b.check_room(4).is_ok() && b.check_room(5).is_err());
    b.hold(4).unwrap();
    assert!(b.hold(1).is_err());
    drop(b);
    assert!(a.check_room(4).is_ok());
    drop(a);
    assert_eq!(admission.bytes.load(Ordering::Relaxed), 0);
    assert!(admission.permit(None).check_room(10).is_ok());
}

#[test]
fn many_values_count_as_the_memory_that_they_need() {
    const MIB: usize = 1 << 20;
    let admission = of_bytes(64 * MIB);
    let permit = |holder| {
        let mut permit = admission.permit(holder);
        permit.hold(SMALL_BODY).unwrap();
        permit
    };
    let (mut ada, mut again, mut bob) = (permit(Some("ada")), permit(Some("ada")), permit(Some("bob")));
    ada.hold_values(200_000).unwrap();
    assert!(!ada.is_large(), "its text is small");
    again.hold_values(MAX_UNCOUNTED_VALUES).unwrap();
    assert!(again.hold_values(40_000).is_err(), "a quarter of all");
    bob.hold_values(200_000).unwrap();
    // A larger message fits in alone.
    permit(Some("carol")).hold_values(300_000).unwrap();
    let mut nobody = permit(None);
    nobody.hold_values(400_000).unwrap();
    assert!(permit(None).hold_values(100_000).is_err(), "all is taken");
    permit(Some("dave")).hold_values(MAX_UNCOUNTED_VALUES).unwrap();
    drop((ada, again, bob, nobody));
    assert_eq!((used(&admission, Resource::Bytes), admission.bytes.load(Ordering::Relaxed)), (0, 0));
}

#[test]
fn a_head_counts_towards_the_bytes_of_others() {
    let admission = of_bytes(100);
    let mut permit = admission.permit(None);
    permit.hold_head(60).unwrap();
    permit.check_room(100).unwrap();
    permit.hold(100).unwrap();
    assert!(admission.permit(None).hold_head(1).is_err());
    drop(permit);
    assert_eq!(admission.bytes.load(Ordering::Relaxed), 0);
}

#[test]
fn large_bodies_leave_capacity_for_small_ones_and_each_client_has_a_share() {
    const MIB: usize = 1 << 20;
    let admission = of_bytes(64 * MIB);
    let mut ada: Vec<_> = (0..2).map(|_| admission.permit(Some("ada"))).collect();
    ada[0].hold(10 * MIB).unwrap();
    assert!(ada[1].hold(10 * MIB).unwrap_err().of_client, "a quarter of all");
    drop(ada);
    assert_eq!(used(&admission, Resource::Bytes), 0);
    let mut held: Vec<_> = (0..4).map(|_| admission.permit(None)).collect();
    held.iter_mut().for_each(|permit| permit.hold(15 * MIB).unwrap());
    assert!(admission.permit(None).check_room(MIB as u64).is_err());
    assert!(admission.permit(None).hold(MIB).is_err());
    admission.permit(Some("bob")).hold(SMALL_BODY).unwrap();
}

#[tokio::test(start_paused = true)]
async fn beyond_the_limit_silent_connections_are_closed_and_then_idle_ones() {
    let connections = of_connections(3, 0);
    let [busy, idle, silent] = [(); 3].map(|()| connect(&connections, None));
    let request = busy.activity.begin();
    drop(idle.activity.begin());
    tokio::time::advance(FIRST_REQUEST).await;
    assert_eq!(limit_hit(&connections, None), OF_ALL);
    assert!(evicted(&silent).await && !evicted(&idle).await && !evicted(&busy).await);
    drop(silent);
    let next = connect(&connections, None);
    let _next = next.activity.begin();
    assert_eq!(limit_hit(&connections, None), OF_ALL);
    assert!(evicted(&idle).await && !evicted(&busy).await);
    drop(idle);
    let last = connect(&connections, None);
    let _last = last.activity.begin();
    assert_eq!(limit_hit(&connections, None), OF_ALL, "each has a request");
    drop(request);
    assert_eq!(limit_hit(&connections, None), OF_ALL);
    assert!(evicted(&busy).await);
    drop((busy, next));
    assert_eq!(connections.table.lock().places.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_connection_has_a_deadline_for_its_first_request_and_counts_until_it_is_closed() {
    let connections = of_connections(1, 0);
    let first = connect(&connections, None);
    assert_eq!(limit_hit(&connections, None), OF_ALL);
    assert!(!evicted(&first).await, "its request may be on its way");
    tokio::time::advance(FIRST_REQUEST).await;
    assert_eq!(limit_hit(&connections, None), OF_ALL);
    assert!(evicted(&first).await);
    // A request arrived in the meantime.
    let _request = first.activity.begin();
    assert_eq!(limit_hit(&connections, None), OF_ALL);
    assert!(!evicted(&first).await);
}

#[tokio::test(start_paused = true)]
async fn an_address_has_its_share() {
    let connections = of_connections(100, 2);
    let alice = [(); 2].map(|()| connect(&connections, ALICE));
    let requests = alice.each_ref().map(|place| place.activity.begin());
    assert_eq!(limit_hit(&connections, ALICE), OF_ADDRESS);
    let [first, second] = [(); 2].map(|()| connect(&connections, BOB));
    assert_eq!(limit_hit(&connections, BOB), OF_ADDRESS, "their requests may be on their way");
    tokio::time::advance(FIRST_REQUEST).await;
    assert_eq!(limit_hit(&connections, BOB), OF_ALL);
    assert!(evicted(&first).await && !evicted(&second).await, "the older one of the same client");
    drop(first);
    let _third = connect(&connections, BOB);
    let _unix = [(); 3].map(|()| connect(&connections, None));
    drop((requests, alice));
    drop(connect(&connections, ALICE));
    let address = ALICE.map(|address| Arc::from(address.to_string()));
    assert_eq!(connections.table.lock().used[Resource::Connection as usize].of(address.as_ref()), 0);
}

#[test]
fn the_addresses_of_a_network_share_what_one_client_has() {
    let connections = of_connections(100, 1);
    let of = |text: &str| Some(text.parse().unwrap());
    let _places = ["2001:db8:1:2::3", "2001:db8:1:3::3", "192.0.2.1"].map(|text| connect(&connections, of(text)));
    for text in ["2001:db8:1:2:4::5", "::ffff:192.0.2.1"] {
        assert_eq!(limit_hit(&connections, of(text)), OF_ADDRESS, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_closing_already_is_not_evicted() {
    let connections = of_connections(3, 1);
    let alice = connect(&connections, ALICE);
    drop(alice.activity.begin());
    assert_eq!(limit_hit(&connections, ALICE), OF_ALL);
    assert!(evicted(&alice).await);
    // A request arrived in the meantime, so it closes afterwards.
    drop(alice.activity.begin());
    alice.activity.set_closing();
    assert_eq!(limit_hit(&connections, ALICE), OF_ADDRESS);
    let others = [BOB, None].map(|address| connect(&connections, address));
    tokio::time::advance(FIRST_REQUEST).await;
    assert_eq!(limit_hit(&connections, None), OF_ALL);
    assert!(!evicted(&alice).await && evicted(&others[0]).await, "the oldest of the others");
}

#[cfg(unix)]
#[test]
fn descriptors_are_left_to_the_rest_of_the_process() {
    let limits = [1024, 200, 64, 1].map(spared);
    assert_eq!(limits, [960, 136, 32, 1]);
    assert!(within_descriptors(usize::MAX) < usize::MAX);
    assert_eq!(within_descriptors(1), 1);
}
