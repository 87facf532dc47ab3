// One finding in full: what is wrong, the graph, the timeline, and the event the reader looks at.

/** The timeline in view. */
let timeline = null;

function leave() {
  timeline?.close();
  timeline = null;
}

/** What something is called, and where it is unless that is the same. */
function labelAndSite(label, site) {
  const where = !site || siteText(site) === label ? [] : [" at ", el("code", {}, siteText(site))];
  return [el("code", {}, label), ...where];
}

function heading(finding, path) {
  const tag = el("span", { className: `tag ${isViolation(finding) ? "bad" : "warn"}` }, finding.severity);
  const said = [tag, el("span", {}, finding.rule)];
  if (data.reports.length > 1) said.push(el("span", { className: "mono" }, path));
  if (finding.code) said.push(el("span", {}, `${finding.code.confidence} confidence`));
  const seen = finding.reordering ? "predicted" : "seen";
  const times = finding.code ? (finding.code.confirmed ? `seen in ${finding.code.confirmed.trace}` : "not run") : finding.count === 1 ? `${seen} once` : `${seen} ${grouped(finding.count)} times`;
  said.push(el("span", {}, times), el("span", { className: "mono", title: "The same for the same bug in another run" }, `id ${finding.id}`));
  const block = el("div", {}, el("p", { className: "eyebrow" }, ...said), el("h2", { title: finding.title }, finding.title));
  if (finding.blame) block.append(el("p", { className: "lead" }, "To blame: ", ...labelAndSite(finding.blame.label, finding.blame.site)));
  const spared = finding.not_refuted ?? [];
  if (spared.length) block.append(el("p", { className: "lead" }, "Not refuted, though open: ", el("code", {}, spared.slice(0, 4).map((b) => b.label).join(", ") + (spared.length > 4 ? ` and ${grouped(spared.length - 4)} more` : ""))));
  if (finding.variables?.length) block.append(variablesOf(finding.variables));
  for (const remark of finding.remarks ?? []) block.append(el("p", { className: "remark" }, remark.text));
  return block;
}

/** All variables that the finding was seen on; many of them only on demand. */
function variablesOf(names) {
  const few = names.slice(0, 12).map((name) => el("code", {}, name));
  const list = el("p", { className: "lead names" }, `Seen on ${counted(names.length, "variable", "variables")}: `, ...few);
  if (names.length > few.length) {
    const more = el("button", { type: "button" }, `and ${grouped(names.length - few.length)} more`);
    more.onclick = () => more.replaceWith(...names.slice(few.length).map((name) => el("code", {}, name)));
    list.append(more);
  }
  return list;
}

/** What the finding means, and what to do about it. Words in backquotes are code. */
function adviceCard({ finding, report }) {
  const rule = (data.reports[report].rules ?? []).find(({ id }) => id === finding.rule);
  if (!rule) return null;
  const { full, fix } = rule;
  const marked = (text) => text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
  return el("section", { className: "card advice" },
    el("div", {}, el("h3", {}, "What it means"), el("p", {}, ...marked(full))),
    el("div", {}, el("h3", {}, "What to do"), el("p", {}, ...marked(fix))));
}

function graphCard(finding, drawing) {
  const parsed = new DOMParser().parseFromString(drawing, "image/svg+xml").documentElement;
  if (parsed.localName !== "svg") return null;
  const hint = finding.cycle.length
    ? `${counted(finding.cycle.length, "transaction", "transactions")}, each before the next` + (finding.blame ? "; the outlined one is to blame" : "") + "; the dashed arrow closed the cycle"
    : "the events that matter";
  return el("section", { className: "card" },
    el("header", {}, el("h3", {}, finding.cycle.length ? "Cycle" : "Events"), el("span", { className: "hint" }, hint)),
    el("div", { className: "graph-box", tabIndex: 0, role: "group", ariaLabel: "Graph" }, document.importNode(parsed, true)));
}

function sourceOf(site) {
  const text = siteText(site);
  if (!Object.hasOwn(data.snippets, text)) return null;
  const snippet = data.snippets[text];
  const rows = snippet.lines.map((line, i) => {
    const number = snippet.first + i;
    return el("tr", { className: number === snippet.line ? "here" : "" }, el("td", {}, String(number)), el("td", {}, line));
  });
  return el("div", { className: "source", tabIndex: 0, role: "group", ariaLabel: "Source" }, el("table", {}, el("caption", {}, text), el("tbody", {}, ...rows)));
}

/** The arrows into and out of an event, to follow. */
function linksOf(i) {
  const link = (to, text) => el("button", { type: "button", onclick: () => timeline.select(to) }, text);
  const name = (row) => `${operation(timeline.events[row])} of ${threadName(timeline.events[row].thread)}`;
  return timeline.arrows.flatMap(({ from, to }) => [
    ...(from === i ? [link(to, `→ ${timeline.ordered ? "before" : "in conflict with"} ${name(to)}`)] : []),
    ...(to === i ? [link(from, `← ${timeline.ordered ? "after" : "in conflict with"} ${name(from)}`)] : []),
  ]);
}

