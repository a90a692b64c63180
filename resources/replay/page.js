"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const get = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const UNITS = { access: "access", line: "line", barrier: "barrier", phase: "phase", each: "record" };

  // A moment is a chapter and a place in its steps; the scrub bar runs over all of them.
  const moments = [];
  data.chapters.forEach((one, c) => one.steps.forEach((_, s) => {
    if (!one.asked || s === 0) moments.push([c, s]);  // the second one has the answer
  }));
  const firsts = [];
  moments.forEach(([, s], at) => { if (s === 0) firsts.push(at); });

  let now = -1, chapter = null, timer = 0, unit = "access";
  let pictures = [];

  // Pictures are kept as what differs from the one before; they are put together once.
  for (const one of data.chapters) {
    one.whole = one.frames.map((frames) => {
      let before = [];
      return frames.map(([head, tail, middle]) => {
        before = before.slice(0, head).concat(middle, tail ? before.slice(-tail) : []);
        return before;
      });
    });
  }

  function open(number) {
    chapter = data.chapters[number];
    get("title").textContent = chapter.title;
    get("launch").textContent = chapter.launch;
    get("source").replaceChildren(...chapter.source.map(([html, totals, sentence]) => {
      const line = document.createElement("li"), counts = document.createElement("span");
      counts.innerHTML = totals;
      if (sentence) line.title = sentence;
      const code = document.createElement("code");
      code.innerHTML = html || " ";
      line.append(counts, code);
      return line;
    }));
    pictures = chapter.places.map(([wide, high], place) => {
      const panel = document.createElement("section");
      panel.className = `panel picture ${["main", "side"][place] ?? "more"}`;
      const heading = document.createElement("h2"), caption = document.createElement("p");
      caption.className = "caption";
      const svg = document.createElementNS(SVG, "svg");
      svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
      svg.setAttribute("role", "img");
      panel.append(heading, caption, svg);
      return { panel, heading, caption, svg };
    });
    get("views").replaceChildren(...pictures.map((picture) => picture.panel));
    const asked = chapter.asked;
    get("asked").hidden = !asked;
    document.querySelector("main").hidden = !chapter.places.length;
    if (asked) {
      put(get("ask"), asked.ask);
      get("options").replaceChildren(...asked.options.map((text) => item(text)));
      get("options").className = asked.goals ? "goals" : "";
      get("hints").replaceChildren();
      get("hint").hidden = !asked.hints.length;
      get("hint").disabled = false;
      get("answer").hidden = true;
      get("show").hidden = !(asked.answer || asked.why);
      put(get("right"), asked.answer);
      put(get("why"), asked.why);
    }
  }

  // What stands between backticks is code.
  function put(place, text) {
    place.replaceChildren(...text.split("`").map((part, i) => {
      if (i % 2 === 0) return part;
      const code = document.createElement("code");
      code.textContent = part;
      return code;
    }));
    return place;
  }

  function item(text) {
    return put(document.createElement("li"), text);
  }

  function show(at) {
    at = Math.max(0, Math.min(at, moments.length - 1));
    if (at === now) return;
    const [number, place] = moments[at];
    if (chapter !== data.chapters[number]) open(number);
    now = at;
    draw(place);
    get("scrub").value = at;
    get("first").disabled = get("back").disabled = at === 0;
    get("last").disabled = get("ahead").disabled = at === moments.length - 1;
  }

  function draw(place) {
    const step = chapter.steps[place];
    get("source").classList.toggle("veiled", !step.totals);
    pictures.forEach((picture, i) => {
      const [title, caption] = step.views[i].map((word) => data.words[word]);
      const shapes = chapter.whole[i][place];
      picture.heading.textContent = title;
      picture.caption.textContent = caption;
      picture.svg.setAttribute("aria-label", `${title}: ${caption}`);
      picture.svg.innerHTML = shapes.map((shape) => data.shapes[shape]).join("");
      picture.panel.hidden = !shapes.length;
    });
    const lines = get("source").children;
    for (const line of get("source").querySelectorAll(".now")) line.classList.remove("now");
    const line = lines[step.line - 1];
    get("totals").textContent = data.words[step.source];
    if (line) {
      line.classList.add("now");
      const box = get("source"), top = line.offsetTop - box.offsetTop;
      if (top < box.scrollTop || top + line.offsetHeight > box.scrollTop + box.clientHeight)
        box.scrollTop = top - box.clientHeight / 2;
    }
    get("values").replaceChildren(...step.values.map(([name, value, changed]) => {
      const row = document.createElement("tr");
      row.append(...[name, value].map((word) => {
        const cell = document.createElement("td");
        cell.textContent = data.words[word];
        return cell;
      }));
      if (changed) row.className = "changed";
      return row;
    }));
    get("who").textContent = data.words[step.who];
    get("event").textContent = data.words[step.event];
    get("phase").textContent = data.words[step.phase];
    get("step").textContent = chapter.asked
      ? `${data.chapters.indexOf(chapter) + 1} / ${data.chapters.length}`
      : `step ${step.step} / ${chapter.last}`;
    get("scrub").setAttribute("aria-valuetext", `step ${step.step}: ${data.words[step.event]}`);
  }

  // The places at which the clock stops, in all chapters.
  function stops() {
    if (unit === "each" || data.chapters[0].asked) return moments.map((_, at) => at);
    return data.chapters.flatMap((one, c) => [
      ...(data.chapters.length > 1 && !one.stops[unit].includes(0) ? [firsts[c]] : []),
      ...one.stops[unit].map((place) => firsts[c] + place),
    ]);
  }

  function move(forward) {
    const found = stops();
    const ahead = forward
      ? found.find((at) => at > now) ?? moments.length - 1
      : found.findLast((at) => at < now) ?? 0;
    const moved = ahead !== now;
    show(ahead);
    return moved;
  }

  function play(on) {
    clearInterval(timer);
    timer = on ? setInterval(() => move(true) || play(false), 400) : 0;
    get("play").textContent = on ? "Pause" : "Play";
    get("play").setAttribute("aria-label", get("play").textContent);
  }

  function stopAnd(act) {
    return () => { play(false); act(); };
  }

  get("first").onclick = stopAnd(() => show(0));
  get("last").onclick = stopAnd(() => show(moments.length - 1));
  get("back").onclick = stopAnd(() => move(false));
  get("ahead").onclick = stopAnd(() => move(true));
  get("play").onclick = () => play(!timer);
  get("scrub").oninput = stopAnd(() => show(Number(get("scrub").value)));
  get("unit").onchange = () => { unit = get("unit").value; };
  get("hint").onclick = () => {
    const told = get("hints").children.length, hints = chapter.asked.hints;
    get("hints").append(item(hints[told]));
    get("hint").disabled = told + 1 >= hints.length;
  };
  get("show").onclick = () => {
    get("answer").hidden = false;
    draw(chapter.steps.length - 1);
  };

  const keys = {
    ArrowLeft: () => move(false), ArrowRight: () => move(true),
    Home: () => show(0), End: () => show(moments.length - 1),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.tagName === "SELECT") return;
    if (event.key === " " && event.target.tagName !== "BUTTON") {
      play(!timer);
      event.preventDefault();
    } else if (keys[event.key]) {
      play(false);
      keys[event.key]();
      event.preventDefault();
    }
  });

  for (const [key, name] of Object.entries(UNITS)) {
    if (key !== "each" && data.chapters.every((one) => one.stops[key].length < 2)) continue;
    get("unit").append(new Option(name, key));
  }
  unit = get("unit").value;
  get("scrub").max = moments.length - 1;
  get("by").hidden = get("play").hidden = Boolean(data.chapters[0].asked);
  if (moments.length < 2) document.querySelector("footer").hidden = true;
  const wanted = /^#step=(\d+)$/.exec(location.hash);
  const one = data.chapters[0];
  const start = wanted ? one.steps.findIndex((s) => s.step >= Number(wanted[1])) : one.start;
  show(start < 0 ? one.steps.length - 1 : start);
})();
