// What the pages do beyond reading: search as you type, keys, dragging. Every page works without it.

const SOON_MS = 60; // from a key to the question: less asks for every letter of a quick hand
const main = document.getElementById("main");
const keys = document.getElementById("keys");

/** Replace a part of the page by the server's own rendering of an address; the newest question wins. */
let asked = 0;
async function show(address, part, isShown = true) {
  const mine = isShown ? ++asked : asked;
  const made = await rendered(address);
  if (!made || mine !== asked) return;
  part.replaceChildren(...made);
  if (isShown) history.replaceState(null, "", address);
  prepare(part);
}

/** The server's rendering of an address, without the frame; null where it does not answer. */
async function rendered(address) {
  try {
    const answer = await fetch(address, { headers: { "X-Fragment": "1" } });
    return new DOMParser().parseFromString(await answer.text(), "text/html").body.childNodes;
  } catch {
    say("The server does not answer: was it ended?");
    return null;
  }
}

function addressOf(form) {
  const given = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value !== "") given.append(name, value);
  const query = given.toString();
  return form.getAttribute("action") + (query ? `?${query}` : "");
}

/** A form whose answer comes while one types or drags. */
function live(input) {
  const part = document.getElementById(input.dataset.live);
  let timer;
  const ask = () => show(addressOf(input.form), part);
  const shown = input.form.querySelector(`output[for="${input.id}"]`);
  input.addEventListener("input", () => {
    if (shown) shown.value = input.value === "" ? shown.dataset.none : Number(input.value).toLocaleString("en");
    clearTimeout(timer);
    timer = setTimeout(ask, SOON_MS);
  });
  input.form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    ask();
  });
}

/** A slider beside a field that alone is sent: what nobody moved sends nothing. */
function slide(slider) {
  const field = document.getElementById(slider.dataset.slides);
  const said = () => field.dispatchEvent(new Event("input"));
  const follow = () => (slider.value = field.value || slider.dataset.none);
  slider.parentElement.hidden = false;
  slider.addEventListener("input", () => {
    field.value = slider.value;
    said();
  });
  field.addEventListener("input", follow);
  follow();
  for (const reset of field.form.querySelectorAll("[data-clears]"))
    reset.addEventListener("click", (event) => {
      event.preventDefault();
      field.value = "";
      said();
    });
}

// The chosen hit

const hits = () => [...main.querySelectorAll("article[data-id]")];

function choose(article) {
  for (const one of hits()) one.toggleAttribute("data-chosen", one === article);
  for (const panel of main.querySelectorAll(".panel[data-of]")) panel.hidden = panel.dataset.of !== article.dataset.id;
}

function step(by) {
  const all = hits();
  if (!all.length) return;
  const at = all.findIndex((one) => one.hasAttribute("data-chosen"));
  const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
  choose(next);
  next.scrollIntoView({ block: "nearest" });
}

function say(text) {
  const toast = made("div", text, { class: "toast", role: "status" });
  document.body.append(toast);
  setTimeout(() => toast.remove(), 1600);
}

async function copyId() {
  const id = main.querySelector("[data-chosen]")?.dataset.id ?? main.querySelector("[data-id]")?.dataset.id;
  if (!id) return;
  try {
    await navigator.clipboard.writeText(id);
    say(`${id} is copied.`);
  } catch {
    say(id);
  }
}

// Keys

const PLACES = { s: "./", b: "blocks", r: "receipts", t: "sessions", e: "errors", l: "links", h: "status" };
let isGoing = false;

document.addEventListener("keydown", (event) => {
  const field = event.target.closest("input, textarea, select");
  const isCommand = event.ctrlKey || event.metaKey;
  if (isCommand && event.key.toLowerCase() === "k") {
    event.preventDefault();
    palette();
  } else if (isCommand && event.key === "Enter" && field?.form) {
    event.preventDefault();
    field.form.requestSubmit();
  }
  if (isCommand || event.altKey || document.querySelector("dialog[open]")) return;
  if (field) {
    if (event.key === "Escape") {
      event.preventDefault(); // a search field would empty itself
      field.blur();
    }
    if (event.key === "ArrowDown" && field.type === "search") {
      event.preventDefault();
      field.blur();
    }
    return;
  }
  if (isGoing) {
    isGoing = false;
    if (PLACES[event.key]) location.assign(PLACES[event.key]);
    return;
  }
  const search = main.querySelector("input[type=search]");
  if (event.key === "/") {
    event.preventDefault();
    if (search) {
      search.focus();
      search.select();
    } else location.assign(PLACES.s);
  } else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else if (event.key === "c") copyId();
  else if (event.key === "g") isGoing = true;
  else if (event.key === "?") keys.showModal();
  else if (event.key === "Enter") {
    // a closed dialog keeps the focus on its button until the next frame
    const control = event.target.closest("a, button, summary");
    if (!control || keys.contains(control)) main.querySelector("[data-chosen] h2 a")?.click();
  }
});

// Ctrl+K: pages, conversations, findings and what this page can do, by a few letters

