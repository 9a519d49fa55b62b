//! Asynchronous programs with bugs that need an order of deliveries, timers or tasks. Each function says what the bug
//! is, and does without it if it is asked to be `correct`. The tests in `tests/bugs.rs` call them both ways, on one thread and on
//! two.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, Semaphore, broadcast, mpsc, oneshot};
use tokio::time::timeout;

type Stream = BufReader<TcpStream>;

/// The time after which clients give up.
const PATIENCE: Duration = Duration::from_millis(100);

/// Serves each connection with `handler` in a task, until the test ends. Returns the address.
async fn serve<F: Future<Output = ()> + Send>(handler: impl Fn(Stream) -> F + Send + 'static) -> SocketAddr
where
    F: 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(handler(BufReader::new(stream)));
        }
    });
    address
}

async fn connect(address: SocketAddr) -> Stream {
    BufReader::new(TcpStream::connect(address).await.unwrap())
}

/// Reads a line; `None` at the end of the connection.
async fn line(stream: &mut Stream) -> Option<String> {
    let mut line = String::new();
    let count = stream.read_line(&mut line).await.ok()?;
    (count > 0).then(|| line.trim().to_owned())
}

async fn ask(stream: &mut Stream, request: &str) -> Option<String> {
    stream.write_all(format!("{request}\n").as_bytes()).await.ok()?;
    line(stream).await
}

