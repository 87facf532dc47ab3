// The list of findings: filtered, and only the part in view is in the document.

const ITEM = 78;

const entries = data.reports.flatMap((report, r) => report.findings.map((finding, f) => ({
  finding, report: r, path: report.input.path, drawing: data.graphs[r][f], words: words(finding),
})));

/** The entries that pass the filters, and which of them is open (-1: the overview). */
let shown = entries;
let current = -1;

/** All that a search looks through. */
function words(finding) {
  const parts = [finding.title, finding.id, finding.rule, finding.blame?.label, siteText(finding.blame?.site)];
  for (const t of finding.cycle) parts.push(t.thread, t.label, siteText(t.site));
  for (const e of finding.threads.slice(0, 50)) {
    parts.push(e.thread, e.target?.name, siteText(e.site));
    for (const frame of e.stack ?? []) parts.push(frame.label);
  }
  parts.push(...(finding.variables ?? []).slice(0, 200));
  for (const step of finding.code?.steps ?? []) parts.push(step.action.text, step.method, siteText(step.site));
  return parts.filter(Boolean).join("\n").toLowerCase();
}

function fillSelects() {
  const fill = (select, all, values) => {
    byId(select).append(el("option", { value: "" }, all), ...values.map((value) => el("option", { value }, value)));
  };
  fill("rule", "All rules", [...new Set(entries.map((e) => e.finding.rule))].sort());
  fill("severity", "All severities", [...new Set(entries.map((e) => e.finding.severity))].sort());
  byId("trace").append(el("option", { value: "" }, "All traces"), ...data.reports.map((report, i) => el("option", { value: String(i) }, report.input.path)));
  byId("trace").hidden = data.reports.length < 2;
}

function applyFilters() {
  const wanted = byId("search").value.trim().toLowerCase().split(/\s+/);
  const [rule, severity, trace] = ["rule", "severity", "trace"].map((id) => byId(id).value);
  const open = shown[current];
  shown = entries.filter((entry) =>
    (!rule || entry.finding.rule === rule) && (!severity || entry.finding.severity === severity)
    && (!trace || entry.report === Number(trace)) && wanted.every((word) => entry.words.includes(word)));
  current = shown.indexOf(open);
  byId("count").textContent = shown.length === entries.length ? counted(entries.length, "finding", "findings")
    : `${grouped(shown.length)} of ${counted(entries.length, "finding", "findings")}`;
  byId("list").scrollTop = 0;
  if (current >= 0) revealItem(current);
  drawList();
}

function drawList() {
  const list = byId("list"), space = byId("list-space");
  space.style.height = `${shown.length * ITEM}px`;
  const first = Math.max(0, Math.floor(list.scrollTop / ITEM) - 3);
  const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ITEM) + 3);
  const items = [];
  for (let i = first; i < last; i++) items.push(item(i));
  if (!shown.length) items.push(el("p", { className: "none" }, entries.length ? "No finding matches." : "No findings."));
  space.replaceChildren(...items);
  if (current >= first && current < last) list.setAttribute("aria-activedescendant", `item-${current}`);
  else list.removeAttribute("aria-activedescendant");
}

function item(i) {
  const { finding } = shown[i];
  const element = el("div", { className: "item", id: `item-${i}`, role: "option", onclick: () => open(i) },
    el("div", { className: "title", title: finding.title }, finding.title),
    el("div", { className: "sub" },
      el("span", { className: `tag ${isViolation(finding) ? "bad" : "warn"}` }, finding.rule),
      el("span", { className: "mono" }, whereabouts(finding)),
      el("span", { className: "times" }, finding.count > 1 ? `× ${grouped(finding.count)}` : "")));
  element.style.top = `${i * ITEM}px`;
  element.setAttribute("aria-selected", String(i === current));
  element.setAttribute("aria-posinset", String(i + 1));
  element.setAttribute("aria-setsize", String(shown.length));
  return element;
}

/** Where to look, in the source or else in the program. */
function whereabouts(finding) {
  const sites = [finding.blame?.site, ...finding.threads.slice(0, 9).map((event) => event.site)];
  const best = sites.find((site) => site?.line !== undefined) ?? sites.find((site) => site);
  return best ? siteText(best) : "";
}

function revealItem(i) {
  const list = byId("list"), top = i * ITEM;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + ITEM > list.scrollTop + list.clientHeight) list.scrollTop = top + ITEM - list.clientHeight;
}

/** Opens a finding of the list. */
function open(i) {
  if (!shown[i]) return;
  current = i;
  revealItem(i);
  drawList();
  showFinding(shown[i]);
  remember(`#${encodeURIComponent(shown[i].finding.id)}`);
}

function openOverview() {
  current = -1;
  drawList();
  showOverview();
  remember("#overview");
}

/** So that a reload, or a link, leads to the same finding. */
function remember(hash) {
  try { history.replaceState(null, "", hash); } catch { /* not allowed everywhere */ }
}

function openRemembered() {
  const wanted = location.hash.slice(1);
  const found = shown.findIndex((entry) => encodeURIComponent(entry.finding.id) === wanted);
  if (found >= 0) open(found);
  else if (shown.length && wanted !== "overview") open(0);
  else openOverview();
}
