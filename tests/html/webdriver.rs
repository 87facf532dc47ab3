//! As much of the WebDriver protocol as a test of one page needs: JSON over HTTP to `chromedriver`.

use std::io::{self, BufRead, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

/// A browser with one window. It ends when this goes.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    profile: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

/// One browser at a time is enough for a small machine.
static BROWSERS: Mutex<()> = Mutex::new(());

impl Browser {
    /// Starts a browser; none if it is not installed.
    pub fn start() -> Option<Browser> {
        let chromium = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(runs)?;
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let port = port_of(&mut driver);
        let profile = tempfile::tempdir().expect("a folder");
        let _alone = BROWSERS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut browser = Browser { driver, port, session: String::new(), profile, _alone };
        browser.open_session(chromium);
        Some(browser)
    }

    fn open_session(&mut self, chromium: &str) {
        let profile = format!("--user-data-dir={}", self.profile.path().display());
        let mut args = vec![profile.as_str(), "--window-size=1440,900"];
        args.extend([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ]);
        let options = json!({"args": args, "binary": path_of(chromium)});
        let logging = json!({"browser": "ALL"});
        let wanted = json!({"goog:chromeOptions": options, "goog:loggingPrefs": logging});
        let answer =
            self.send("POST", "/session", &json!({"capabilities": {"alwaysMatch": wanted}}));
        self.session = answer["sessionId"].as_str().expect("a session").to_owned();
    }

    /// Goes to an address.
    pub fn open(&self, url: &str) {
        self.command("url", &json!({"url": url}));
    }

    /// Makes the view this large, as a phone's is.
    pub fn resize(&self, width: u32, height: u32) {
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        let command = json!({"cmd": "Emulation.setDeviceMetricsOverride", "params": metrics});
        self.command("goog/cdp/execute", &command);
    }

    /// Runs a script in the page: its `return` value.
    pub fn run(&self, script: &str) -> Value {
        self.command("execute/sync", &json!({"script": script, "args": []}))
    }

    /// Clicks on the middle of an element, as a mouse does.
    pub fn click(&self, css: &str) {
        let found = self.command("element", &json!({"using": "css selector", "value": css}));
        let id = found.as_object().and_then(|o| o.values().next()?.as_str()).expect(css).to_owned();
        self.command(&format!("element/{id}/click"), &json!({}));
    }

    /// Types keys, one after the other, to whatever has the focus.
    pub fn press(&self, keys: &str) {
        let each = keys.chars().flat_map(|key| {
            ["keyDown", "keyUp"].map(|what| json!({"type": what, "value": key.to_string()}))
        });
        let keyboard = json!({"type": "key", "id": "keys", "actions": each.collect::<Vec<_>>()});
        self.command("actions", &json!({"actions": [keyboard]}));
    }

    /// What the console said.
    pub fn console(&self) -> Vec<String> {
        let said = self.command("se/log", &json!({"type": "browser"}));
        said.as_array().expect("a log").iter().map(|l| l["message"].to_string()).collect()
    }

    /// A picture of the window: PNG in base 64.
    pub fn screenshot(&self) -> String {
        let path = format!("/session/{}/screenshot", self.session);
        self.send("GET", &path, &Value::Null).as_str().expect("a picture").to_owned()
    }

    fn command(&self, command: &str, body: &Value) -> Value {
        self.send("POST", &format!("/session/{}/{command}", self.session), body)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let mut answer = self.exchange(method, path, body).expect("chromedriver answers");
        let value = answer["value"].take();
        assert!(value.get("error").is_none(), "{path}: {value}");
        value
    }

    fn exchange(&self, method: &str, path: &str, body: &Value) -> io::Result<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let length = body.len();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n")?;
        write!(stream, "Content-Length: {length}\r\n\r\n{body}")?;
        let answer = read_answer(BufReader::new(stream))?;
        Ok(serde_json::from_slice(&answer)?)
    }
}

impl Drop for Browser {
    /// The browser is the driver's child: it ends with its session.
    fn drop(&mut self) {
        let _ = self.exchange("DELETE", &format!("/session/{}", self.session), &Value::Null);
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn runs(program: &&str) -> bool {
    let quiet = |c: &mut Command| c.stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet(Command::new(program).arg("--version")).is_ok_and(|s| s.success())
}

fn path_of(program: &str) -> String {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut all = std::env::split_paths(&paths).map(|dir| dir.join(program));
    let found = all.find(|path| path.is_file()).expect("it runs, so it is there");
    found.display().to_string()
}

/// The driver chooses a free port and says which.
fn port_of(driver: &mut Child) -> u16 {
    let stdout = driver.stdout.take().expect("piped");
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let said = lines.find(|l| l.contains("started successfully on port")).expect("a port");
    let digits: String = said.chars().filter(char::is_ascii_digit).collect();
    // What it says later must not block it.
    std::thread::spawn(move || lines.for_each(drop));
    digits.parse().expect("a port")
}

fn read_answer(mut reader: impl BufRead) -> io::Result<Vec<u8>> {
    let mut length = 0;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}
