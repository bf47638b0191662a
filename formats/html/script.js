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

  // fetch refuses an address with a user name and password. location.origin has neither.
  const request = (address, options) => fetch(location.origin + address, options);

  // Store the value if one is given; return the stored one, or null if the browser forbids storage.
  function setting(storage, name, value) {
    try {
      if (value !== undefined) window[storage].setItem(name, value);
      return window[storage].getItem(name);
    } catch {
      return null;
    }
  }

  // --- After a form was sent ---

  const items = () => findAll(".list > li[id]");
  const SENT = "bookmarks-sent"; // The form that was sent last, as a time.
  const SAVED = "bookmarks-saved"; // The forms that were saved last, and the ids of their bookmarks.
  const SHOWN = "bookmarks-shown"; // The items of the list that was shown last.
  const targetId = /^#b-([a-z0-9][a-z0-9_-]*)$/.exec(location.hash)?.[1];
  const target = targetId && document.getElementById("b-" + targetId);

  // Say that the form was saved, where its bookmark is or was in the list. The key j goes on there.
  function showSaved() {
    const saved = make("p", { className: "saved", role: "alert" }, "Saved.");
    if (targetId && !target) saved.append(" ", make("a", { href: `${path}/${targetId}` }, "Show it"));
    const shown = JSON.parse(setting("sessionStorage", SHOWN) || "[]");
    const index = shown.indexOf("b-" + targetId);
    if (target || index < 0 || !items().length) {
      (target ? find(".meta", target) : find(targetId ? ".head" : ".single > .meta"))?.after(saved);
      return saved;
    }
    const next = shown.slice(index).map((id) => document.getElementById(id)).find(Boolean);
    const place = make("li", { className: "gone current" }, saved);
    find(".list").insertBefore(place, next || null);
    place.scrollIntoView({ block: "center" });
    return place;
  }

  // Firefox may restore a page with the sessionStorage that it had when the user left it.
  const savedForms = () => JSON.parse(setting("localStorage", SAVED) || "[]");

  // The service redirects once after it has stored a form.
  const [arrival] = performance.getEntriesByType("navigation");
  const sentForm = setting("sessionStorage", SENT);
  setting("sessionStorage", SENT, "");
  if (sentForm && arrival?.type === "navigate" && arrival.redirectCount === 1) {
    // Browsers close only windows that a script has opened, such as that of the bookmarklet.
    if (new URLSearchParams(location.search).get("close") === "1") window.close();
    const id = targetId || location.pathname.slice(path.length + 1);
    setting("localStorage", SAVED, JSON.stringify([...savedForms(), [sentForm, id]].slice(-20)));
    const saved = showSaved();
    addEventListener("pagehide", () => saved.remove());
  }
  target?.classList.add("current");
  const shownIds = () => JSON.stringify(items().map(({ id }) => id));
  addEventListener("pagehide", () => find(".list") && setting("sessionStorage", SHOWN, shownIds()));

  // Back shows a form as it was when it was sent. Show the saved bookmark in its place.
  addEventListener("pageshow", () => {
    const id = new Map(savedForms()).get(history.state?.sent);
    if (!id) return;
    history.replaceState(null, ""); // Browsers keep it if the address stays the same.
    location.replace(location.origin + `${path}/${id}` + location.search);
  });

  // The notice of a change belongs to this visit: a reload or a copied address must not repeat it.
  const query = location.search.replace(/[?&](changed|failed|restored|erased)=\d+/g, "");
  if (query !== location.search) history.replaceState(null, "", location.pathname + query + location.hash);

  // --- Completion of tags ---

  const MAX_SUGGESTIONS = 6;
  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  let knownTags;
  const loadTags = () => knownTags ||= request(path + "/tags.json")
    .then(async (answer) => (await answer.json()).map((known) => ({ ...known, folded: fold(known.tag) })))
    .catch(() => []);

  // The tag at the caret, between two commas or behind the # of a search, and its text before the caret.
  const PLACES = {
    tags({ value: text, selectionStart: caret }) {
      const value = text.replaceAll("\n", ",");
      const start = value.slice(0, caret).lastIndexOf(",") + 1;
      const comma = value.indexOf(",", caret);
      const end = comma < 0 ? value.length : comma + 1;
      return { start, end, text: fold(value.slice(start, caret).trim()) };
    },
    search({ value, selectionStart: caret }) {
      const term = /(?:^|[\s(-])#("?)([^"\s]*)$/.exec(value.slice(0, caret));
      const start = term ? caret - term[2].length - term[1].length : caret;
      return { start, end: caret, text: term ? fold(term[2]) : "" };
    },
  };
  const FORMS = {
    tags: (tag, start) => (start ? " " : "") + tag + ", ",
    search: (tag) => (/[\s()"]/.test(tag) ? `"${tag}" ` : tag + " "),
  };

  function complete(input) {
    const kind = input.dataset.completes;
    const id = "completion-of-" + input.id;
    const list = make("ul", { className: "completion", id, role: "listbox", ariaLabel: "Known tags" });
    input.after(list);
    const isCombobox = input.matches("input"); // A field of several lines cannot have the role.
    if (isCombobox) input.role = "combobox";
    else input.style.fieldSizing = "content"; // Validators do not know this.
    input.ariaAutoComplete = "list";
    input.setAttribute("aria-controls", list.id);
    const selected = () => find("[aria-selected=true]", list);
    const place = () => PLACES[kind](input);

    function select(item) {
      selected()?.setAttribute("aria-selected", "false");
      item.setAttribute("aria-selected", "true");
      item.scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", item.id);
    }

    function show(found) {
      list.replaceChildren(...found.map(({ tag, count }, number) =>
        make("li", { id: `${id}-${number}`, role: "option" }, make("bdi", {}, tag), make("span", {}, String(count)))));
      list.hidden = !found.length;
      if (isCombobox) input.ariaExpanded = String(!list.hidden);
      input.removeAttribute("aria-activedescendant");
      if (found.length) select(list.firstChild);
    }

    function insert(item) {
      const { start, end } = place();
      input.setRangeText(FORMS[kind](item.firstChild.textContent, start), start, end, "end");
      show([]);
    }

    // The unused tags that contain the text: first the text itself, then tags that begin with it.
    function matches(all, text) {
      const typed = kind === "tags" ? input.value.split(",") : [];
      const used = new Set(typed.map((tag) => fold(tag.trim())));
      const rank = (tag) => Number(tag !== text) + Number(!tag.startsWith(text)); // 0, 1 or 2
      const found = all
        .filter(({ folded }) => folded.includes(text) && (folded === text || !used.has(folded)))
        .sort((one, other) => rank(one.folded) - rank(other.folded));
      if (found.length === 1 && found[0].tag === text) return [];
      return found.slice(0, MAX_SUGGESTIONS);
    }

    async function suggest() {
      const { text } = place();
      const found = text ? matches(await loadTags(), text) : [];
      if (place().text === text && document.activeElement === input) show(found);
    }

    // Only the first focus moves the caret. Later, the user has chosen where it is.
    function prepare() {
      loadTags();
      if (kind !== "tags") return;
      // The default value, because the user has not typed this comma.
      if (input.value.trim()) input.defaultValue = input.value.replace(/[,\s]*$/, ", ");
      input.setSelectionRange(input.value.length, input.value.length);
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
      if (event.isComposing || event.ctrlKey || event.metaKey || event.shiftKey) return;
      if (event.key === "Enter" && kind === "tags") {
        event.preventDefault(); // A field of several lines would get another line.
        if (place().text) await loadTags(); // Then `suggest` shows the tags for what was typed.
        if (list.hidden) input.form.requestSubmit(find("button:not([type])", input.form));
        else insert(selected());
        return;
      }
      if (list.hidden) return;
      const keys = {
        ArrowDown: () => select(selected().nextSibling || list.firstChild),
        ArrowUp: () => select(selected().previousSibling || list.lastChild),
        Enter: () => insert(selected()),
        Tab: () => insert(selected()),
        Escape: () => show([]),
      };
      if (!Object.hasOwn(keys, event.key)) return;
      event.preventDefault();
      keys[event.key]();
    });
  }

  findAll("[data-completes]").forEach(complete);

  // Browsers put the caret before the text of a field that has the focus.
  const focused = find("input[autofocus]:not([type=password])");
  focused?.setSelectionRange(focused.value.length, focused.value.length);

  // --- Acting in the list, without loading a page ---

  const bar = find("#many");
  const boxes = (state = "") => findAll(`:is(.list, .cloud) [type=checkbox]${state}`);
  const focusItem = (item) => item && findAll("h2 a, .notice button, .more, .actions > *", item)
    .find((control) => control.checkVisibility())?.focus();
  let sent = 0, answered = 0; // Numbers of forms.

  // The first click of a double click moves another button under the pointer: ignore the second.
  // Folding a description would hide the text that the user has just selected in it.
  addEventListener("click", (event) => {
    const isFolding = event.target.closest?.("summary") && String(getSelection());
    if (isFolding || event.detail > 1 && event.target.closest?.(".list")) event.preventDefault();
  });

  // Add what would make the HTML 15 % larger: titles for screen readers, and a button of most items.
  function nameControls(item) {
    const title = find("h2 > *", item).textContent;
    const deletion = find("[formaction*='/-/delete/']", item);
    if (deletion && !item.matches(".unread")) {
      const formAction = deletion.formAction.replace("/-/delete/", "/-/unread/");
      const button = make("button", { formAction }, "Mark as unread");
      button.setAttribute("form", "many");
      deletion.parentElement.prepend(button, " ");
    }
    const box = find("[name=selected]", item);
    for (const actions of findAll("[popover]", item)) {
      const onclick = () => { actions.hidePopover(); box.click(); box.focus(); };
      find("a", actions).after(" ", make("button", { type: "button", onclick }, "Select"));
      actions.dataset.title = title;
      actions.style.positionAnchor = "auto"; // The button that opens it. Validators do not know this.
    }
    for (const control of findAll(".more, .actions > *, [name=selected]", item)) {
      control.setAttribute("aria-label", `${control.textContent || "Select"} ${title}`);
    }
    findAll("time", item).forEach(shorten);
  }

  // Write a date of the last week as a number of days, and leave out the present year.
  function shorten(time) {
    const midnight = (date) => new Date(date).setHours(0, 0, 0, 0);
    const days = Math.round((midnight(Date.now()) - midnight(time.dateTime)) / 86_400_000);
    time.title = time.textContent;
    if (days >= 0 && days < 7) time.textContent = ["today", "yesterday"][days] || `${days} days ago`;
    else time.textContent = time.textContent.replace(` ${new Date().getFullYear()}`, "");
  }
  items().forEach(nameControls);
  findAll(".single > :is(.meta, .notice:not(.alert)) time").forEach(shorten);

  const all = make("input", { type: "checkbox" });
  let lastBox; // From which a click with Shift checks the boxes.
  const barStatus = find(".bar [role=status]");
  barStatus?.before(make("label", { className: "all" }, all, "Select all on this page"));

  function showSelection() {
    const count = boxes(":checked").length;
    if (barStatus) barStatus.textContent = count ? `${count} selected` : "";
    all.checked = count > 0 && count === boxes().length;
  }
  all.onchange = () => boxes().forEach((box) => { box.checked = all.checked; });
  addEventListener("change", showSelection);
  addEventListener("click", ({ target, shiftKey }) => {
    if (!boxes().includes(target)) return;
    const [first, last] = [boxes().indexOf(lastBox), boxes().indexOf(target)].sort((a, b) => a - b);
    if (shiftKey && first >= 0) boxes().slice(first, last).forEach((box) => { box.checked = target.checked; });
    lastBox = target;
  });
  addEventListener("reset", () => setTimeout(showSelection));
  showSelection(); // Firefox keeps checked boxes over a reload.

  const warning = (...texts) => make("div", { className: "notice alert", role: "alert", tabIndex: -1 }, ...texts);

  const load = (address, options) => request(address, { headers: { Accept: "text/html" }, ...options })
    .then(async (response) => {
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      find("[autofocus]", page)?.removeAttribute("autofocus"); // It works only while a page is loaded.
      return { response, page };
    })
    .catch(() => null);

  const NOT_SENT = "Not sent, because the service cannot be reached. Try again.";
  const UNKNOWN = "The service did not answer, so this may be done or not. Reload the page to see.";

  // Send a form as its button does. Without an answer, return a page with a notice that says so.
  async function send(form, button) {
    const action = button.getAttribute("formaction") || form.getAttribute("action");
    const body = new FormData(form, button);
    const text = navigator.onLine ? UNKNOWN : NOT_SENT;
    sent += 1;
    const answer = navigator.onLine && await load(new URL(action, location).pathname, { method: "POST", body });
    answered += 1;
    return answer || { response: {}, page: make("div", {}, warning(text)) };
  }

  // Replace an item by its newer version, in which the same is checked and open.
  function replaceItem(old, newer) {
    for (const details of findAll("details", newer)) details.open = Boolean(find("[open]", old));
    for (const box of findAll("[name=selected]", newer)) box.checked = find("[name=selected]", old)?.checked;
    newer.classList.toggle("current", old.matches(".current"));
    if (!old.isEqualNode(newer)) old.replaceWith(newer); // An equal item keeps the focus.
  }

  // Show the list as it is now, and what an answer says. Notices and used forms stay. Return new items.
  async function refresh(said) {
    const number = sent;
    const page = answered === sent && (await load(location.pathname + location.search))?.page;
    // After another form, the page may be out of date. The answer to that form refreshes the list.
    if (!page || number < sent || !find(".list", page)) return [];
    const focused = document.activeElement;
    const index = items().indexOf(focused.closest("li")); // -1 outside of the list
    for (const item of items().filter((old) => !find(".notice", old) && !page.getElementById(old.id))) {
      if (item.matches(".current")) item.nextElementSibling?.classList.add("current");
      item.remove();
    }
    const added = [];
    let next = null;
    for (const newer of findAll(".list > li", page).reverse()) {
      const old = document.getElementById(newer.id);
      nameControls(newer);
      if (!old) added.unshift(find(".list").insertBefore(newer, next));
      else if (!find(".notice", old)) replaceItem(old, newer);
      next = document.getElementById(newer.id);
    }
    for (const part of [".top nav", ".head", ".nothing", ".pages", "#tags-of-list"]) {
      const isInUse = findAll(`${part} :is(input, textarea)`).some(isUsed);
      if (!isInUse) find(part)?.replaceWith(find(part, page));
    }
    findAll("[data-completes]").filter((input) => !input.ariaAutoComplete).forEach(complete);
    find("[name=_shown]", bar).value = find("[name=_shown]", page).value;
    findAll("main > .saved").forEach((old) => old.remove());
    find(".head").after(...findAll("main > .saved", said));
    showSelection();
    if (!focused.checkVisibility()) focusItem(find(".current[id]") || items()[index]);
    return added;
  }

  // Show the notice where the form is, or in place of the first deleted item, and as high as it.
  function showNotice(notice, item) {
    const ids = (notice.dataset.deleted || "").split(" ");
    const [first, ...rest] = ids.map((id) => document.getElementById(`b-${id}`)).filter(Boolean);
    if (first) {
      rest.forEach((deleted) => deleted.remove());
      const place = make("li", { className: first.matches(".current") ? "gone current" : "gone" }, notice);
      place.style.minHeight = `${first.getBoundingClientRect().height}px`;
      first.replaceWith(place);
    } else if (item) item.append(notice);
    else find(".head").after(notice);
    notice.focus();
  }

  // Do what a button does, and show the answer in the list. Return false without a login: then the
  // form is sent as a page, because the login page keeps it.
  async function actInPlace(form, button) {
    const item = button.closest("li");
    const isPuttingBack = form !== bar; // The form is in the notice of a deletion, in place of an item.
    button.closest("[popover]")?.hidePopover?.();
    const { response, page } = await send(form, button);
    if (response.status === 401) return false;
    let outdated = item ? ".notice" : "main > .notice, li:has(> :checked) .notice";
    if (isPuttingBack && !response.ok) outdated = ".notice ~ .notice"; // The user can try again.
    findAll(outdated, item || document).forEach((old) => old.remove());
    if (response.ok && !item) {
      form.reset();
      focusItem(find(".list > .current")); // The bar is hidden now, with the field that had the focus.
    }
    const isOurs = find(".notice, main > .saved", page); // The page of a proxy has neither.
    const notice = isOurs ? find(".notice", page) : warning(UNKNOWN);
    if (notice) showNotice(notice, item);
    const [first] = await refresh(page);
    if (!isPuttingBack || notice) return;
    first?.classList.toggle("current", item.matches(".current"));
    item.remove();
    focusItem(first);
  }

  // Send a form as a page and return true. If the service cannot be reached, the page stays.
  async function sendAsPage(form, button) {
    findAll(".notice", form).forEach((old) => old.remove());
    const file = find("[rel=stylesheet]").getAttribute("href");
    const isReachable = await request(file, { method: "HEAD", cache: "no-store" })
      .then(({ status }) => status < 500, () => false);
    if (!isReachable) {
      form.append(warning(NOT_SENT));
      return false;
    }
    if (form.matches(".editor")) {
      history.replaceState({ sent: String(Date.now()) }, "");
      setting("sessionStorage", SENT, history.state.sent);
    }
    isSentAsPage = true;
    form.requestSubmit(button);
    isSentAsPage = false;
    return true;
  }

  // While a form is sent, it is busy, and a second click or a repeated key does not send it again.
  // The answer to a page replaces it. After 5 seconds without one, the user may have stopped it.
  let isSentAsPage = false;
  const free = (place) => { place.ariaBusy = null; };
  addEventListener("pageshow", () => findAll("[aria-busy]").forEach(free));
  addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.method !== "post" || isSentAsPage) return;
    event.preventDefault();
    const button = event.submitter || find("button", form);
    const place = button.closest("li") || form; // Another item can be deleted at the same time.
    if (place.ariaBusy) return;
    place.ariaBusy = "true";
    const isInPlace = form === bar || form.matches(".gone [action$='/-/restore']");
    const isDone = isInPlace && await actInPlace(form, button) !== false;
    if (!isDone && await sendAsPage(form, button)) setTimeout(free, 5000, place);
    else free(place);
  });

  // A click elsewhere and Escape close an open menu.
  const closeMenus = (clicked) => findAll(".menu[open]").forEach((menu) => { menu.open = menu.contains(clicked); });
  addEventListener("click", ({ target }) => closeMenus(target));

  // --- Keys ---

  const KEYS_OFF = "bookmarks-keys-off";
  function move(step) {
    const list = findAll(".list > li");
    if (!list.length) return;
    const old = list.findIndex((item) => item.classList.contains("current"));
    const next = list[Math.min(Math.max(old + step, 0), list.length - 1)];
    list[old]?.classList.remove("current");
    next.classList.add("current");
    focusItem(next);
    next.scrollIntoView({ block: "nearest" });
  }

  const isChanged = ({ type, value, defaultValue, checked, defaultChecked }) =>
    (type === "checkbox" ? checked !== defaultChecked : value !== defaultValue);
  const isUsed = (field) => field === document.activeElement || isChanged(field);
  // A key that was meant for a form must do nothing else. A form below a notice was not saved.
  const isInUse = () => find(".notice[role=alert] + .editor")
    || findAll("form[method=post] :is(input:not([type=hidden]), textarea)").some(isUsed);

  // Press a button for all that is checked, or for the current bookmark.
  function press(...texts) {
    const controls = findAll(".list > .current .actions > *");
    if (boxes(":checked").length) controls.unshift(...findAll(".bar button").filter((shown) => shown.checkVisibility()));
    controls.find((control) => texts.includes(control.textContent))?.click();
  }

  function tagCurrent() {
    if (!boxes(":checked").length) find(".list > .current [name=selected]")?.click();
    if (!boxes(":checked").length) return boxes()[0]?.focus();
    if (find("#selected-tags")?.checkVisibility() === false) find("#tagging").showPopover();
    find("#selected-tags, #merged")?.focus();
  }

  // Escape closes what is open, leaves a form in which nothing was typed, or unchecks all.
  function escape({ target }) {
    if (find("dialog[open], .menu[open], :popover-open")) return closeMenus();
    const editor = target.closest?.(".editor:not(.alert + *)"); // A refused form has what was typed.
    if (!editor) return findAll(".bar").forEach((form) => form.reset());
    if (!findAll("input, textarea", editor).some(isChanged)) find(".buttons a", editor)?.click();
  }

  const OWNERS_KEYS = {
    a: ["add", () => find("#add").click()],
    e: ["edit", () => press("Edit")],
    d: ["delete", () => press("Delete")],
    r: ["mark as read or unread", () => press("Mark as read", "Mark as unread")],
    t: ["tag", tagCurrent],
    x: ["select", () => find(".list > .current [name=selected]")?.click()],
  };
  const KEYS = {
    "/": ["search", () => (find("#filter") || find("#q")).focus()],
    j: ["next bookmark", () => move(1)],
    k: ["previous bookmark", () => move(-1)],
    o: ["open in a new tab", () => findAll(".list > .current h2 a").forEach(({ href }) => open(href, "_blank", "noopener"))],
    n: ["next page", () => find("a[rel=next]")?.click()],
    p: ["previous page", () => find("a[rel=prev]")?.click()],
    "?": ["these shortcuts", () => find(".keys").showModal()],
    ...(find("#add") && OWNERS_KEYS), // Visitors' pages do not have this link.
  };

  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented) escape(event);
    const isCommand = event.ctrlKey || event.metaKey;
    if (event.key === "Enter" && isCommand) event.target.closest?.(".editor")?.requestSubmit();
    if (isCommand || event.altKey || event.isComposing) return;
    if (setting("localStorage", KEYS_OFF) || !Object.hasOwn(KEYS, event.key)) return;
    if (event.target.closest?.("form, select, dialog") || isInUse()) return;
    event.preventDefault();
    KEYS[event.key][1]();
  });

  // Speech input can trigger single keys, so users must be able to turn them off (WCAG 2.1.4).
  function keysDialog() {
    const toggle = make("input", { type: "checkbox", checked: !setting("localStorage", KEYS_OFF) });
    toggle.onchange = () => setting("localStorage", KEYS_OFF, toggle.checked ? "" : "yes");
    const list = make("dl", {});
    Object.entries(KEYS).forEach(([key, [what]]) =>
      list.append(make("dt", {}, make("kbd", {}, key)), make("dd", {}, what)));
    const name = "Keyboard shortcuts";
    const form = make("form", { method: "dialog", className: "buttons" },
      make("button", {}, "Close"), make("label", {}, toggle, " Use these shortcuts"));
    return make("dialog", { className: "keys", ariaLabel: name }, make("h2", {}, name), list, form);
  }

  document.body.append(keysDialog());
  find("#more")?.after(make("p", {}, make("button", { type: "button", onclick: KEYS["?"][1] }, "Keyboard shortcuts")));
})();