/** The calls around an event, innermost first. */
function stackOf(event) {
  if (!event.stack?.length) return null;
  const frame = ({ label, site }) => el("li", {}, el("code", {}, label), !site || siteText(site) === label ? "" : ` ${siteText(site)}`);
  return el("div", { className: "stack" }, el("h5", {}, "Stack, innermost call first"), el("ol", {}, ...event.stack.map(frame)));
}

function showEvent(panel, i) {
  const event = timeline.events[i];
  const said = [["event", grouped(event.event)], ["thread", event.thread], ["site", siteText(event.site)]].filter(([, value]) => value !== "?");
  if (timeline.moved.has(i)) said.push(["moved", "comes later than it was observed"]);
  panel.replaceChildren(
    el("h4", {}, operation(event)),
    el("dl", {}, ...said.flatMap(([name, value]) => [el("dt", {}, name), el("dd", { className: "mono" }, value)])),
    el("div", { className: "links" }, ...linksOf(i)),
    stackOf(event) ?? "", sourceOf(event.site) ?? "");
}

/** The events of a prediction in the order in which they were observed. */
function asObserved(finding) {
  const threads = finding.threads.toSorted((a, b) => a.event - b.event);
  return { ...finding, threads, cycle: [], explanation: "events", reordering: null };
}

/** Switches between the order of a prediction and the observed one. */
function orderSwitch(finding, observed, show) {
  const button = (text, pressed, action) => {
    const one = el("button", { type: "button", onclick: action }, text);
    one.setAttribute("aria-pressed", String(pressed));
    return one;
  };
  return el("div", { className: "zoom order", role: "group", ariaLabel: "Order of the events" },
    button("As it can happen", !observed, () => show(false)), button("As observed", observed, () => show(true)));
}

function timelineCard(given, observed = false) {
  const finding = observed ? asObserved(given) : given;
  const panel = el("aside", { className: "event", ariaLabel: "The chosen event" });
  panel.setAttribute("aria-live", "polite");
  timeline = new Timeline(finding, (i) => showEvent(panel, i));
  const button = (text, label, action) => el("button", { type: "button", title: label, ariaLabel: label, onclick: action }, text);
  const shown = timeline;
  const zoom = el("div", { className: "zoom" },
    button("‹", "Previous event in conflict (←)", () => shown.step(-1)), button("›", "Next event in conflict (→)", () => shown.step(1)),
    button("−", "Zoom out (-)", () => shown.zoom(1 / 1.4)), button("+", "Zoom in (+)", () => shown.zoom(1.4)),
    button("All", "Show all of it (0)", () => shown.fit()));
  const hint = `${counted(finding.threads.length, "event", "events")}, time goes down${shown.moved.size ? "; ↓ later than observed" : ""}; Ctrl and the wheel zoom`;
  const sources = finding.threads.slice(0, 99).some((event) => Object.hasOwn(data.snippets, siteText(event.site)));
  const height = `${Math.max(sources && window.innerWidth > 1100 ? 440 : 240, shown.wantedHeight())}px`;
  shown.element.style.height = panel.style.maxHeight = height;
  const show = (wanted) => {
    leave();
    card.replaceWith(timelineCard(given, wanted));
    timeline.resize();
    timeline.select(timeline.conflicts[0] ?? 0);
  };
  const orders = given.reordering ? [orderSwitch(given, observed, show)] : [];
  const card = el("section", { className: "card" },
    el("header", {}, el("h3", {}, "Timeline"), el("span", { className: "hint" }, hint), ...orders, zoom),
    el("div", { className: "interleaving" }, shown.element, panel));
  return card;
}

/** The steps through code that was not run. */
function stepsCard(code) {
  const rows = code.steps.flatMap((step) => [
    el("dt", {}, step.action.text), el("dd", {}, ...labelAndSite(step.method, step.site), sourceOf(step.site) ?? "")]);
  return el("section", { className: "card" },
    el("header", {}, el("h3", {}, "Steps through the code"), el("span", { className: "hint" }, `Fix: ${code.fix}`)),
    el("dl", { className: "steps" }, ...rows));
}

function showFinding(entry) {
  leave();
  const finding = entry.finding;
  if (finding.code) {
    byId("detail").replaceChildren(el("div", { className: "inner" }, heading(finding, entry.path), stepsCard(finding.code)));
    byId("detail").scrollTop = 0;
    return;
  }
  const cards = [heading(finding, entry.path), graphCard(finding, entry.drawing), timelineCard(finding), adviceCard(entry)];
  byId("detail").replaceChildren(el("div", { className: "inner" }, ...cards.filter(Boolean)));
  byId("detail").scrollTop = 0;
  timeline.resize();
  timeline.select(timeline.conflicts[0] ?? 0);
}

function showOverview() {
  leave();
  byId("detail").replaceChildren(overview());
}

onThemeChange.push(() => timeline?.soon());
