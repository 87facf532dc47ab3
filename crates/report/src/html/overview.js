// What was analysed, so that a reader knows what a green stands for.

const PROPERTIES = ["atomicity", "cooperability", "determinism", "race", "reduction"];

/** In a few words, what came out for a property: [kind, text]. */
const VERDICT = {
  atomicity: (v) => v.holds ? "every block is atomic"
    : `not atomic${at(v.first_event)}; ${counted(v.refuted.length, "block instance is", "block instances are")} refuted`,
  cooperability: (v) => v.holds ? "no yield is missing"
    : `not cooperable${at(v.first_event)}; ${counted(v.yields.length, "yield is", "yields are")} missing`,
  determinism: (v) => v.holds ? "every deterministic block is deterministic"
    : v.conflict_free ? "others interfere with deterministic blocks" : "threads of a deterministic block conflict",
  race: (v) => v.holds ? "no race" : `races on ${counted(v.variables.length, "variable", "variables")}`,
  reduction: (v) => v.holds ? "no warning"
    : `${counted(v.warnings, "warning", "warnings")}, ${grouped(v.confirmed)} confirmed`,
};

function at(event) {
  return event === null ? "" : ` from event ${grouped(event)} on`;
}

function facts(inputs) {
  const sum = (field) => inputs.reduce((total, input) => total + input[field], 0);
  const each = { events: "event", threads: "thread", transactions: "block", variables: "variable", locks: "lock" };
  return Object.entries(each).map(([field, name]) => {
    const total = sum(field);
    return el("div", {}, el("dt", {}, total === 1 ? name : `${name}s`), el("dd", {}, grouped(total)));
  });
}

/** Does a property hold everywhere it was asked for? `undefined` if it was not. */
function holds(property) {
  const verdicts = data.reports.map((report) => report.verdicts[property]).filter(Boolean);
  return verdicts.length ? verdicts.every((verdict) => verdict.holds) : undefined;
}

function verdictClass(property, good) {
  if (good) return "good";
  return property === "reduction" ? "warn" : "bad";
}

function showSummary() {
  const paths = [...data.reports, ...data.failures].map((report) => report.input.path);
  byId("path").textContent = paths.length === 1 ? paths[0] : counted(paths.length, "trace", "traces");
  byId("path").title = paths.slice(0, 20).join("\n");
  document.title = `Paceline: ${byId("path").textContent}`;
  byId("facts").append(...facts(data.reports.map((report) => report.input)));
  for (const property of PROPERTIES) {
    const good = holds(property);
    if (good === undefined) continue;
    const mark = good ? "✓" : property === "reduction" ? "▲" : "✗";
    byId("verdicts").append(el("li", { className: `chip ${verdictClass(property, good)}` }, `${mark} ${property}`));
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
  said.push(...notes.slice(0, 2).map((note) => `Note: ${note}.`));
  if (notes.length > 2) said.push(`${grouped(notes.length - 2)} more notes under “What was analysed”.`);
  byId("banner").textContent = said.join(" ");
  byId("banner").hidden = said.length === 0;
}

function overviewOf(report) {
  const rows = PROPERTIES.map((property) => {
    const verdict = report.verdicts[property];
    const chip = verdict
      ? el("span", { className: `chip ${verdictClass(property, verdict.holds)}` }, verdict.holds ? "✓ holds" : "✗ violated")
      : el("span", { className: "chip" }, "not asked");
    if (verdict && property === "reduction" && !verdict.holds) chip.textContent = "▲ warnings";
    return el("tr", {}, el("th", { scope: "row" }, property), el("td", {}, chip),
      el("td", {}, verdict ? VERDICT[property](verdict) : "this report says nothing about it"));
  });
  const notes = (report.notes ?? []).map((note) => el("li", {}, note));
  if (report.incomplete) notes.unshift(el("li", { className: "serious" }, "incomplete: some of the trace was not looked at"));
  return el("section", { className: "card" },
    el("header", {}, el("h3", { className: "mono" }, report.input.path),
      el("span", { className: "hint" }, counted(report.findings.length, "finding", "findings"))),
    el("table", {}, el("tbody", {}, ...rows)),
    el("dl", { className: "facts" }, ...facts([report.input])),
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
  const whole = !data.failures.length && data.reports.every((report) => !report.incomplete);
  if (found) return counted(found, "finding", "findings");
  return whole && data.reports.some((report) => report.input.events > 0) ? "No finding in what was analysed" : "No finding, but not all was analysed";
}

function overview() {
  return el("div", { className: "inner overview" },
    el("div", {}, el("p", { className: "eyebrow" }, "What was analysed"), el("h2", {}, headline()),
      el("p", { className: "lead" }, "A property that holds, holds for the events below: for this run of the program, in these blocks.")),
    ...data.failures.map(overviewOfFailure), ...data.reports.map(overviewOf));
}
