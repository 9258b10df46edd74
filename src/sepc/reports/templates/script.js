"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { labels, records, columns, verdicts, neighbours } = data;
  const n = records.trust.length;
  const right = records.truth.map((label, i) => label === records.label[i]);
  const told = new Map(verdicts.map((verdict) => [verdict.record, verdict]));
  const MOST_ROWS = 500;
  const byId = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  let minTrust = data.min_trust;

  // Numbers and texts as the rest of the page has them.

  function percent(share) {
    if (share === null) return "–";
    const value = 100 * share;
    let text = value.toFixed(1);
    // Of two equally near numbers take the even one, as Python does.
    if ((value * 10) % 1 === 0.5) text = ((Math.floor(value * 10) + (Math.floor(value * 10) % 2)) / 10).toFixed(1);
    if (text === "100.0" && share < 1) return "over 99.9 %";
    if (text === "0.0" && share > 0) return "under 0.1 %";
    return `${text.replace(/\.0$/, "")} %`;
  }
  const count = (number) => number.toLocaleString("en-US");
  function short(value, digits = 4) {
    if (value === null) return "–";
    if (typeof value !== "number" || Number.isInteger(value)) return String(value);
    return String(Number(value.toPrecision(digits)));
  }

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }
  const text = (value) => make("bdi", {}, String(value));
  function label(name) {
    const code = labels.indexOf(name);
    return make("span", { class: `chip ${data.looks[code] ?? "rest"}` }, text(name));
  }

  // Tables: a click on a heading sorts, another one turns the order around; what is missing stays at the end.

  const collator = new Intl.Collator("en", { numeric: true });
  function value(row, column) {
    const cell = row.cells[column];
    if ("value" in cell.dataset) return cell.dataset.value === "" ? null : Number(cell.dataset.value);
    return cell.textContent.trim();
  }
  function compare(a, b) {
    return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(a, b);
  }
  function sort(table) {
    const heading = table.querySelector("th[aria-sort]");
    if (!heading) return;
    const sign = heading.getAttribute("aria-sort") === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => [value(row, heading.cellIndex), row]);
    keyed.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b)));
    body.append(...keyed.map(([, row]) => row));
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("table.sortable thead button");
    if (!button) return;
    const heading = button.closest("th");
    const next = heading.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    all("th[aria-sort]", heading.parentElement).forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", next);
    sort(heading.closest("table"));
  });
  function makeTable(name, headings, rows) {
    const head = make("tr");
    for (const [title, kind] of headings) {
      head.append(make("th", { scope: "col", class: kind }, make("button", { type: "button" }, text(title))));
    }
    const table = make("table", { class: "sortable" }, make("caption", { class: "hidden" }, name));
    table.append(make("thead", {}, head), make("tbody", {}, ...rows));
    return make("div", { class: "scroll tall", role: "region", "aria-label": name, tabindex: "0" }, table);
  }

  // The threshold: everything is counted anew from the records.

  const refusal = (i) => records.refusal[i] ?? (records.trust[i] >= minTrust ? null : "trust");
  const abstains = (i) => refusal(i) !== null;
  function counted() {
    const confusion = labels.map(() => new Array(data.n_classes + 1).fill(0));
    const left = [];
    let rightly = 0;
    for (let i = 0; i < n; i += 1) {
      if (abstains(i)) left.push(i);
      else rightly += right[i];
      confusion[records.truth[i]][abstains(i) ? data.n_classes : records.label[i]] += 1;
    }
    return { confusion, left, accepted: n - left.length, rightly };
  }

  function show(id, words) {
    byId(id).textContent = words;
  }
  function showThreshold() {
    const { confusion, left, accepted, rightly } = counted();
    const accuracy = accepted ? rightly / accepted : null;
    show("coverage", percent(accepted / n));
    show("n-accepted", count(accepted));
    show("accuracy", percent(accuracy));
    show("n-right", count(rightly));
    show("n-errors", count(accepted - rightly));
    show("n-abstained", count(left.length));
    all("[data-shows=trust]").forEach((element) => (element.textContent = String(minTrust)));
    byId("trust").setAttribute("aria-valuetext", `${minTrust}: ${accepted} of ${n} records accepted`);
    for (const cell of all(".confusion td")) {
      const number = confusion[cell.dataset.true][cell.dataset.given];
      cell.textContent = count(number);
      cell.classList.toggle("none", number === 0);
    }
    all(".presets button").forEach((b) => b.setAttribute("aria-pressed", String(Number(b.dataset.trust) === minTrust)));
    moveMark(accepted / n, accuracy === null ? 0 : 1 - accuracy);
    showAbstained(left);
    fillList();
  }

  function moveMark(coverage, risk) {
    const mark = byId("mark");
    const { left, right: end, bottom, top, highest } = Object.fromEntries(
      Object.entries(mark.dataset).map(([name, number]) => [name, Number(number)]),
    );
    const x = left + (end - left) * coverage;
    const [line, circle] = mark.children;
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    circle.setAttribute("cx", x);
    circle.setAttribute("cy", bottom + (top - bottom) * Math.min(risk / highest, 1));
  }

  function showAbstained(left) {
    const shown = [...left].sort((a, b) => records.trust[a] - records.trust[b]).slice(0, MOST_ROWS);
    const rows = shown.map((i) => {
      const id = told.has(i) ? make("button", { type: "button", class: "link", "data-open": i }, text(records.id[i])) : text(records.id[i]);
      return make(
        "tr",
        {},
        make("td", { class: "text" }, id),
        ...[records.trust, records.typicality, records.stability].map((shares) =>
          make("td", { class: "share", "data-value": shares[i] ?? "" }, percent(shares[i])),
        ),
        make("td", { class: "label" }, label(labels[records.label[i]])),
        make("td", { class: "label" }, label(labels[records.truth[i]])),
        make("td", { class: "text" }, make("span", { class: `flag ${right[i] ? "right" : "wrong"}` }, right[i] ? "right" : "wrong")),
        make("td", { class: "text" }, refusal(i)),
        make("td", { class: "text" }, records.reason[i]),
        make("td", { class: "text" }, text(records.region[i])),
      );
    });
    byId("abstained").tBodies[0].replaceChildren(...rows);
    sort(byId("abstained"));
    const words = left.length === 1 ? "1 record is" : `${count(left.length)} records are`;
    const some = left.length > MOST_ROWS ? ` The ${MOST_ROWS} of least trust are listed.` : "";
    show("abstained-note", left.length ? `${words} left to a person: ${refusedInWords(left)}.${some}` : "All records are accepted.");
  }
  function refusedInWords(left) {
    const kinds = new Map();
    for (const i of left) kinds.set(refusal(i), (kinds.get(refusal(i)) ?? 0) + 1);
    const words = { trust: `below a trust of ${minTrust}`, "no region": "without a region" };
    return [...kinds].map(([kind, number]) => `${count(number)} ${words[kind] ?? kind}`).join(", ");
  }

  function setTrust(number) {
    if (!(number >= 0 && number <= 1)) return;
    minTrust = number;
    if (Number(byId("trust").value) !== number) byId("trust").value = number;
    if (Number(byId("trust-exact").value) !== number) byId("trust-exact").value = number;
    showThreshold();
  }
  let waiting = null;
  byId("trust").addEventListener("input", (event) => {
    const number = Number(event.target.value);
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => setTrust(number));
  });
  byId("trust-exact").addEventListener("input", (event) => {
    if (event.target.value !== "") setTrust(Number(event.target.value));
  });
  all("[data-trust]").forEach((b) => b.addEventListener("click", () => setTrust(Number(b.dataset.trust))));
  byId("curve").addEventListener("click", (event) => {
    const picture = byId("curve").querySelector("svg");
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
    const { left, right: end } = byId("mark").dataset;
    const wanted = Math.round(n * Math.min(Math.max((at.x - left) / (end - left), 0), 1));
    const surest = records.trust.filter((_, i) => records.refusal[i] === null).sort((a, b) => b - a);
    setTrust(wanted === 0 || !surest.length ? 1 : surest[Math.min(wanted, surest.length) - 1]);
  });

  // Pictures of the regions.

  const view = byId("view");
  if (view) {
    view.addEventListener("change", () => {
      all("[data-view]").forEach((drawing) => (drawing.hidden = drawing.dataset.view !== view.value));
    });
  }

  // Single verdicts.

  const list = byId("list");
  let filter = "all";
  let open = null;
  const FILTERS = {
    all: () => true,
    abstained: abstains,
    wrong: (i) => !right[i],
    outside: (i) => records.reason[i] === "outside",
    strange: (i) => records.reason[i] === "strange",
  };
  const order = verdicts.map((verdict) => verdict.record).sort((a, b) => records.trust[a] - records.trust[b]);

  function fillList() {
    if (!list) return;
    const wanted = byId("search").value.trim().toLowerCase();
    const shown = order.filter((i) => FILTERS[filter](i) && String(records.id[i]).toLowerCase().includes(wanted));
    list.replaceChildren(...shown.map(option));
    const nothing = shown.length ? "" : " No record fits.";
    show("count", `${count(shown.length)} of ${count(order.length)} shown, least trust first.${nothing}`);
    mark();
  }
  function option(i) {
    const flags = right[i] ? (abstains(i) ? ["abstained"] : []) : ["wrong"];
    return make(
      "li",
      { role: "option", id: `record-${i}`, "data-open": i, "aria-selected": "false" },
      make("span", { class: "id" }, text(records.id[i])),
      make("span", {}, label(labels[records.label[i]]), " ", ...flags.map((flag) => make("span", { class: `flag ${flag}` }, flag))),
      make("span", { class: "trust" }, percent(records.trust[i])),
    );
  }
  function mark() {
    list.removeAttribute("aria-activedescendant");
    for (const item of list.children) {
      const chosen = Number(item.dataset.open) === open;
      item.setAttribute("aria-selected", String(chosen));
      if (chosen) list.setAttribute("aria-activedescendant", item.id);
    }
  }
  function choose(i) {
    open = i;
    mark();
    const item = byId(`record-${i}`);
    if (item) {
      const above = item.offsetTop - list.offsetTop;
      if (above < list.scrollTop) list.scrollTop = above;
      else if (above + item.offsetHeight > list.scrollTop + list.clientHeight) {
        list.scrollTop = above + item.offsetHeight - list.clientHeight;
      }
    }
    showVerdict(told.get(i));
  }

  function showVerdict(verdict) {
    const i = verdict.record;
    const parts = [
      make("h3", {}, "Record ", text(records.id[i])),
      facts(i),
      make("p", { dir: "auto" }, verdict.text),
      make("details", {}, make("summary", {}, "Details"), make("p", { dir: "auto" }, verdict.details)),
      ...evidence(verdict),
      ...voices(verdict),
      ...nearest(verdict),
      make("h4", {}, "All values"),
      values(verdict),
    ];
    byId("verdict").replaceChildren(...parts);
  }
  function facts(i) {
    const verdict = right[i] ? "right" : "wrong";
    const line = make("p", { class: "facts" }, make("span", {}, "Predicted ", label(labels[records.label[i]])));
    line.append(make("span", {}, "Truly ", label(labels[records.truth[i]])));
    line.append(make("span", { class: `flag ${verdict}` }, verdict));
    line.append(make("span", {}, "Trust ", make("b", {}, percent(records.trust[i]))));
    const shares = { Typicality: records.typicality[i], Stability: records.stability[i] };
    for (const [name, share] of Object.entries(shares)) {
      if (share !== null) line.append(make("span", {}, `${name} `, make("b", {}, percent(share))));
    }
    const verb = ["contested", "strange"].includes(records.reason[i]) ? "Is" : "Lies";
    line.append(make("span", {}, `${verb} ${records.reason[i]}`), make("span", {}, "Region ", text(records.region[i])));
    return line;
  }
  function bar(words, share, amount, kind = "") {
    const fill = make("span", { class: `fill ${kind}` });
    fill.style.width = `${Math.min(100, 100 * share)}%`;
    const track = make("span", { class: "track", "aria-hidden": "true" }, fill);
    return make("li", {}, make("span", {}, ...words), track, make("span", { class: "amount" }, amount));
  }
  function evidence({ evidence: found, record, rival }) {
    const most = Math.max(...found.map((one) => Math.abs(one.contribution)), 1e-9);
    const codes = [records.label[record], labels.indexOf(rival)];
    const bars = found.map((one) => {
      const [usually, of] = one.strip ? ["usually ", "for"] : ["as in ", "of"];
      const usual = one.usual.every(Boolean) ? ` (${usually}${one.usual[0]} ${of} ${labels[codes[0]]}, ${one.usual[1]} ${of} ${rival})` : "";
      const words = [text(one.column), one.value === null ? "" : ` ${short(one.value)}${usual}`];
      const amount = `${one.contribution < 0 ? "−" : "+"}${Math.abs(one.contribution).toFixed(2)}`;
      const line = bar(words, Math.abs(one.contribution) / most, amount);
      line.querySelector(".fill").style.background = `var(--c${codes[one.contribution < 0 ? 1 : 0] % 7})`;
      if (one.strip) line.firstChild.append(strip(one.strip, codes));
      return line;
    });
    const total = found.reduce((sum, one) => sum + one.contribution, 0);
    const about = `What adds up to the log odds of ${labels[codes[0]]} against ${rival}, ${total.toFixed(2)}`;
    return [make("h4", {}, about), make("ul", { class: "bars" }, ...bars)];
  }
  function strip([value, ...usual], codes) {
    const line = make("span", { class: "strip", "aria-hidden": "true" });
    for (const k of [0, 1]) {
      const range = make("span", { class: "usual" });
      range.style.cssText = `inset: ${k ? 55 : 10}% ${100 - 100 * usual[3 * k + 2]}% ${k ? 10 : 55}% ${100 * usual[3 * k]}%; background: var(--c${codes[k] % 7})`;
      line.append(range);
    }
    const mark = make("span", { class: "mark" });
    mark.style.left = `${100 * value}%`;
    line.append(mark);
    return line;
  }
  function voices({ voices: found }) {
    if (!found.length) return [];
    const most = Math.max(...found.map((voice) => Math.abs(voice.evidence)), 1e-9);
    const bars = found.map((voice) => {
      const words = [`member ${voice.member}: `, label(voice.label), ` (${count(voice.n_label)} records and ${count(voice.n_others)} others in `, text(voice.region), ")"];
      const amount = `${voice.evidence < 0 ? "÷" : "×"} ${short(Math.exp(Math.abs(voice.evidence)))}`;
      return bar(words, Math.abs(voice.evidence) / most, amount, voice.evidence < 0 ? "against" : "");
    });
    return [make("h4", {}, "Who speaks for the label, and who against it, by odds"), make("ul", { class: "bars" }, ...bars)];
  }
  function nearest({ neighbours: found, unit }) {
    if (!found.length) return [];
    const rows = found.map((near) =>
      make(
        "tr",
        {},
        make("td", { class: "count", "data-value": near.row }, String(near.row)),
        make("td", { class: "label" }, label(near.label), near.n > 1 ? ` (${percent(near.share)} of ${count(near.n)} equal ones)` : ""),
        make("td", { class: "number", "data-value": near.distance }, short(near.distance)),
      ),
    );
    const headings = [["training row", "count"], ["label", "label"], [`distance in ${unit}`, "number"]];
    return [make("h4", {}, "Nearest training records"), makeTable("Nearest training records", headings, rows)];
  }
  function numberCell(number, kind = "number", digits = 4) {
    const cell = make("td", { class: kind }, typeof number === "string" ? text(number) : short(number, digits));
    if (typeof number !== "string") cell.dataset.value = number === null ? "" : number;
    return cell;
  }
  function values(verdict) {
    const change = verdict.counterfactual;
    const near = verdict.neighbours.filter(({ row }) => row in neighbours).slice(0, 3);
    const headings = [["feature", "text"], ["this record", "number"]];
    if (change) headings.push([`to be ${change.label}`, "number"], ["change", "number"]);
    headings.push(...near.map(({ row }) => [`row ${row}`, "number"]));
    const most = change ? Math.max(...change.moves.map((move) => Math.abs(move ?? 0))) : 0;
    const rows = columns.map((name, j) => {
      const row = make("tr", {}, make("td", { class: "text feature" }, text(name)), numberCell(verdict.values[j]));
      if (change) {
        const moved = Math.abs(change.moves[j] ?? 0) >= 0.5 * most ? "number moved" : "number";
        row.append(numberCell(change.values[j], moved), numberCell(change.moves[j], moved, 2));
      }
      row.append(...near.map((one) => numberCell(neighbours[one.row][j])));
      return row;
    });
    const table = makeTable("All values", headings, rows);
    const note = change
      ? [make("p", { class: "hint" }, "The smallest change found would give the label ", label(change.label), ` with a trust of ${percent(change.trust)}; changes are in ${verdict.unit}, the largest in bold.`)]
      : [];
    return make("div", {}, ...note, table);
  }

  if (list) {
    document.addEventListener("click", (event) => {
      const target = event.target.closest("[data-open]");
      if (!target) return;
      choose(Number(target.dataset.open));
      if (target.matches("button")) byId("verdicts").scrollIntoView();
    });
    list.addEventListener("keydown", (event) => {
      const items = [...list.children];
      const now = items.findIndex((item) => Number(item.dataset.open) === open);
      const steps = { ArrowDown: now + 1, ArrowUp: now < 0 ? 0 : now - 1, Home: 0, End: items.length - 1, PageDown: now + 10, PageUp: now - 10 };
      if (!(event.key in steps) || !items.length) return;
      event.preventDefault();
      choose(Number(items[Math.min(Math.max(steps[event.key], 0), items.length - 1)].dataset.open));
    });
    all("[data-filter]").forEach((button) => {
      button.addEventListener("click", () => {
        filter = button.dataset.filter;
        all("[data-filter]").forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
        fillList();
      });
    });
    byId("search").addEventListener("input", fillList);
    all("[data-record]").forEach((dot) => {
      if (told.has(Number(dot.dataset.record))) dot.dataset.open = dot.dataset.record;
    });
  }

  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  addEventListener("beforeprint", () => all("details").forEach((details) => (details.open = true)));

  showThreshold();
  if (list && order.length) choose(order.find((i) => !right[i]) ?? order[0]);
})();
