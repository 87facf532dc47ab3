// What was analysed, so that a reader knows what a green stands for.

function facts(reports) {
  const codes = reports.map((report) => report.code).filter(Boolean);
  if (codes.length) {
    const total = (field) => codes.reduce((sum, code) => sum + code[field], 0);
    return ["classes", "methods", "lines"].map((field) => el("div", {}, el("dt", {}, field), el("dd", {}, grouped(total(field)))));
  }
  const inputs = reports.map((report) => report.input);
  const sum = (field) => inputs.reduce((total, input) => total + input[field], 0);
  const each = { events: "event", threads: "thread", transactions: "block", variables: "variable", locks: "lock" };
  return Object.entries(each).map(([field, name]) => {
    const total = sum(field);
    return el("div", {}, el("dt", {}, total === 1 ? name : `${name}s`), el("dd", {}, grouped(total)));
  });
}

/** How a property fared in a report. */
const standing = (report, property) => report.verdicts[property]?.standing ?? "unasked";

/** The worst first. */
const STANDINGS = {
  violated: { style: "bad", mark: "✗", words: "violated" },
  warned: { style: "warn", mark: "▲", words: "warnings" },
  empty: { style: "warn", mark: "∅", words: "nothing analysed" },
  holds: { style: "good", mark: "✓", words: "holds" },
  unasked: { style: "", mark: "", words: "not asked" },
};

/** Every property that was decided in some report. */
function properties() {
  return [...new Set(data.reports.flatMap((report) => Object.keys(report.verdicts)))];
}

/** How a property fared in all reports. */
function worst(property) {
  const all = new Set(data.reports.map((report) => standing(report, property)));
  return Object.keys(STANDINGS).find((name) => all.has(name)) ?? "unasked";
}

function showSummary() {
  const paths = [...data.reports, ...data.failures].map((report) => report.input.path);
  byId("path").textContent = paths.length === 1 ? paths[0] : counted(paths.length, "trace", "traces");
  byId("path").title = paths.slice(0, 20).join("\n");
  document.title = `Paceline: ${byId("path").textContent}`;
  byId("facts").append(...facts(data.reports));
  for (const property of properties()) {
    const name = worst(property);
    const { style, mark, words } = STANDINGS[name];
    byId("verdicts").append(el("li", { className: `chip ${style}`, title: words }, `${mark} ${property}${name === "empty" ? ": nothing analysed" : ""}`));
  }
  showBanner();
}

/** What keeps the report from being the whole truth. */
function showBanner() {
  const said = [];
  const incomplete = data.reports.filter((report) => report.incomplete).length;
  if (incomplete) said.push(`Incomplete: part of ${counted(incomplete, "trace", "traces")} was not analysed.`);
  if (data.failures.length) said.push(`${counted(data.failures.length, "trace", "traces")} could not be analysed.`);
  const notes = data.reports.flatMap((report) => report.notes ?? []);
  byId("banner").classList.toggle("serious", said.length > 0);
  said.push(...notes.slice(0, 2).map((note) => `Note: ${note.text}.`));
  if (notes.length > 2) said.push(`${grouped(notes.length - 2)} more notes under “What was analysed”.`);
  byId("banner").textContent = said.join(" ");
  byId("banner").hidden = said.length === 0;
}

/** What was left out, on demand or because it could not be read. */
function scopeOf({ properties, filters, dropped }) {
  const said = [
    ["checked", properties.join(", ") || "not known"],
    ["filters", filters.map((filter) => filter.text).join(" · ") || "none"],
    ["dropped", dropped ? counted(dropped, "event", "events") : "nothing"],
  ];
  return said.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
}

/** A list that a verdict has beside its findings. */
function sectionOf({ rows }) {
  const section = el("div", { className: "section" });
  let list = null;
  for (const row of rows) {
    if (row.heading !== undefined || !list) {
      if (row.heading !== undefined) section.append(el("h3", {}, row.heading));
      section.append(list = el("ul", { className: "notes" }));
    }
    if (row.at) list.append(el("li", {}, `${row.at.text}, event ${grouped(row.at.event)}`));
    else if (row.heading === undefined) list.append(el("li", {}, row.more ?? row.line));
  }
  return section;
}