/** An element with a text and attributes. */
function made(name, text, attributes = {}) {
  const element = document.createElement(name);
  element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** The buttons of this page whose words have these letters, as entries that press them. */
function actions(typed) {
  const found = [...main.querySelectorAll("button:not(.hidden), a.button")].filter((one) => one.offsetParent);
  return found.slice(0, 12).flatMap((one) => {
    const label = one.textContent.trim();
    if (!label.toLowerCase().includes(typed.toLowerCase())) return [];
    const entry = made("li", "");
    const button = made("button", label, { type: "button" });
    button.append(made("small", "on this page"));
    button.addEventListener("click", () => {
      entry.closest("dialog").close();
      one.click();
    });
    entry.append(button);
    return [entry];
  });
}

function palette() {
  if (document.querySelector("dialog[open]")) return;
  const dialog = made("dialog", "", { class: "palette", "aria-label": "Go to" });
  const field = made("input", "", { type: "text", "aria-label": "Go to", placeholder: "A page, a conversation, a finding" });
  const list = made("div", "");
  dialog.append(field, list);
  const offer = async () => {
    const typed = field.value.trim();
    const offered = await rendered(`palette?q=${encodeURIComponent(typed)}`);
    if (!offered || typed !== field.value.trim()) return;
    list.replaceChildren(...offered);
    list.querySelector("ul")?.append(...actions(typed));
  };
  let timer;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(offer, SOON_MS);
  });
  dialog.addEventListener("keydown", (event) => {
    const all = [...list.querySelectorAll("a, button")];
    const at = all.indexOf(document.activeElement);
    if (event.key === "ArrowDown") (all[at + 1] ?? all[0])?.focus();
    else if (event.key === "ArrowUp") (all[at - 1] ?? field).focus();
    else if (event.key === "Enter" && event.target === field) all[0]?.click();
    else return;
    event.preventDefault();
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  offer();
}

const find = document.querySelector("button.find");
find.hidden = false;
find.addEventListener("click", palette);

// What a block holds, where the pointer rests on its mark or its row

const TITLES = 8; // of a block's items, in a hint
main.addEventListener("pointerover", async (event) => {
  const link = event.target.closest('#shown a[href^="receipt?"]');
  if (!link || link.dataset.holds) return;
  link.dataset.holds = "asked";
  const held = made("div", "");
  held.append(...((await rendered(link.getAttribute("href"))) ?? []));
  const titles = [...held.querySelectorAll("li > span:first-child")].map((one) => one.textContent.trim());
  const more = titles.length > TITLES ? [`and ${titles.length - TITLES} more`] : [];
  const said = ["It holds:", ...titles.slice(0, TITLES), ...more].join("\n");
  const hint = link.querySelector("title");
  if (hint) hint.textContent += `\n${said}`;
  else link.title = said;
});

// Zooming a timeline by dragging over it

function zoom(figure) {
  const svg = figure.querySelector("svg");
  const { from, to, left, right } = svg.dataset;
  let begun = null;
  const shade = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  shade.setAttribute("class", "drag");
  shade.setAttribute("height", "100%");
  const at = (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    return Math.min(Number(right), Math.max(Number(left), x));
  };
  svg.addEventListener("pointerdown", (event) => {
    if (event.target.closest("a") || event.button) return;
    begun = at(event);
    svg.setPointerCapture(event.pointerId);
    svg.append(shade);
  });
  svg.addEventListener("pointermove", (event) => {
    if (begun === null) return;
    const now = at(event);
    shade.setAttribute("x", Math.min(begun, now));
    shade.setAttribute("width", Math.abs(now - begun));
  });
  svg.addEventListener("pointerup", (event) => {
    if (begun === null) return;
    const [low, high] = [begun, at(event)].sort((one, other) => one - other);
    begun = null;
    shade.remove();
    if (high - low < 8) return;
    const share = (x) => Number(from) + ((x - left) / (right - left)) * (to - from);
    const address = new URL(location.href);
    address.searchParams.set("from", Math.floor(share(low)));
    address.searchParams.set("to", Math.ceil(share(high)));
    location.assign(address);
  });
}

function prepare(part) {
  for (const figure of part.querySelectorAll("[data-zoom]")) zoom(figure);
  const share = part.querySelector("[data-share]"); // in force where no budget is given
  if (share) document.getElementById("budget").placeholder = share.dataset.share;
}

for (const input of document.querySelectorAll("[data-live]")) live(input);
for (const slider of document.querySelectorAll("[data-slides]")) slide(slider);
for (const box of document.querySelectorAll("select[data-submits]"))
  box.addEventListener("change", () => {
    if (box.dataset.submits !== "page") return box.form.requestSubmit();
    for (const other of box.form.querySelectorAll("[data-follows]")) other.value = ""; // another session, other groups
    location.assign(addressOf(box.form));
  });
main.addEventListener("click", (event) => {
  const why = event.target.closest("a.choose");
  const article = event.target.closest("article[data-id]");
  if (why) event.preventDefault();
  if (article) choose(article);
});
for (const part of document.querySelectorAll("[data-load]")) show(part.dataset.load, part, false);
prepare(main);
