"use strict";
(() => {
  const all = (root, selector) => Array.from(root.querySelectorAll(selector));
  const SVG = "http://www.w3.org/2000/svg";

  /* Word alignments: wires between the words, lit from either side. */
  const linksOf = (word) =>
    (word.dataset.links || "").split(" ").filter(Boolean).map((text) => {
      const [place, kind] = text.split(":");
      return { place: Number(place), kind };
    });

  function setUpPair(view) {
    const source = all(view, ".source .w"), target = all(view, ".target .w");
    const wires = view.querySelector(".wires");
    const said = view.closest(".viewer").querySelector(".said");
    let drawn = [], pinned = null;

    function draw() {
      const frame = wires.getBoundingClientRect();
      if (!frame.width) return;
      const top = view.querySelector(".target").getBoundingClientRect().top - frame.top;
      drawn = [];
      const paths = [];
      source.forEach((word, i) => linksOf(word).forEach(({ place, kind }) => {
        const a = word.getBoundingClientRect(), b = target[place].getBoundingClientRect();
        const x1 = a.left + a.width / 2 - frame.left, y1 = a.bottom - frame.top;
        const x2 = b.left + b.width / 2 - frame.left, y2 = Math.max(b.top - frame.top, top);
        const bend = Math.max(10, (y2 - y1) / 2);
        const path = document.createElementNS(SVG, "path");
        path.setAttribute("d", `M${x1},${y1}C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2}`);
        path.setAttribute("class", `link l-${kind}`);
        paths.push(path);
        drawn.push({ i, j: place, path });
      }));
      wires.replaceChildren(...paths);
      if (pinned) light(pinned);
    }

    function dark() {
      view.classList.remove("lit");
      [...source, ...target].forEach((word) => {
        word.classList.remove("on");
        all(word.parentNode, "[class*='lit-']").forEach((w) => {
          w.className = w.className.replace(/ ?lit-\w+/g, "");
        });
      });
      drawn.forEach(({ path }) => path.classList.remove("on"));
    }

    function light(word) {
      dark();
      const onSource = source.includes(word);
      const place = (onSource ? source : target).indexOf(word);
      const others = onSource ? target : source;
      word.classList.add("on");
      const links = linksOf(word);
      if (links.length) view.classList.add("lit");
      links.forEach((link) => others[link.place].classList.add(`lit-${link.kind}`));
      drawn.forEach(({ i, j, path }) => path.classList.toggle("on", (onSource ? i : j) === place));
    }

    function move(word, key) {
      const onSource = source.includes(word);
      const own = onSource ? source : target;
      const place = own.indexOf(word);
      const leftwards = getComputedStyle(word.parentNode).direction === "rtl" ? 1 : -1;
      if (key === "ArrowLeft") return own[place + leftwards];
      if (key === "ArrowRight") return own[place - leftwards];
      if (key === "Home") return own[0];
      if (key === "End") return own[own.length - 1];
      if ((key === "ArrowDown" && onSource) || (key === "ArrowUp" && !onSource)) {
        const first = linksOf(word)[0];
        return (onSource ? target : source)[first ? first.place : 0];
      }
      return undefined;
    }

    [...source, ...target].forEach((word) => {
      word.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") light(word); });
      word.addEventListener("pointerleave", (event) => {
        if (event.pointerType !== "mouse") return;
        if (pinned) light(pinned); else dark();
      });
      word.addEventListener("focus", () => {
        all(word.parentNode, ".w").forEach((w) => { w.tabIndex = w === word ? 0 : -1; });
        light(word);
        said.textContent = word.getAttribute("aria-label");
      });
      word.addEventListener("blur", () => { if (!pinned) dark(); });
      word.addEventListener("click", () => {
        pinned = pinned === word ? null : word;
        if (pinned) light(word); else dark();
      });
      word.addEventListener("keydown", (event) => {
        if (event.key === "Escape") { pinned = null; dark(); return; }
        const next = move(word, event.key);
        if (next) { event.preventDefault(); pinned = null; next.focus(); }
      });
    });
    return draw;
  }

  const pairs = new Map(all(document, ".pair-view").map((view) => [view, setUpPair(view)]));
  const watcher = new ResizeObserver((entries) => entries.forEach((entry) => pairs.get(entry.target)()));
  pairs.forEach((_, view) => watcher.observe(view));
  all(document, ".only-errors").forEach((box) => box.addEventListener("change", () => {
    all(box.closest(".viewer"), ".pair-view").forEach((view) => {
      view.hidden = box.checked && view.dataset.errors === "0";
    });
  }));
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = all(document, "details.links:not([open]), details.beside:not([open])");
    opened.forEach((fold) => { fold.open = true; });
  });
  window.addEventListener("afterprint", () => opened.forEach((fold) => { fold.open = false; }));

  /* A link into a fold opens it. */
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let fold = target && target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    if (target) target.scrollIntoView();
  };
  window.addEventListener("hashchange", unfold);
  if (location.hash) unfold();

  /* All results: filter and sort. */
  all(document, ".all-results").forEach((table) => {
    const section = table.closest("section"), body = table.tBodies[0];
    const rows = Array.from(body.rows), count = section.querySelector(".count");
    const search = section.querySelector("input[type=search]");
    const texts = rows.map((row) => Array.from(row.cells, (cell) => cell.textContent));

    function filter() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, i) => {
        const joined = texts[i].join(" ").toLowerCase();
        const kept = words.every((word) => joined.includes(word));
        row.hidden = !kept;
        shown += kept ? 1 : 0;
      });
      count.textContent = shown === rows.length ? `${rows.length} rows` : `${shown} of ${rows.length} rows`;
    }
    search.addEventListener("input", filter);

    const key = (row, column) => {
      const cell = row.cells[column];
      return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
    };
    all(table, "thead button").forEach((button) => button.addEventListener("click", () => {
      const head = button.closest("th"), column = Number(button.dataset.column);
      const up = head.getAttribute("aria-sort") !== "ascending";
      all(table, "thead th").forEach((th) => th.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const order = rows.map((row, i) => [key(row, column), i, row]);
      order.sort(([a, i], [b, j]) => {
        const numbers = typeof a === "number" && typeof b === "number";
        const mixed = typeof a !== typeof b;
        if (mixed) return typeof a === "number" ? -1 : 1;
        const by = numbers ? a - b : a.localeCompare(b, "en", { numeric: true });
        return (up ? by : -by) || i - j;
      });
      body.append(...order.map(([, , row]) => row));
    }));
  });
})();