/// A server with a number: `get`, `set N`, `add N`, and `once ID N`, which adds only once for each id.
async fn number_server(number: Arc<Mutex<i32>>) -> SocketAddr {
    let seen = Arc::new(Mutex::new(Vec::new()));
    serve(move |mut stream| {
        let (number, seen) = (number.clone(), seen.clone());
        async move {
            while let Some(request) = line(&mut stream).await {
                let words: Vec<&str> = request.split(' ').collect();
                let value = |index: usize| words[index].parse::<i32>().unwrap();
                let mut number = number.lock().await;
                match words[0] {
                    "set" => *number = value(1),
                    "add" => *number += value(1),
                    "once" => {
                        let mut seen = seen.lock().await;
                        if !seen.contains(&value(1)) {
                            seen.push(value(1));
                            *number += value(2);
                        }
                    }
                    _ => {}
                }
                if stream.write_all(format!("{}\n", *number).as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    })
    .await
}

/// Two clients increment a number of a server: each reads it and writes it back, plus one.
pub async fn lost_update(correct: bool) {
    let number = Arc::new(Mutex::new(0));
    let address = number_server(number.clone()).await;
    let client = move || async move {
        let mut stream = connect(address).await;
        if correct {
            ask(&mut stream, "add 1").await.unwrap();
        } else {
            let value: i32 = ask(&mut stream, "get").await.unwrap().parse().unwrap();
            ask(&mut stream, &format!("set {}", value + 1)).await.unwrap();
        }
    };
    let clients = [tokio::spawn(client()), tokio::spawn(client())];
    for client in clients {
        client.await.unwrap();
    }
    assert_eq!(*number.lock().await, 2);
}

/// A proxy answers two requests of one connection as soon as the replies of its backends come, and the client takes the first
/// reply for that of the first request.
pub async fn mismatched_response(correct: bool) {
    let backend = serve(|mut stream| async move {
        while let Some(request) = line(&mut stream).await {
            stream.write_all(format!("{request}!\n").as_bytes()).await.unwrap();
        }
    })
    .await;
    let proxy = serve(move |mut stream| async move {
        let (sender, mut replies) = mpsc::channel(2);
        let mut pending = Vec::new();
        for _ in 0..2 {
            let request = line(&mut stream).await.unwrap();
            let sender = sender.clone();
            pending.push(tokio::spawn(async move {
                let reply = ask(&mut connect(backend).await, &request).await.unwrap();
                sender.send(reply.clone()).await.unwrap();
                reply
            }));
        }
        for task in pending {
            let reply = if correct { task.await.unwrap() } else { replies.recv().await.unwrap() };
            stream.write_all(format!("{reply}\n").as_bytes()).await.unwrap();
        }
    })
    .await;
    let mut stream = connect(proxy).await;
    stream.write_all(b"one\ntwo\n").await.unwrap();
    assert_eq!(line(&mut stream).await.as_deref(), Some("one!"));
    assert_eq!(line(&mut stream).await.as_deref(), Some("two!"));
}

/// A client repeats a request without a reply, which the server may have executed.
pub async fn retry_applies_twice(correct: bool) {
    let number = Arc::new(Mutex::new(0));
    let address = number_server(number.clone()).await;
    let request = if correct { "once 7 1" } else { "add 1" };
    for _ in 0..2 {
        let mut stream = connect(address).await;
        if timeout(PATIENCE, ask(&mut stream, request)).await.is_ok() {
            break;
        }
    }
    // The retried request may still be in flight.
    ask(&mut connect(address).await, "get").await;
    assert!(*number.lock().await <= 1);
}

/// A client that gives up on a reply uses the connection for its next request, and takes the late reply for the reply of that.
pub async fn late_reply(correct: bool) {
    let address = serve(|mut stream| async move {
        while let Some(request) = line(&mut stream).await {
            let _ = stream.write_all(format!("{request}!\n").as_bytes()).await;
        }
    })
    .await;
    let mut stream = connect(address).await;
    if timeout(PATIENCE, ask(&mut stream, "one")).await.is_err() && correct {
        stream = connect(address).await;
    }
    assert_eq!(ask(&mut stream, "two").await.as_deref(), Some("two!"));
}

/// `select!` drops a `read_exact` that has read a part of a message.
pub async fn cancelled_read(correct: bool) {
    let address = serve(|mut stream| async move {
        stream.write_all(b"abcd").await.unwrap();
        line(&mut stream).await;
    })
    .await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let (mut message, mut have) = ([0; 4], 0);
    let mut ticks = 0;
    while have < 4 {
        // The last read is not cancelled; if bytes were dropped, it waits forever.
        let tick = async move {
            if ticks == 3 {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(PATIENCE).await;
        };
        if correct {
            tokio::select! {
                count = stream.read(&mut message[have..]) => have += count.unwrap(),
                () = tick => ticks += 1,
            }
        } else {
            tokio::select! {
                done = stream.read_exact(&mut message) => have = done.unwrap(),
                () = tick => ticks += 1,
            }
        }
    }
    assert_eq!(&message, b"abcd");
}

/// A worker that has to stop leaves what is in its queue.
pub async fn shutdown_loses_message(correct: bool) {
    let number = Arc::new(Mutex::new(0));
    let log = number_server(number.clone()).await;
    let (sender, mut queue) = mpsc::channel(4);
    let (stop, mut stopped) = oneshot::channel();
    let address = serve(move |mut stream| {
        let sender = sender.clone();
        async move {
            let request = line(&mut stream).await.unwrap();
            sender.send(request).await.unwrap();
            stream.write_all(b"accepted\n").await.unwrap();
        }
    })
    .await;
    let worker = tokio::spawn(async move {
        let mut stream = connect(log).await;
        loop {
            tokio::select! {
                Some(_) = queue.recv() => drop(ask(&mut stream, "add 1").await),
                _ = &mut stopped => break,
            }
        }
        while correct && queue.try_recv().is_ok() {
            ask(&mut stream, "add 1").await;
        }
    });
    for _ in 0..2 {
        assert_eq!(ask(&mut connect(address).await, "work").await.as_deref(), Some("accepted"));
    }
    stop.send(()).unwrap();
    worker.await.unwrap();
    assert_eq!(*number.lock().await, 2, "what was accepted was not done");
}

/// A subscriber that falls behind does not notice that it has missed messages.
pub async fn broadcast_lag(correct: bool) {
    let (sender, mut receiver) = broadcast::channel(if correct { 4 } else { 1 });
    let address = serve(move |mut stream| {
        let sender = sender.clone();
        async move {
            while let Some(request) = line(&mut stream).await {
                let _ = sender.send(request);
            }
            let _ = sender.send("end".to_owned());
        }
    })
    .await;
    let mut stream = connect(address).await;
    stream.write_all(b"one\ntwo\n").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut received = 0;
    loop {
        match receiver.recv().await {
            Ok(text) if text == "end" => break,
            Ok(_) => received += 1,
            Err(_) => {}
        }
    }
    assert_eq!(received, 2);
}

/// A task that is cancelled while it works does not give its permit back.
pub async fn leaked_permit(correct: bool) {
    let address = serve(|mut stream| async move {
        while let Some(request) = line(&mut stream).await {
            let _ = stream.write_all(format!("{request}!\n").as_bytes()).await;
        }
    })
    .await;
    let permits = Arc::new(Semaphore::new(1));
    for _ in 0..2 {
        let work = async {
            let permit = permits.acquire().await.unwrap();
            if correct {
                ask(&mut connect(address).await, "work").await;
                drop(permit);
            } else {
                permit.forget();
                ask(&mut connect(address).await, "work").await;
                permits.add_permits(1);
            }
        };
        let _ = timeout(PATIENCE, work).await;
    }
    let last = timeout(10 * PATIENCE, permits.acquire()).await;
    assert!(permits.available_permits() == 1 || last.is_ok(), "no task holds the permit");
}

/// A pool hands out a connection that the server has closed in the meantime.
pub async fn closed_connection_in_pool(correct: bool) {
    // The server closes a connection that is idle for long.
    let address = serve(|mut stream| async move {
        while let Ok(Some(request)) = timeout(PATIENCE, line(&mut stream)).await {
            let _ = stream.write_all(format!("{request}!\n").as_bytes()).await;
        }
    })
    .await;
    let mut pooled = connect(address).await;
    for _ in 0..2 {
        let mut reply = ask(&mut pooled, "work").await;
        if reply.is_none() && correct {
            // It is idempotent, so it may be repeated.
            for _ in 0..5 {
                pooled = connect(address).await;
                reply = ask(&mut pooled, "work").await;
                if reply.is_some() {
                    break;
                }
            }
            if reply.is_none() {
                // The server is slow, which is another matter.
                return;
            }
        }
        assert_eq!(reply.as_deref(), Some("work!"));
        tokio::time::sleep(PATIENCE / 2).await;
    }
}

/// A client that loses its connection connects again and goes on with the next message, although the last one was not
/// acknowledged.
pub async fn reconnect_loses_message(correct: bool) {
    let received = Arc::new(Mutex::new(Vec::new()));
    let log = received.clone();
    // The server serves one message for each connection.
    let address = serve(move |mut stream| {
        let log = log.clone();
        async move {
            if let Some(message) = line(&mut stream).await {
                log.lock().await.push(message);
                let _ = stream.write_all(b"ok\n").await;
            }
        }
    })
    .await;
    let mut stream = connect(address).await;
    for message in ["one", "two"] {
        if correct {
            while ask(&mut stream, message).await.is_none() {
                stream = connect(address).await;
            }
        } else {
            // Sending fails only once the end of the connection is known.
            if stream.write_all(format!("{message}\n").as_bytes()).await.is_err() {
                stream = connect(address).await;
                stream.write_all(format!("{message}\n").as_bytes()).await.unwrap();
            }
            line(&mut stream).await;
        }
    }
    assert_eq!(*received.lock().await, ["one", "two"]);
}
