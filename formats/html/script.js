// Enhancements of the pages, which work fully without JavaScript.
"use strict";
(() => {
  const path = document.documentElement.dataset.path;
  const find = (selector, root = document) => root.querySelector(selector);
  const findAll = (selector, root = document) => [...root.querySelectorAll(selector)];

  function make(tag, attributes, ...children) {
    const element = Object.assign(document.createElement(tag), attributes);
    element.append(...children);
    return element;
  }

  // A relative address inherits the user name and password of the page's address, and fetch
  // refuses an address that has them. location.origin has neither.
  const request = (address, options) => fetch(location.origin + address, options);

  // Store the value if one is given; return the stored one, or null if the browser forbids storage.
  function setting(storage, name, ...value) {
    try {
      if (value.length) window[storage].setItem(name, value[0]);
      return window[storage].getItem(name);
    } catch {
      return null;
    }
  }

  // Screen readers announce a text only if its status element was in the page before the text.
  function status(className, ...children) {
    const text = make("p", { className });
    text.setAttribute("role", "status");
    requestAnimationFrame(() => text.append(...children));
    return text;
  }

  // --- After a form was sent ---

  // The service redirects after it has stored a form. A login redirects too, but stores nothing.
  const SENT = "bookmarks-sent";
  const [arrival] = performance.getEntriesByType("navigation");
  const wasSent = setting("sessionStorage", SENT);
  setting("sessionStorage", SENT, "");
  addEventListener("submit", ({ target: form }) => {
    if (form.method === "post" && !form.action.endsWith("/-/login")) setting("sessionStorage", SENT, "yes");
  });
  const parameters = new URLSearchParams(location.search);
  const targetId = /^#b-([a-z0-9][a-z0-9_-]*)$/.exec(location.hash)?.[1];
  if (wasSent && arrival?.type === "navigate" && arrival.redirectCount === 1) {
    // Browsers close only windows that a script has opened, such as that of the bookmarklet.
    if (parameters.get("close") === "1") window.close();
    const item = targetId && document.getElementById("b-" + targetId);
    const link = targetId && !item ? [" ", make("a", { href: `${path}/${targetId}` }, "Show it")] : [];
    const saved = status("saved", "Saved.", ...link);
    (item ? find(".meta", item) : find(targetId ? ".head" : ".single > .meta"))?.after(saved);
    addEventListener("pagehide", () => saved.remove());
  }
  // The key j goes on from the bookmark that was saved.
  if (targetId) document.getElementById("b-" + targetId)?.classList.add("current");

  // The notice of a change belongs to this visit: a reload or a copied address must not repeat it.
  if (["changed", "failed", "restored"].some((name) => parameters.has(name))) {
    for (const name of ["changed", "failed", "restored"]) parameters.delete(name);
    const query = String(parameters);
    history.replaceState(null, "", location.pathname + (query && "?" + query) + location.hash);
  }

  // --- Completion of tags ---

  const MAX_SUGGESTIONS = 6;
  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  let knownTags, areTagsLoaded = false;

  function loadTags() {
    knownTags ||= request(path + "/tags.json", { headers: { Accept: "application/json" } })
      .then((answer) => (answer.ok ? answer.json() : []))
      .catch(() => [])
      .then((tags) => tags.map(({ tag, count }) => ({ tag, count, folded: fold(tag) })))
      .finally(() => { areTagsLoaded = true; });
    return knownTags;
  }

  // In a field for tags, the text between two commas around the caret: its start, end, and text up
  // to the caret. In a search, the text from the # of a term.
  const PLACES = {
    tags({ value, selectionStart: caret }) {
      const start = value.lastIndexOf(",", caret - 1) + 1;
      const comma = value.indexOf(",", caret);
      return { start, end: comma < 0 ? value.length : comma, text: fold(value.slice(start, caret).trim()) };
    },
    search({ value, selectionStart: caret }) {
      const term = /(?:^|[\s(-])#("?)([^"\s]*)$/.exec(value.slice(0, caret));
      const start = term ? caret - term[2].length - term[1].length : caret;
      return { start, end: caret, text: term ? fold(term[2]) : "" };
    },
  };
  // How a chosen tag is written.
  const FORMS = {
    tags: (tag, start) => (start ? " " : "") + tag + ", ",
    search: (tag) => (/[\s()"]/.test(tag) ? `"${tag}" ` : tag + " "),
  };

  function complete(input) {
    const kind = input.dataset.completes;
    const id = "completion-of-" + input.id;
    const list = make("ul", { className: "completion", id, role: "listbox", ariaLabel: "Known tags" });
    input.after(list);
    Object.assign(input, { role: "combobox", ariaAutoComplete: "list" });
    input.setAttribute("aria-controls", list.id);
    const selected = () => find("[aria-selected=true]", list);
    const place = () => PLACES[kind](input);

    function select(item) {
      selected()?.setAttribute("aria-selected", "false");
      item.setAttribute("aria-selected", "true");
      item.scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", item.id);
    }

    // Show these tags with the first one selected, or hide the list if there are none.
    function show(found) {
      list.replaceChildren(...found.map(({ tag, count }, number) =>
        make("li", { id: `${id}-${number}`, role: "option" }, make("bdi", {}, tag), make("span", {}, String(count)))));
      list.hidden = !found.length;
      input.ariaExpanded = String(!list.hidden);
      input.removeAttribute("aria-activedescendant");
      if (found.length) select(list.firstChild);
    }

    function insert(item) {
      const { start, end } = place();
      const before = input.value.slice(0, start) + FORMS[kind](item.firstChild.textContent, start);
      input.value = before + input.value.slice(end).replace(/^[,\s]+/, "");
      input.setSelectionRange(before.length, before.length);
      show([]);
    }

    // The unused tags that contain the text: first the text itself, then tags that begin with it.
    function matches(all, text) {
      const used = new Set(kind === "tags" ? input.value.split(",").map((tag) => fold(tag.trim())) : []);
      const rank = (tag) => (tag === text ? 0 : tag.startsWith(text) ? 1 : 2);
      const found = all
        .filter(({ folded }) => folded.includes(text) && (folded === text || !used.has(folded)))
        .sort((one, other) => rank(one.folded) - rank(other.folded));
      if (found.length === 1 && found[0].tag === text) return [];
      return found.length ? found.slice(0, MAX_SUGGESTIONS) : wordsAsTags(all, text);
    }

    // Words with spaces between them, which are all tags, are meant as these tags.
    function wordsAsTags(all, text) {
      const tags = text.split(/\s+/).map((word) => all.find(({ folded }) => folded === word)?.tag);
      return tags.length > 1 && tags.every(Boolean) ? [{ tag: tags.join(", "), count: `${tags.length} tags` }] : [];
    }

    async function suggest() {
      const { text } = place();
      const all = text ? await loadTags() : [];
      if (place().text === text && document.activeElement === input) show(text ? matches(all, text) : []);
    }

    // Only the first focus moves the caret. Later, the user has chosen where it is. After Tab, Firefox
    // selects the whole value, but only once the listeners of the event have run.
    function prepare() {
      loadTags();
      if (kind !== "tags") return;
      if (input.value.trim()) input.value = input.value.replace(/[,\s]*$/, ", ");
      const moveToEnd = () => input.setSelectionRange(input.value.length, input.value.length);
      moveToEnd();
      setTimeout(() => { if (input.selectionEnd > input.selectionStart) moveToEnd(); });
    }

    show([]);
    if (document.activeElement === input) prepare();
    else input.addEventListener("focus", prepare, { once: true });
    input.addEventListener("input", suggest);
    input.addEventListener("blur", () => show([]));
    list.addEventListener("mousedown", (event) => {
      event.preventDefault(); // The click would take the focus from the field.
      const item = event.target.closest("li");
      if (item) insert(item);
    });
    input.addEventListener("keydown", async (event) => {
      if (event.isComposing) return;
      if (event.key === "Enter" && kind === "tags" && place().text && !areTagsLoaded) {
        event.preventDefault(); // Wait for the tags, then do what Enter does once they are shown.
        await loadTags();
        return list.hidden ? input.form.requestSubmit(find("button", input.form)) : insert(selected());
      }
      if (list.hidden) return;
      const keys = {
        ArrowDown: () => select(selected().nextSibling || list.firstChild),
        ArrowUp: () => select(selected().previousSibling || list.lastChild),
        Enter: () => insert(selected()),
        Tab: () => insert(selected()),
        Escape: () => show([]),
      };
      if (!Object.hasOwn(keys, event.key) || event.shiftKey) return;
      event.preventDefault();
      keys[event.key]();
    });
  }

  findAll("[data-completes]").forEach(complete);

  // --- Acting in the list, without loading a page ---

  const bar = find("#many");
  const items = () => findAll(".list > li[id]");
  const boxes = (state = "") => findAll(`.list [name=selected]${state}`);
  const DELETED = "bookmarks-deleted";
  let sending = 0; // The number of forms that are sent and have no answer yet.

  // The first click of a double click moves another button under the pointer: ignore the second.
  addEventListener("click", (event) => {
    if (event.detail > 1 && event.target.closest?.(".list")) {
      event.preventDefault();
      event.stopPropagation();
    }
  }, true);

  // Screen readers announce each control with the title of its bookmark. The script adds the titles,
  // because in the HTML they would make the page 10 % larger.
  function nameControls(item) {
    const title = find("h2 > *", item).textContent;
    for (const control of findAll(".actions > *, [name=selected]", item)) {
      control.setAttribute("aria-label", `${control.textContent || "Select"} ${title}`);
    }
  }
  items().forEach(nameControls);

  const all = make("input", { type: "checkbox", defaultValue: "all" });
  all.addEventListener("change", () => {
    boxes().forEach((box) => { box.checked = all.checked; });
    showSelection();
  });
  find(".bar > p")?.before(make("label", {}, all, " Select all on this page"));

  function showSelection() {
    const count = boxes(":checked").length;
    if (!bar) return;
    find("[role=status]", bar).textContent = count ? `${count} selected` : "";
    all.checked = count > 0 && count === boxes().length;
  }
  addEventListener("change", (event) => { if (event.target.name === "selected") showSelection(); });
  showSelection(); // Firefox keeps checked boxes over a reload.

  // Replace the items by those of a newer version of the list. Notices and open forms stay.
  function refresh(page) {
    if (sending) return; // The last answer shows what the others have changed.
    items().filter((item) => !find(".notice", item)).forEach((item) => {
      const newer = page.getElementById(item.id);
      if (newer) nameControls(newer);
      newer ? item.replaceWith(newer) : item.remove();
    });
    for (const selector of [".total", "#tags-of-list", "#retag", ".top nav"]) {
      const [old, newer] = [find(selector), find(selector, page)];
      if (old && newer && !find(":focus", old) && !findAll("input", old).some(isChanged)) old.replaceWith(newer);
    }
    findAll("#retag [data-completes]").filter((input) => !input.role).forEach(complete);
    const shown = find("[name=_shown]", page);
    if (shown) find("[name=_shown]", bar).value = shown.value;
    const saved = find(".saved", page);
    findAll(".head ~ .saved").forEach((old) => old.remove());
    if (saved) find(".head").after(status("saved", ...saved.childNodes));
    showSelection();
  }

  const parse = (html) => new DOMParser().parseFromString(html, "text/html");

  // Send a form; return the response and its page, or null without an answer.
  async function send(action, form, button) {
    const data = new FormData(form, button);
    const isMultipart = form.enctype === "multipart/form-data";
    const body = isMultipart ? data : new URLSearchParams(data);
    const keepalive = !isMultipart; // Browsers allow only small bodies for it.
    const init = { method: "POST", body, headers: { Accept: "text/html" }, keepalive };
    sending += 1;
    const answer = await request(new URL(action, location).pathname, init)
      .then(async (response) => ({ response, page: parse(await response.text()) }))
      .catch(() => null);
    sending -= 1;
    return answer;
  }

  // Show the notice in place of the item, with the height of the item: nothing else moves.
  function showNotice(notice, item, isDeleted) {
    notice.autofocus = false; // The attribute works only while a page is loaded.
    if (!isDeleted) return find(".meta", item).after(notice);
    const place = make("li", { className: "gone" }, notice);
    place.style.minHeight = `${item.getBoundingClientRect().height}px`;
    item.replaceWith(place);
  }

  // After "Back" and a reload, the notice of the last deletion is there again.
  function keepNotice(notice, next) {
    const value = { list: location.search, next: next?.id, html: notice.outerHTML };
    setting("sessionStorage", DELETED, JSON.stringify(value));
  }

  function showKeptNotice() {
    const kept = JSON.parse(setting("sessionStorage", DELETED) || "null");
    if (!kept || kept.list !== location.search || !find(".head") || arrival?.type === "navigate") return;
    const list = find(".list") || find("main").appendChild(make("ol", { className: "list" }));
    const notice = find(".notice", parse(kept.html));
    notice.autofocus = false;
    const place = make("li", { className: "gone" }, notice);
    const next = kept.next && document.getElementById(kept.next);
    next ? next.before(place) : list.append(place);
  }
  showKeptNotice();

  // Do what a button does, or return false: then the response, such as a proxy's, is shown as a page.
  async function actInPlace(form, button) {
    const item = button.closest("li");
    const checked = item ? [item] : boxes(":checked").map((box) => box.closest("li"));
    const answer = await send(button.getAttribute("formaction") || form.getAttribute("action"), form, button);
    const notice = answer && find(".notice", answer.page);
    if (!notice) {
      if (!answer?.response.ok || !find("#many, .nothing", answer.page)) return false;
      find("#selected-tags").value = "";
      refresh(answer.page);
      return true;
    }
    const isDeleted = answer.response.ok && Boolean(find("[name=_deleted]", notice));
    if (!item && !isDeleted) {
      find(".head").after(notice);
      notice.focus();
      refreshList();
      return true;
    }
    const next = checked.at(-1).nextElementSibling;
    findAll(".notice", item || bar).forEach((old) => old.remove());
    const [first, ...rest] = checked;
    showNotice(notice, first, isDeleted);
    notice.focus();
    if (isDeleted) rest.forEach((gone) => gone.remove());
    if (isDeleted) keepNotice(notice, next);
    refreshList();
    return true;
  }

  async function refreshList() {
    const answer = await request(location.pathname + location.search, { headers: { Accept: "text/html" } });
    if (answer.ok) refresh(parse(await answer.text()));
  }

  // Put bookmarks back in place of their notice.
  async function putBack(form) {
    const place = form.closest("li");
    const addresses = new Set(JSON.parse(find("[name=_deleted]", form).value).map(({ uri }) => uri));
    const answer = await send(form.getAttribute("action"), form);
    if (!answer?.response.ok) return false;
    if (!new URL(answer.response.url).searchParams.has("restored")) {
      location = answer.response.url; // Another bookmark has the address by now.
      return true;
    }
    setting("sessionStorage", DELETED, "");
    const address = (item) => find("h2 a", item)?.getAttribute("href") ?? find("h2 code", item).textContent;
    const restored = findAll(".list > li", answer.page).filter((item) => addresses.has(address(item)));
    restored.forEach(nameControls);
    refresh(answer.page); // It takes only the items that the list has already.
    place.replaceWith(...(restored.length ? restored : [make("li", {}, "Put back.")]));
    if (restored.length) find(":is(h2 a, .actions a)", restored[0]).focus();
    return true;
  }

  let isSentAsPage = false;
  addEventListener("submit", async (event) => {
    const form = event.target;
    const act = form === bar ? actInPlace : form.closest(".gone") ? putBack : null;
    if (!act || isSentAsPage) return;
    event.preventDefault();
    const button = event.submitter || find("button", form);
    const place = button.closest("li") || form; // Another item can be deleted at the same time.
    if (place.ariaBusy) return; // A repeated key must not send the form again.
    place.ariaBusy = "true";
    const isDone = await act(form, button);
    place.ariaBusy = null;
    if (isDone) return setting("sessionStorage", SENT, "");
    isSentAsPage = true; // The next submit event sends the form as usual.
    form.requestSubmit(button);
  });

  // Folding a description would hide the text that the user has just selected in it.
  addEventListener("click", (event) => {
    if (event.target.closest?.("summary") && String(getSelection())) event.preventDefault();
  });

  // A click elsewhere and Escape close an open menu.
  addEventListener("click", ({ target }) => findAll(".menu[open]").forEach((menu) => {
    if (!menu.contains(target)) menu.open = false;
  }));

  // --- Importing ---

  find(".import")?.addEventListener("submit", async ({ target: form }) => {
    const [file] = find("[type=file]", form).files;
    const said = status("saved", `Reading ${file.name} …`);
    form.after(said);
    const text = await file.text();
    const found = text.match(/<a\s|<bookmark\s|"(?:uri|url|href)"\s*:/gi) || text.match(/\n/g) || [];
    said.textContent = `Reading about ${found.length.toLocaleString("en")} bookmarks from ${file.name} …`;
  });

  // --- Dates ---

  // The time of a deletion, in the words and the time zone of the user.
  for (const time of findAll("time[datetime]")) {
    const date = new Date(time.dateTime);
    const isToday = date.toDateString() === new Date().toDateString();
    const clock = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric" });
    time.textContent = `${isToday ? "today" : "on " + day} at ${clock}`;
  }

  // --- Keys ---

  const KEYS_OFF = "bookmarks-keys-off";

  function move(step) {
    const list = findAll(".list > li");
    if (!list.length) return;
    const old = list.findIndex((item) => item.classList.contains("current"));
    const next = list[Math.min(Math.max(old + step, 0), list.length - 1)];
    list[old]?.classList.remove("current");
    next.classList.add("current");
    find("h2 a, .notice button, .actions a", next)?.focus();
    next.scrollIntoView({ block: "nearest" });
  }

  // Whether a form has unsaved values: a key that was meant for it must do nothing else. A form
  // below an alert was sent, but not saved.
  const isChanged = (field) => field.value !== field.defaultValue || field.checked !== field.defaultChecked;
  const isInUse = () => find(".alert + .editor")
    || findAll("form[method=post] :is(input:not([type=hidden]), textarea)").some(isChanged);
  const clickCurrent = (text) => {
    const current = find(".list > .current");
    current && findAll(".actions > *", current).find((control) => control.textContent === text)?.click();
  };

  const KEYS = {
    "/": ["search", () => find("#q").focus()],
    a: ["add", () => find("#add").click()],
    j: ["next bookmark", () => move(1)],
    k: ["previous bookmark", () => move(-1)],
    e: ["edit", () => clickCurrent("Edit")],
    d: ["delete", () => clickCurrent("Delete")],
    x: ["select", () => find(".list > .current [name=selected]")?.click()],
    n: ["next page", () => find("a[rel=next]")?.click()],
    p: ["previous page", () => find("a[rel=prev]")?.click()],
    "?": ["these keys", () => find(".keys").showModal()],
  };

  addEventListener("keydown", (event) => {
    if (event.key === "Escape") findAll(".menu[open]").forEach((menu) => { menu.open = false; });
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (setting("localStorage", KEYS_OFF) || !Object.hasOwn(KEYS, event.key)) return;
    if (event.target.closest?.("form, select, dialog") || isInUse()) return;
    event.preventDefault();
    KEYS[event.key][1]();
  });

  // Speech input can trigger single keys, so users must be able to turn them off (WCAG 2.1.4).
  function keysDialog() {
    const toggle = make("button", { type: "button" });
    const label = () => { toggle.textContent = setting("localStorage", KEYS_OFF) ? "Turn keys on" : "Turn keys off"; };
    toggle.addEventListener("click", () => {
      setting("localStorage", KEYS_OFF, setting("localStorage", KEYS_OFF) ? "" : "yes");
      label();
    });
    label();
    const rows = Object.entries(KEYS).flatMap(([key, [what]]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, what)]);
    const close = make("form", { method: "dialog", className: "buttons" }, toggle, make("button", {}, "Close"));
    return make("dialog", { className: "keys", ariaLabel: "Keys" }, make("h2", {}, "Keys"), make("dl", {}, ...rows), close);
  }

  const dialog = document.body.appendChild(keysDialog());
  const opener = make("button", { type: "button" }, "Keys");
  opener.addEventListener("click", () => dialog.showModal());
  find("#more")?.after(make("p", {}, opener));
})();