/** What a table shows of a verdict beside its summary. */
function cellsOf(verdict) {
  const shown = (value) => (value === true ? "yes" : value === false ? "no" : typeof value === "number" ? grouped(value) : value);
  return (verdict.cells ?? []).map(({ name, value }) => `${name}: ${shown(value)}`).join(" · ");
}

function rowOf(property, verdict) {
  const { style, mark, words } = STANDINGS[verdict.standing];
  const chip = el("span", { className: `chip ${style}` }, `${mark} ${words}`);
  return el("tr", {}, el("th", { scope: "row" }, property), el("td", {}, chip), el("td", {}, verdict.summary), el("td", {}, cellsOf(verdict)));
}

/** What each rule for code found. */
function rulesOf(report) {
  return (report.rules ?? []).map((rule) => {
    const found = report.findings.filter((finding) => finding.rule === rule.id).length;
    const { style, mark, words } = STANDINGS.warned;
    const chip = found ? el("span", { className: `chip ${style}` }, `${mark} ${words}`) : "—";
    return el("tr", { title: `${rule.full} ${rule.fix}` }, el("th", { scope: "row" }, rule.id), el("td", {}, chip),
      el("td", {}, found ? counted(found, "warning", "warnings") : "no warning"));
  });
}

function overviewOf(report, r) {
  const rows = report.code ? rulesOf(report) : Object.entries(report.verdicts).map(([property, verdict]) => rowOf(property, verdict));
  const notes = (report.notes ?? []).map((note) => el("li", {}, note.text));
  if (report.incomplete) notes.unshift(el("li", { className: "serious" }, "incomplete: some of the trace was not looked at"));
  return el("section", { className: "card" },
    el("header", {}, el("h3", { className: "mono" }, report.input.path),
      el("span", { className: "hint" }, counted(report.findings.length, "finding", "findings"))),
    el("table", {}, el("tbody", {}, ...rows)),
    el("dl", { className: "facts" }, ...facts([report])),
    el("dl", { className: "scope" }, ...scopeOf(report.scope)),
    ...data.sections[r].map(sectionOf),
    notes.length ? el("ul", { className: "notes" }, ...notes) : null);
}

function overviewOfFailure(failure) {
  const where = failure.error.line !== null ? ` in line ${grouped(failure.error.line)}` : "";
  return el("section", { className: "card" },
    el("header", {}, el("h3", { className: "mono" }, failure.input.path), el("span", { className: "chip bad" }, "not analysed")),
    el("ul", { className: "notes" }, el("li", { className: "serious" }, `${failure.error.rule}${where}: ${failure.error.message}`)));
}

function headline() {
  const found = data.reports.reduce((total, report) => total + report.findings.length, 0);
  if (found) return counted(found, "finding", "findings");
  const whole = !data.failures.length && data.reports.every((report) => !report.incomplete);
  const outcomes = properties().map(worst);
  if (data.reports.some((report) => report.code)) return whole ? "No warning in the code that was read" : "No warning, but not all could be read";
  if (!outcomes.includes("holds")) return "Nothing was analysed";
  return whole && !outcomes.includes("empty") ? "No finding in what was analysed" : "No finding, but not all was analysed";
}

function overview() {
  return el("div", { className: "inner overview" },
    el("div", {}, el("p", { className: "eyebrow" }, "What was analysed"), el("h2", {}, headline()),
      el("p", { className: "lead" }, data.reports.some((report) => report.code)
        ? "The code was read and not run: a warning may be harmless, and code without a warning may be wrong."
        : "A property that holds, holds for the events below: for this run of the program, in these blocks.")),
    ...data.failures.map(overviewOfFailure), ...data.reports.map(overviewOf));
}
