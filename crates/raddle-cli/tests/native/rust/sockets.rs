// Two clients of a server that serves one connection after the other: which one comes first is up to the network.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut clients = [1, 2].map(|number: u8| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.write_all(&[number]).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), address);
        stream
    });
    let server = thread::spawn(move || {
        let mut order = Vec::new();
        let streams: Vec<_> = (0..2).map(|_| listener.accept().unwrap().0).collect();
        for stream in &streams {
            stream.set_nonblocking(true).unwrap();
        }
        while order.len() < 2 {
            for mut stream in &streams {
                let mut byte = [0];
                if stream.read(&mut byte).is_ok_and(|count| count == 1) {
                    order.push(byte[0]);
                }
            }
            thread::yield_now();
        }
        for mut stream in &streams {
            stream.write_all(&order).unwrap();
        }
        order
    });
    for client in &mut clients {
        let mut reply = [0; 2];
        client.read_exact(&mut reply).unwrap();
    }
    assert_eq!(server.join().unwrap(), [1, 2], "the second message came first");
}
