/** What the pages do beyond HTML: search, copying, and opening what an address names. They can be read without it. */

const dialog = document.querySelector("#search");
const field = dialog.querySelector("input");
const list = dialog.querySelector("ul");
const status = dialog.querySelector("[role=status]");
const hitsMax = 30;

/** The search over operations and pages, read and indexed when it is first opened. */
let index = null;

async function readIndex() {
  const read = async (path) => {
    const response = await fetch(path);
    // Pages that are not built are 503; then operations alone are found.
    return response.ok ? response.json() : [];
  };
  const [{ default: MiniSearch }, ...parts] = await Promise.all([
    import("/docs/assets/minisearch.js"),
    read("/docs/operations.json"),
    read("/docs/search.json"),
  ]);
  const made = new MiniSearch({
    idField: "url",
    fields: ["title", "from", "text"],
    storeFields: ["title", "from"],
    // `sessions.create`, `session_busy`, `onBusy` and `/v1/agents` are found whole and by their words.
    tokenize: (text) =>
      text.split(/[^\p{L}\p{N}_]+/u).flatMap((word) => [word, ...word.split(/_|(?<=[a-z])(?=[A-Z])/)]),
    searchOptions: { boost: { title: 4, from: 2 }, prefix: true, fuzzy: (word) => (word.length > 5 ? 0.2 : 0) },
  });
  // In parts, between which the page can be used.
  await made.addAllAsync(parts.flat(), { chunkSize: 40 });
  return made;
}

function hitsOf(search, text) {
  const all = search.search(text, { combineWith: "AND" });
  return all.length > 0 ? all : search.search(text);
}

async function showHits() {
  const text = field.value;
  const search = await index;
  if (text !== field.value) return;
  const hits = text.trim() === "" ? [] : hitsOf(search, text).slice(0, hitsMax);
  list.replaceChildren(...hits.map(hitItem));
  select(0);
  status.textContent = text.trim() === "" ? "" : hits.length === 0 ? "Nothing was found." : `${hits.length} found`;
}

function hitItem({ id, title, from }, at) {
  const item = document.createElement("li");
  item.id = `hit-${at}`;
  item.setAttribute("role", "option");
  const link = document.createElement("a");
  link.href = id;
  link.tabIndex = -1;
  const where = document.createElement("span");
  where.className = "faint";
  where.textContent = from;
  link.append(title, where);
  item.append(link);
  return item;
}

function select(at) {
  const items = [...list.children];
  const chosen = items.at(at % Math.max(items.length, 1));
  for (const item of items) item.setAttribute("aria-selected", String(item === chosen));
  if (chosen === undefined) field.removeAttribute("aria-activedescendant");
  else field.setAttribute("aria-activedescendant", chosen.id);
  chosen?.scrollIntoView({ block: "nearest" });
}

function openSearch() {
  if (dialog.open) return;
  dialog.showModal();
  field.select();
  index ??= readIndex().catch((error) => {
    index = null;
    status.textContent = "The search could not be read.";
    throw error;
  });
  showHits();
}

field.addEventListener("input", showHits);
field.addEventListener("keydown", (event) => {
  const at = [...list.children].findIndex((item) => item.getAttribute("aria-selected") === "true");
  if (event.key === "ArrowDown") select(at + 1);
  else if (event.key === "ArrowUp") select(at - 1);
  else if (event.key === "Enter") list.children[at]?.querySelector("a").click();
  else return;
  event.preventDefault();
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog || event.target.closest("a") !== null) dialog.close();
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select, [contenteditable]") !== null;
  const isAsked = event.key === "/" ? !isTyping : event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
  if (!isAsked) return;
  event.preventDefault();
  openSearch();
});
const button = document.querySelector(".search-open");
button.addEventListener("click", openSearch);
button.hidden = false;

/** Opens what the address names, and what that is in. */
function reveal() {
  // Links that were made before have the noun in front: `#/sessions/sessions.create`.
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1).split("/").at(-1)));
  if (named === null) return;
  const closed = [];
  for (let at = named; at !== null; at = at.parentElement) if (at.localName === "details") closed.push(at);
  for (const details of closed) details.open = true;
  named.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();

/** On a narrow window the contents cover the page until something in them is chosen. */
const contents = document.querySelector("#contents");
contents.addEventListener("click", (event) => {
  if (event.target.closest("a") !== null && contents.matches(":popover-open")) contents.hidePopover();
});

for (const block of document.querySelectorAll("pre")) {
  const copy = document.createElement("button");
  copy.type = "button";
  copy.className = "copy";
  copy.textContent = "Copy";
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("code").textContent);
    copy.textContent = "Copied";
    setTimeout(() => {
      copy.textContent = "Copy";
    }, 1_500);
  });
  const frame = document.createElement("div");
  frame.className = "code-frame";
  block.replaceWith(frame);
  frame.append(block, copy);
}
