//! Drives a headless Chromium over its debugging pipe.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The names of Chromium.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A browser that does not answer for this long has hung; no test depends on less.
const PATIENCE: Duration = Duration::from_secs(120);

/// Returns the name of the browser on this machine, if there is one.
pub(crate) fn find() -> Option<&'static str> {
    let starts = |name: &&str| {
        let mut command = Command::new(name);
        let command = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    NAMES.into_iter().find(starts)
}

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: String,
    next: u64,
    /// Messages that were not answers.
    events: Vec<Value>,
}

impl Browser {
    /// Starts the browser with its own folder.
    pub(crate) fn start(name: &str, folder: &Path) -> Browser {
        let profile = folder.join("profile");
        // A killed browser leaves a lock with the name of its machine.
        _ = std::fs::remove_dir_all(&profile);
        // Chromium reads from descriptor 3 and writes to 4; the shell creates them from its own input and
        // output.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", name]);
        command.args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ]);
        command.args(["--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe"]);
        command.arg("--window-size=1280,800").arg(format!("--user-data-dir={}", profile.display()));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the shell starts");
        let (to, out) = (child.stdin.take().expect("it is piped"), child.stdout.take().expect("it is piped"));
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let mut out = BufReader::new(out);
            let mut message = Vec::new();
            while out.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { break };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser = Browser { child, to, from, session: String::new(), next: 0, events: Vec::new() };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", &attach);
        browser.session = session["sessionId"].as_str().expect("a session has a name").to_owned();
        for domain in ["Runtime", "Log", "Page", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Sends a command and waits for its answer.
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let text = message.to_string() + "\0";
        self.to.write_all(text.as_bytes()).expect("the browser reads");
        loop {
            let answer = self.receive();
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn receive(&self) -> Value {
        self.from.recv_timeout(PATIENCE).expect("the browser answers")
    }

    /// Loads a page and waits until it is loaded.
    pub(crate) fn open(&mut self, path: &Path) {
        self.events.clear();
        self.call("Page.navigate", &json!({ "url": format!("file://{}", path.display()) }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.receive();
            self.events.push(event);
        }
    }

    /// Returns the value of an expression in the page, after the pending frames.
    pub(crate) fn ask(&mut self, expression: &str) -> Value {
        let frame = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";
        let expression = format!("{frame}.then(() => ({expression}))");
        let parameters = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", &parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Presses and releases a key.
    pub(crate) fn press(&mut self, key: &str) {
        let mut event = json!({ "type": "keyDown", "key": key, "code": key });
        if key.len() == 1 {
            event["text"] = json!(key);
        }
        self.call("Input.dispatchKeyEvent", &event);
        self.call("Input.dispatchKeyEvent", &json!({ "type": "keyUp", "key": key, "code": key }));
    }

    /// Sets the preferred color scheme.
    pub(crate) fn prefer(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// Returns errors of the page since it was opened, and its external requests.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let is_complaint = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => event["params"]["type"] == "error",
            Some("Log.entryAdded") => event["params"]["entry"]["level"] == "error",
            Some("Network.requestWillBeSent") => {
                let url = event["params"]["request"]["url"].as_str().unwrap_or("");
                !url.starts_with("file://") && !url.starts_with("data:")
            }
            _ => false,
        };
        self.events.iter().filter(is_complaint).map(ToString::to_string).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A browser without its pipe exits by itself; this one is not waited for.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
