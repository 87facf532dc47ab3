// Starts the page, and listens to the keyboard.

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  if (event.key === "Escape") return escape(event);
  if (isTyping(event.target)) return enter(event);
  const inList = byId("list").contains(document.activeElement);
  const keys = {
    j: () => open(current + 1),
    k: () => open(Math.max(0, current - 1)),
    "/": () => { byId("search").focus(); byId("search").select(); },
    "?": () => byId("keys").showModal(),
    o: openOverview,
    t: switchTheme,
  };
  if (inList) Object.assign(keys, { ArrowDown: keys.j, ArrowUp: keys.k, Home: () => open(0), End: () => open(shown.length - 1) });
  if (keys[event.key]) keys[event.key]();
  else if (!timeline?.key(event.key)) return;
  event.preventDefault();
}

/** Leaves the search; once more clears it. */
function escape(event) {
  const search = byId("search");
  if (event.target === search && search.value === "") search.blur();
  else if (search.value !== "") { search.value = ""; applyFilters(); }
  else if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}

/** From the search to the first finding that it found. */
function enter(event) {
  if (event.key !== "Enter" || event.target !== byId("search")) return;
  open(0);
  byId("list").focus();
}

startTheme();
showSummary();
fillSelects();
applyFilters();
byId("search").addEventListener("input", applyFilters);
for (const id of ["rule", "severity", "trace"]) byId(id).addEventListener("change", applyFilters);
byId("list").addEventListener("scroll", drawList, { passive: true });
byId("theme").addEventListener("click", switchTheme);
byId("show-overview").addEventListener("click", openOverview);
byId("show-keys").addEventListener("click", () => byId("keys").showModal());
window.addEventListener("resize", drawList);
window.addEventListener("hashchange", openRemembered);
document.addEventListener("keydown", pressed);
openRemembered();
