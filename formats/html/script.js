// Enhancements of the pages, which work fully without JavaScript.
"use strict";
(() => {
  const path = document.documentElement.dataset.path;
  const find = (selector, root = document) => root.querySelector(selector);

  function make(tag, attributes, ...children) {
    const element = Object.assign(document.createElement(tag), attributes);
    element.append(...children);
    return element;
  }

  // A relative address inherits the user name and password of the page's address, and fetch
  // refuses an address that has them. location.origin has neither.
  const request = (address, options) => fetch(location.origin + address, options);

  // Store the value if one is given; return the stored one, or null if the browser forbids storage.
  // The storage is that of the tab or of the whole browser.
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

  // --- The notice after saving ---

  // The service redirects after it has stored a form. A login redirects too, but stores nothing.
  const SENT = "bookmarks-sent";
  const [arrival] = performance.getEntriesByType("navigation");
  const wasSent = setting("sessionStorage", SENT);
  setting("sessionStorage", SENT, "");
  addEventListener("submit", ({ target: form }) => {
    if (form.method === "post" && !form.action.endsWith("/-/login")) setting("sessionStorage", SENT, "yes");
  });
  if (wasSent && arrival?.type === "navigate" && arrival.redirectCount === 1) {
    // Browsers close only windows that a script has opened, such as that of the bookmarklet.
    if (new URLSearchParams(location.search).get("close") === "1") window.close();
    const id = /^#b-([a-z0-9][a-z0-9_-]*)$/.exec(location.hash)?.[1];
    const item = document.getElementById("b-" + id);
    const link = id && !item ? [" ", make("a", { href: `${path}/${id}` }, "Show it")] : [];
    const saved = status("saved", "Saved.", ...link);
    (item ? find(".meta", item) : find(id ? ".head" : ".single > .meta"))?.after(saved);
    addEventListener("pagehide", () => saved.remove());
  }

  // --- Completion of tags ---

  const MAX_SUGGESTIONS = 6;
  let knownTags, areTagsLoaded = false;

  function loadTags() {
    knownTags ||= request(path + "/tags.json", { headers: { Accept: "application/json" } })
      .then((answer) => (answer.ok ? answer.json() : []))
      .catch(() => [])
      .finally(() => { areTagsLoaded = true; });
    return knownTags;
  }

  function complete(input) {
    const list = make("ul", { className: "completion", id: "completion", role: "listbox", ariaLabel: "Known tags" });
    input.after(list);
    Object.assign(input, { role: "combobox", ariaAutoComplete: "list" });
    input.setAttribute("aria-controls", list.id);
    const selected = () => find("[aria-selected=true]", list);

    function select(item) {
      selected()?.setAttribute("aria-selected", "false");
      item.setAttribute("aria-selected", "true");
      item.scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", item.id);
    }

    // Show these tags with the first one selected, or hide the list if there are none.
    function show(found) {
      list.replaceChildren(...found.map(({ tag, count }, number) =>
        make("li", { id: "completion-" + number, role: "option" }, make("bdi", {}, tag), make("span", {}, String(count)))));
      list.hidden = !found.length;
      input.ariaExpanded = String(!list.hidden);
      input.removeAttribute("aria-activedescendant");
      if (found.length) select(list.firstChild);
    }

    // The tag that contains the caret: its start, its end, and its text up to the caret.
    function tagAtCaret() {
      const { value, selectionStart: caret } = input;
      const start = value.lastIndexOf(",", caret - 1) + 1;
      const comma = value.indexOf(",", caret);
      const end = comma < 0 ? value.length : comma;
      return { start, end, text: value.slice(start, caret).trim().toLowerCase() };
    }

    function insert(item) {
      const { start, end } = tagAtCaret();
      const before = input.value.slice(0, start) + (start ? " " : "") + item.firstChild.textContent + ", ";
      input.value = before + input.value.slice(end).replace(/^[,\s]+/, "");
      input.setSelectionRange(before.length, before.length);
      show([]);
    }

    // The unused tags that contain the text: first the text itself, then tags that begin with it.
    function matches(all, text) {
      const used = new Set(input.value.toLowerCase().split(",").map((tag) => tag.trim()));
      const rank = (tag) => (tag === text ? 0 : tag.startsWith(text) ? 1 : 2);
      const found = all.map(({ tag, count }) => ({ tag, count, folded: tag.toLowerCase() }))
        .filter(({ folded }) => folded.includes(text) && (folded === text || !used.has(folded)))
        .sort((one, other) => rank(one.folded) - rank(other.folded));
      return found.length === 1 && found[0].tag === text ? [] : found.slice(0, MAX_SUGGESTIONS);
    }

    async function suggest() {
      const { text } = tagAtCaret();
      const all = text ? await loadTags() : [];
      if (tagAtCaret().text === text && document.activeElement === input) show(matches(all, text));
    }

    // Only the first focus moves the caret. Later, the user has chosen where it is. After Tab, Firefox
    // selects the whole value, but only once the listeners of the event have run.
    function prepare() {
      loadTags();
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
      if (event.key === "Enter" && tagAtCaret().text && !areTagsLoaded) {
        event.preventDefault(); // Wait for the tags, then do what Enter does once they are shown.
        await loadTags();
        return list.hidden ? input.form.requestSubmit() : insert(selected());
      }
      if (list.hidden) return;
      const keys = {
        ArrowDown: () => select(selected().nextSibling || list.firstChild),
        ArrowUp: () => select(selected().previousSibling || list.lastChild),
        Enter: () => insert(selected()),
        Escape: () => show([]),
      };
      if (!Object.hasOwn(keys, event.key)) return;
      event.preventDefault();
      keys[event.key]();
    });
  }

  const tagField = find("#tags");
  if (tagField) complete(tagField);

  // --- Deleting in the list ---

  // The first click of a double click moves another button under the pointer: ignore the second.
  addEventListener("click", (event) => {
    if (event.detail > 1 && event.target.closest?.(".list")) {
      event.preventDefault();
      event.stopPropagation();
    }
  }, true);

  // Show the notice of the response in place of the bookmark, or below it if it was not deleted.
  // A response without a notice, such as that of a proxy, is shown as a page of its own.
  async function deleteInPlace(form, button) {
    const item = button.closest("li");
    if (item.ariaBusy) return;
    item.ariaBusy = "true"; // A repeated key must not send the deletion again.
    const response = await request(button.getAttribute("formaction"), {
      method: "POST",
      body: new URLSearchParams(new FormData(form, button)),
      headers: { Accept: "text/html" },
      keepalive: true,
    }).catch(() => null);
    const page = new DOMParser().parseFromString((await response?.text()) || "", "text/html");
    const notice = find(".notice", page);
    item.ariaBusy = null;
    if (!notice) {
      isSentAsPage = true; // The next submit event sends the form as usual.
      return form.requestSubmit(button);
    }
    find(".notice", item)?.remove();
    if (response.ok) {
      item.replaceChildren();
      countDown();
    }
    notice.autofocus = false; // The attribute works only while a page is loaded.
    item.append(notice);
    notice.focus();
  }

  function countDown() {
    document.querySelectorAll(".total, .retag button").forEach((element) => {
      element.textContent = element.textContent.replace(/([\d,]+) bookmarks?$/, (_, number) => {
        const left = Number(number.replaceAll(",", "")) - 1;
        return left.toLocaleString("en") + (left === 1 ? " bookmark" : " bookmarks");
      });
    });
    document.querySelectorAll("[name=expected]").forEach((input) => { input.value -= 1; });
  }

  let isSentAsPage = false;
  find("#delete")?.addEventListener("submit", (event) => {
    if (isSentAsPage) return;
    event.preventDefault();
    deleteInPlace(event.target, event.submitter);
  });

  // Screen readers announce each button with the title of its bookmark. The script adds the titles,
  // because in the HTML they would make the page 10 % larger.
  document.querySelectorAll(".actions > *").forEach((button) => {
    const title = find("h2 > *", button.closest("li")).textContent;
    button.setAttribute("aria-label", button.textContent + " " + title);
  });

  // Folding a description would hide the text that the user has just selected in it.
  addEventListener("click", (event) => {
    if (event.target.closest?.("summary") && String(getSelection())) event.preventDefault();
  });

  // --- Keys ---

  const items = () => [...document.querySelectorAll(".list > li")];
  const KEYS_OFF = "bookmarks-keys-off";

  function move(step) {
    const all = items();
    if (!all.length) return;
    const old = all.findIndex((item) => item.classList.contains("current"));
    const next = all[Math.min(Math.max(old + step, 0), all.length - 1)];
    all[old]?.classList.remove("current");
    next.classList.add("current");
    find(":is(a, button)", next)?.focus();
    next.scrollIntoView({ block: "nearest" });
  }

  // Whether a form has unsaved values: a key that was meant for it must do nothing else. A form
  // below an alert was sent, but not saved.
  const isChanged = (field) => field.value !== field.defaultValue || field.checked !== field.defaultChecked;
  const isInUse = () => find(".alert + .editor")
    || [...document.querySelectorAll("form[method=post] :is(input, textarea)")].some(isChanged);

  const KEYS = {
    "/": () => find("#q").focus(),
    a: () => find("#add").click(),
    j: () => move(1),
    k: () => move(-1),
    e: () => find(".list > .current .edit")?.click(),
  };

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (setting("localStorage", KEYS_OFF) || !Object.hasOwn(KEYS, event.key)) return;
    if (event.target.closest?.("form, select") || isInUse()) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  // Speech input can trigger single keys, so users must be able to turn them off (WCAG 2.1.4).
  function keysSection() {
    const key = (name) => make("kbd", {}, name);
    const toggle = make("button", { type: "button" });
    const label = () => { toggle.textContent = setting("localStorage", KEYS_OFF) ? "Turn keys on" : "Turn keys off"; };
    toggle.addEventListener("click", () => {
      setting("localStorage", KEYS_OFF, setting("localStorage", KEYS_OFF) ? "" : "yes");
      label();
    });
    label();
    return make("section", { className: "keys" },
      make("h2", {}, "Keys"),
      make("p", {}, key("/"), " search, ", key("a"), " add, ", key("j"), " ", key("k"), " move, ", key("e"), " edit"),
      make("p", {}, toggle));
  }

  find("aside")?.append(keysSection());
})();
