"use strict";
// Search and sort in the page itself. Without this script the page shows the same, in the order of urgency.
(() => {
  const say = (name, text) => Object.assign(document.createElement(name), { textContent: text });

  // One field that hides what does not hold all its words: rows of the listed tables, sections, findings.
  const bar = document.getElementById("search");
  const label = say("label", "Search topics, subscriptions and findings ");
  const field = Object.assign(document.createElement("input"), { type: "search", id: "search-field" });
  const told = say("p", "");
  told.setAttribute("role", "status");
  label.append(field);
  bar.append(label, told);
  const parts = [...document.querySelectorAll(
    ".sift > tbody > tr, article.topic, article.code tbody > tr")];
  const texts = parts.map(part => part.textContent.toLowerCase());
  const search = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    parts.forEach((part, at) => {
      const holds = words.every(word => texts[at].includes(word));
      part.hidden = !holds;
      shown += holds;
    });
    told.textContent = words.length ? `${shown} of ${parts.length} rows and sections hold this` : "";
  };
  let waiting = 0;
  field.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(search, 120); });

  // A heading of a listed table sorts it; again turns the order round.
  const value = (row, at) => {
    const cell = row.cells[at];
    return cell.dataset.sort === undefined ? cell.textContent.toLowerCase() : Number(cell.dataset.sort);
  };
  const compared = (a, b) => typeof a === "number" ? a - b : a.localeCompare(b);
  document.querySelectorAll("table.sift").forEach(table => {
    [...table.tHead.rows[0].cells].forEach((heading, at) => {
      const button = say("button", heading.textContent);
      button.type = "button";
      button.title = "Sort by this";
      heading.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = heading.getAttribute("aria-sort") === "ascending";
        [...table.tHead.rows[0].cells].forEach(other => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows].map(row => [value(row, at), row]);
        rows.sort((a, b) => (down ? -1 : 1) * compared(a[0], b[0]));
        table.tBodies[0].append(...rows.map(one => one[1]));
      });
    });
  });
})();
