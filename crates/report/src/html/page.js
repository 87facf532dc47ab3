// What the other scripts share: the data, and how to make elements. Texts are set as texts; names
// from a trace never become markup.

const data = JSON.parse(document.getElementById("data").textContent);

const byId = (id) => document.getElementById(id);

/** An element with properties and children; strings become text nodes. */
function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const grouped = (number) => Number(number).toLocaleString("en-US");
const counted = (number, one, many) => `${grouped(number)} ${number === 1 ? one : many}`;
const operation = (event) => (event.target === null ? event.kind : `${event.kind}(${event.target.name})`);

/** A place in the source, as it is written everywhere: `Set.java:12`. */
function siteText(site) {
  if (!site) return "?";
  if (site.file !== undefined) return site.line === undefined ? site.file : `${site.file}:${site.line}`;
  return site.method ?? String(site.number);
}

/** Long names lose their middle: the beginning and the end say most. */
function shorten(text, most) {
  if (text.length <= most) return text;
  if (most < 2) return "…";
  const head = Math.floor((most - 1) / 2);
  return text.slice(0, head) + "…" + text.slice(text.length - (most - 1 - head));
}

/** A bare number says little. */
const threadName = (name) => (/^\d+$/.test(name) ? `thread ${name}` : name);

const isViolation = (finding) => finding.severity === "violation";

/** `true` while the pointer is in a place where letters are typed. */
function isTyping(target) {
  return target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
}

const onThemeChange = [];

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  onThemeChange.forEach((changed) => changed());
}

/** The reader's own choice, else what the system says. */
function startTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try { chosen = localStorage.getItem("paceline-theme"); } catch { /* not allowed for files */ }
  setTheme(chosen ?? (dark.matches ? "dark" : "light"));
  dark.addEventListener("change", () => { if (chosen === null) setTheme(dark.matches ? "dark" : "light"); });
}

function switchTheme() {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("paceline-theme", theme); } catch { /* not allowed for files */ }
  setTheme(theme);
}
