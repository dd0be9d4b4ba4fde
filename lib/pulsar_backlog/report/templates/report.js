"use strict";
// Search, sort and zoom in the page itself. Without this script the pages show the same, in the order of urgency.
(() => {
  const make = (name, text, more) => Object.assign(document.createElement(name), { textContent: text }, more);
  const compared = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });

  // The search: one table of topics, subscriptions and findings, made of the data that the front page holds.
  const SHOWN = 200;
  const GRADES = ["Error", "Not wholly read", "Warning", "Fine", "Not judged"];
  const SURE = ["certain", "likely", "cannot tell"];
  const KINDS = { topic: "Topics", subscription: "Subscriptions", finding: "Findings" };
  const NO_TOPIC = "(no topic: nothing names it)";
  const PAGES = { topic: "part", scalable: "scalable" };
  const linkOf = topic => topic && topic[6] ? (topic[5] ? `report/${PAGES[topic[7]]}-${topic[5]}.html` : "") + `#${topic[7]}-${topic[6]}` : null;

  const rowsOf = data => {
    const of = (kind, values, topic) => {
      const [name, grade, what, sure, entries] = values;
      const own = kind !== "topic" && topic ? topic[0] ?? NO_TOPIC : "";
      return { kind, name: name ?? NO_TOPIC, topic: own, what, grade, sure, entries, link: linkOf(topic),
        text: `${name} ${own} ${what}`.toLowerCase() };
    };
    return [...data.topics.map(t => of("topic", t, t)),
      ...data.subscriptions.map(s => of("subscription", s, data.topics[s[5]])),
      ...data.findings.map(f => of("finding", f, data.topics[f[5]]))];
  };
  const COLUMNS = [["What", r => r.name], ["Verdict", r => r.what], ["Severity", r => r.grade],
    ["How sure", r => r.sure < 0 ? SURE.length : r.sure], ["Entries", r => r.entries ?? -1]];

  const choice = (label, words, bar) => {
    const select = make("select", "");
    select.append(make("option", "any", { value: "" }),
      ...Object.entries(words).map(([value, text]) => make("option", text, { value })));
    const around = make("label", `${label} `);
    around.append(select);
    bar.append(around);
    return select;
  };

  const drawn = row => {
    const line = make("tr", ""), name = make("th", "", { scope: "row" }), verdict = make("td", "");
    const shown = make(row.link ? "a" : "span", "", row.link ? { href: row.link } : {});
    shown.append(make("bdi", row.name));
    name.append(shown);
    const under = make("small", row.kind === "topic" ? "topic" : `${row.kind}${row.topic ? " of " : ""}`);
    if (row.topic) under.append(make("bdi", row.topic));
    name.append(under);
    verdict.append(make("bdi", row.what));
    line.append(name, verdict, make("td", GRADES[row.grade]), make("td", SURE[row.sure] ?? ""),
      make("td", row.entries === null ? "unknown" : row.entries.toLocaleString("en"), { className: "n" }));
    COLUMNS.forEach(([head], at) => { line.cells[at].dataset.label = head; });
    return line;
  };

  const search = (bar, data) => {
    const rows = rowsOf(data);
    const field = make("input", "", { type: "search", id: "search-field" });
    const label = make("label", "Search topics, subscriptions and findings ");
    label.append(field);
    bar.append(label);
    const kind = choice("Show", KINDS, bar), grade = choice("Severity", GRADES, bar), sure = choice("How sure", SURE, bar);
    const told = make("p", "");
    told.setAttribute("role", "status");
    const table = make("table", "", { className: "stack found", hidden: true }), head = table.createTHead().insertRow();
    const body = table.createTBody(), more = make("button", "Show more", { type: "button", hidden: true });
    table.prepend(make("caption", "What was found"));
    bar.append(told, table, more);
    let order = null, down = false, found = [], shown = 0;

    const next = () => {
      body.append(...found.slice(shown, shown + SHOWN).map(drawn));
      shown = Math.min(shown + SHOWN, found.length);
      more.hidden = shown >= found.length;
    };
    const look = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const asked = words.length || kind.value || grade.value || sure.value;
      found = !asked ? [] : rows.filter(r => (!kind.value || r.kind === kind.value) && (!grade.value || String(r.grade) === grade.value)
        && (!sure.value || String(r.sure) === sure.value) && words.every(word => r.text.includes(word)));
      if (order) found.sort((a, b) => (down ? -1 : 1) * compared(order(a), order(b)));
      const all = data.all.reduce((a, b) => a + b, 0), left = all - rows.length;
      told.textContent = !asked ? "" : `${found.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} found`
        + (left > 0 ? `; ${left.toLocaleString("en")} more are in the tables only` : "");
      body.replaceChildren();
      table.hidden = !found.length;
      shown = 0;
      next();
    };
    COLUMNS.forEach(([text, value]) => {
      const cell = make("th", "", { scope: "col" }), button = make("button", text, { type: "button", title: "Sort by this" });
      cell.append(button);
      head.append(cell);
      button.addEventListener("click", () => {
        down = cell.getAttribute("aria-sort") === "ascending";
        order = value;
        [...head.cells].forEach(other => other.removeAttribute("aria-sort"));
        cell.setAttribute("aria-sort", down ? "descending" : "ascending");
        look();
      });
    });
    more.addEventListener("click", next);
    let waiting = 0;
    field.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(look, 120); });
    [kind, grade, sure].forEach(select => select.addEventListener("change", look));
    const asked = () => {
      const words = location.hash.match(/^#search=(.*)$/);
      if (!words) return;
      field.value = decodeURIComponent(words[1]);
      look();
      field.focus();
    };
    asked();
    addEventListener("hashchange", asked);
  };
  const data = document.getElementById("search-data"), bar = document.getElementById("search");
  if (data) search(bar, JSON.parse(data.textContent));

  // Another page of the report asks the front page, which holds what the search knows.
  const elsewhere = () => {
    const field = make("input", "", { type: "search", id: "search-field" });
    const label = make("label", "Search topics, subscriptions and findings ");
    const go = () => { location.href = `${bar.dataset.report}#search=${encodeURIComponent(field.value)}`; };
    const button = make("button", "Search", { type: "button" });
    label.append(field);
    bar.append(label, button);
    button.addEventListener("click", go);
    field.addEventListener("keydown", event => { if (event.key === "Enter") go(); });
  };
  if (bar && !data) elsewhere();

  // A small screen begins with its parts folded; what a link leads to unfolds.
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    const own = target.querySelector(":scope > details");
    if (own) own.open = true;
    target.scrollIntoView();
  };
  if (matchMedia("(max-width: 44rem)").matches)
    document.querySelectorAll("details.fold, article.topic > details, article.code > details").forEach(d => { d.open = false; });
  if (location.hash) reveal();
  addEventListener("hashchange", reveal);

  // A heading of a listed table sorts it; again turns the order round.
  const value = (row, at) => {
    const cell = row.cells[at];
    return cell.dataset.sort === undefined ? cell.textContent.toLowerCase() : Number(cell.dataset.sort);
  };
  document.querySelectorAll("table.sift").forEach(table => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((heading, at) => {
      const button = make("button", heading.textContent, { type: "button", title: "Sort by this" });
      heading.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = heading.getAttribute("aria-sort") === "ascending";
        heads.forEach(other => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows].map(row => [value(row, at), row]);
        rows.sort((a, b) => (down ? -1 : 1) * compared(a[0], b[0]));
        table.tBodies[0].append(...rows.map(one => one[1]));
      });
    });
  });

  // A drawing over time or over entries grows to the sides, and scrolls; what was in the middle stays there.
  const MOST = 32;
  document.querySelectorAll("figure.timeline, figure.acks, figure.layout").forEach(figure => {
    const drawing = figure.querySelector("svg"), pan = make("div", "", { className: "pan", tabIndex: 0 });
    pan.setAttribute("role", "region");
    pan.setAttribute("aria-label", `${drawing.querySelector("title").textContent}, scrolls to the sides`);
    drawing.replaceWith(pan);
    pan.append(drawing);
    const bar = make("p", "", { className: "zoom" }), told = make("span", "");
    told.setAttribute("role", "status");
    let times = 1;
    const zoom = by => {
      const middle = (pan.scrollLeft + pan.clientWidth / 2) / pan.scrollWidth;
      times = Math.min(Math.max(times * by, 1), MOST);
      drawing.setAttribute("width", `${times * 100}%`);
      figure.classList.toggle("zoomed", times > 2);
      told.textContent = times > 1 ? ` ${times} times as wide` : "";
      pan.scrollLeft = middle * pan.scrollWidth - pan.clientWidth / 2;
    };
    [["Zoom in", 2], ["Zoom out", 0.5]].forEach(([text, by]) => {
      const button = make("button", text, { type: "button" });
      button.addEventListener("click", () => zoom(by));
      bar.append(button, " ");
    });
    bar.append(told);
    figure.prepend(bar);
  });
})();
