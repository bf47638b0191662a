// Enhancements of the pages, which work fully without JavaScript.
"use strict";
(() => {
  const path = document.documentElement.dataset.path;
  const SCRIPT = new URL(document.currentScript.src).pathname;
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

  const items = () => findAll(".list > li[id]");
  const SENT = "bookmarks-sent"; // The key of the form that was sent last.
  const SAVED = "bookmarks-saved"; // The key of the form that was saved last, and the bookmark's id.
  const SHOWN = "bookmarks-shown"; // The items of the list that was shown last.
  const keyOf = (form) => form.action
    + (find("[name=_opened]", form)?.value || find("[name=uri]", form)?.value || "");
  const [arrival] = performance.getEntriesByType("navigation");
  const sentKey = setting("sessionStorage", SENT);
  setting("sessionStorage", SENT, "");
  const parameters = new URLSearchParams(location.search);
  const targetId = /^#b-([a-z0-9][a-z0-9_-]*)$/.exec(location.hash)?.[1];
  const target = targetId && document.getElementById("b-" + targetId);

  // Say that the form was saved, where its bookmark is or was in the list. The key j goes on there.
  function showSaved() {
    const link = target || !targetId ? [] : [" ", make("a", { href: `${path}/${targetId}` }, "Show it")];
    const saved = status("saved", "Saved.", ...link);
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

  // The service redirects after it has stored a form. A login redirects, too, and once more if it
  // has stored the form that was sent without it.
  const isLogin = sentKey?.startsWith(`${location.origin}${path}/-/login`);
  if (sentKey && arrival?.type === "navigate" && arrival.redirectCount === (isLogin ? 2 : 1)) {
    // Browsers close only windows that a script has opened, such as that of the bookmarklet.
    if (parameters.get("close") === "1") window.close();
    const id = targetId || location.pathname.slice(path.length + 1);
    if (!isLogin) setting("sessionStorage", SAVED, JSON.stringify([sentKey, id]));
    const saved = showSaved();
    addEventListener("pagehide", () => saved.remove());
  }
  target?.classList.add("current");
  addEventListener("pagehide", () => {
    if (find(".list")) setting("sessionStorage", SHOWN, JSON.stringify(items().map(({ id }) => id)));
  });

  // Back shows a form as it was before it was saved. Show the saved bookmark, so that the user does
  // not conflict with it. The state of the history has the key of the form that was sent.
  addEventListener("pageshow", () => {
    const [key, id] = JSON.parse(setting("sessionStorage", SAVED) || "[]");
    const form = find(".editor");
    if (!form || !key || history.state?.sent !== key) return;
    history.replaceState(null, ""); // Browsers keep it if the address stays the same.
    const list = find("[name=_list]", form);
    const query = list ? "?" + new URLSearchParams({ _list: list.value }) : "";
    location.replace(location.origin + `${path}/${id}` + query);
  });

  // The notice of a change belongs to this visit: a reload or a copied address must not repeat it.
  const results = ["changed", "failed", "restored", "erased"].filter((name) => parameters.has(name));
  results.forEach((name) => parameters.delete(name));
  const query = parameters.size ? "?" + parameters : "";
  if (results.length) history.replaceState(null, "", location.pathname + query + location.hash);

  // --- Completion of tags ---

  const MAX_SUGGESTIONS = 6;
  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  let knownTags, areTagsLoaded = false;
  const loadTags = () => knownTags ||= request(path + "/tags.json")
    .then(async (answer) => (await answer.json()).map((known) => ({ ...known, folded: fold(known.tag) })))
    .catch(() => [])
    .finally(() => { areTagsLoaded = true; });

  // In a field for tags, the text between two commas around the caret: its start, end, and text up
  // to the caret. In a search, the text from the # of a term.
  const PLACES = {
    tags({ value: text, selectionStart: caret }) {
      const value = text.replaceAll("\n", ",");
      const start = value.slice(0, caret).lastIndexOf(",") + 1;
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
    const isCombobox = input.matches("input"); // A field of several lines cannot have the role.
    if (isCombobox) input.role = "combobox";
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

    // Show these tags with the first one selected, or hide the list if there are none.
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
      return found.slice(0, MAX_SUGGESTIONS);
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
      if (event.isComposing || event.ctrlKey || event.metaKey || event.shiftKey) return;
      if (event.key === "Enter" && kind === "tags" && place().text && !areTagsLoaded) {
        event.preventDefault(); // Wait for the tags, then do what Enter does once they are shown.
        await loadTags();
        return list.hidden ? input.form.requestSubmit() : insert(selected());
      }
      if (event.key === "Enter" && list.hidden && !isCombobox) {
        event.preventDefault();
        return input.form.requestSubmit();
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
  const focusItem = (item) => item && find("h2 a, .more, .actions > *", item)?.focus();
  const here = location.pathname + location.search;
  let sent = 0, answered = 0; // Numbers of forms.

  // The first click of a double click moves another button under the pointer: ignore the second.
  // Folding a description would hide the text that the user has just selected in it.
  addEventListener("click", (event) => {
    const isFolding = event.target.closest?.("summary") && String(getSelection());
    if (isFolding || event.detail > 1 && event.target.closest?.(".list")) event.preventDefault();
  });

  // Screen readers announce each control with the title of its bookmark. The script adds the titles
  // and a button of most items, because in the HTML they would make the page 15 % larger.
  function nameControls(item) {
    const title = find("h2 > *", item).textContent;
    const deletion = find("[formaction*='/-/delete/']", item);
    if (deletion && !item.matches(".unread")) {
      const formAction = deletion.formAction.replace("/-/delete/", "/-/unread/");
      const button = make("button", { formAction }, "Mark as unread");
      button.setAttribute("form", "many");
      deletion.before(button, " ");
    }
    for (const control of findAll(".more, .actions > *, [name=selected]", item)) {
      control.setAttribute("aria-label", `${control.textContent || "Select"} ${title}`);
    }
    findAll(".actions", item).forEach((actions) => { actions.dataset.title = title; });
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
  findAll(".single > .meta time").forEach(shorten);

  const all = make("input", { type: "checkbox", ariaLabel: "Select all on this page" });
  let lastBox; // From which a click with Shift checks the boxes.
  const barStatus = find(".bar > [role=status]");
  barStatus?.after(make("label", { className: "all" }, all, " All"));

  function showSelection() {
    const count = boxes(":checked").length;
    if (barStatus) barStatus.textContent = count ? `${count} selected` : "";
    all.checked = count > 0 && count === boxes().length;
  }
  addEventListener("change", ({ target }) => {
    if (target === all) boxes().forEach((box) => { box.checked = all.checked; });
    showSelection();
  });
  addEventListener("click", ({ target, shiftKey }) => {
    if (!boxes().includes(target)) return;
    const [first, last] = [boxes().indexOf(lastBox), boxes().indexOf(target)].sort((a, b) => a - b);
    if (shiftKey && first >= 0) boxes().slice(first, last).forEach((box) => { box.checked = target.checked; });
    lastBox = target;
  });
  addEventListener("reset", () => setTimeout(showSelection));
  showSelection(); // Firefox keeps checked boxes over a reload.

  function parse(html) {
    const page = new DOMParser().parseFromString(html, "text/html");
    // The attribute works only while a page is loaded.
    findAll("[autofocus]", page).forEach((element) => { element.autofocus = false; });
    return page;
  }

  const warning = (...texts) => make("div", { className: "notice alert", role: "alert", tabIndex: -1 }, ...texts);

  // Return the response and its page, or null without an answer.
  const load = (address, options) => request(address, { headers: { Accept: "text/html" }, ...options })
    .then(async (response) => ({ response, page: parse(await response.text()) }))
    .catch(() => null);

  const NOT_SENT = "Not sent, because the service cannot be reached. Try again.";
  const UNKNOWN = "The service did not answer, so this may be done or not. Reload the page to see.";

  // Send a form as its button does. Without an answer, return a page with a notice that says so:
  // the form must not be sent again, because the service may have done what it asks for.
  async function send(form, button) {
    const action = button.getAttribute("formaction") || form.getAttribute("action");
    const data = new FormData(form, button);
    const body = form === bar ? new URLSearchParams(data) : data;
    const keepalive = form === bar && String(body).length < 60_000; // Browsers refuse it for more.
    const options = { method: "POST", body, keepalive };
    const isOnline = navigator.onLine;
    sent += 1;
    const answer = isOnline && await load(new URL(action, location).pathname, options);
    answered += 1;
    const text = isOnline ? UNKNOWN : NOT_SENT;
    return answer || { response: {}, page: make("div", {}, warning(text)) };
  }

  // Return the notice of an answer, or null if it is a list that says what was changed. An error of
  // the service names what to correct; a page without `data-path` is of another program, a proxy.
  function noticeOf(page) {
    const notice = find(".notice", page);
    if (notice || find("main > .saved", page)) return notice;
    const reason = find("html[data-path] main > :is(.alert, h1 + p)", page);
    if (!reason) return warning(UNKNOWN);
    findAll("[href^='#']", reason).forEach((link) => link.replaceWith(link.textContent));
    return warning(...reason.childNodes);
  }

  // The parts of the page that change with the list. Two are absent while they are empty: these
  // follow the other element.
  const PARTS = [[".top nav"], [".head"], ["#tags-of-list"], [".nothing", ".head"], [".pages", ".list"]];

  // Replace an item by its newer version, in which the same is checked and open.
  function replaceItem(old, newer) {
    const details = find("details", newer);
    if (details) details.open = Boolean(find("[open]", old));
    for (const box of findAll("[name=selected]", newer)) box.checked = find("[name=selected]", old).checked;
    newer.classList.toggle("current", old.matches(".current"));
    if (!old.isEqualNode(newer)) old.replaceWith(newer); // An equal item keeps the focus.
  }

  // Show the list as it is now, and what the page of an answer says. Notices and used forms stay.
  // Return the items that the list did not have before.
  async function refresh(said) {
    const number = sent;
    const page = answered === sent && (await load(here))?.page;
    // After another form, the page may be out of date. The answer to that form refreshes the list.
    if (!page || number < sent || !find(".list", page)) return [];
    const focused = document.activeElement;
    const index = Math.max(items().indexOf(focused.closest("li")), 0);
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
    for (const [selector, previous] of PARTS) {
      const [old, newer] = [find(selector), findAll(selector, page)];
      if (old && findAll("input, textarea", old).some(isUsed)) continue;
      (old || find(previous))?.after(...newer);
      old?.remove();
    }
    findAll("[data-completes]").filter((input) => !input.ariaAutoComplete).forEach(complete);
    find("[name=_shown]", bar).value = find("[name=_shown]", page).value;
    findAll("main > .saved").forEach((old) => old.remove());
    find(".head").after(...findAll(".saved", said).map((saved) => status("saved", ...saved.childNodes)));
    showSelection();
    if (!focused.checkVisibility()) focusItem(find(".current[id]") || items()[index]);
    return added;
  }

  // Show the notice in place of the bookmarks that were deleted. The place is as high as the first
  // of them, so that nothing else moves. A notice of something else stands where the form is.
  function showNotice(notice, item) {
    const ids = (notice.dataset.deleted || "").split(" ");
    const [first, ...rest] = ids.map((id) => document.getElementById(`b-${id}`)).filter(Boolean);
    if (first) {
      rest.forEach((deleted) => deleted.remove());
      const place = make("li", { className: "gone" }, notice);
      place.classList.toggle("current", first.matches(".current"));
      place.style.minHeight = `${first.getBoundingClientRect().height}px`;
      first.replaceWith(place);
    } else (item ? find(".meta", item) : find(".head")).after(notice);
    notice.focus();
  }

  // Do what a button does, and show the answer in the list. Return false without a login: then the
  // form is sent as a page, because the login page keeps it.
  async function actInPlace(form, button) {
    const item = button.closest("li");
    button.closest("[popover]")?.hidePopover?.();
    const { response, page } = await send(form, button);
    if (response.status === 401) return false;
    const notice = noticeOf(page);
    const stale = item ? ".notice" : "main > .notice, li:has(> :checked) .notice";
    findAll(stale, item || document).forEach((old) => old.remove());
    if (response.ok && !item) {
      form.reset();
      focusItem(find(".list > .current")); // The bar is hidden now, with the field that had the focus.
    }
    if (notice) showNotice(notice, item);
    await refresh(page);
  }

  // Put bookmarks back in place of their notice.
  async function putBack(form, button) {
    const place = form.closest("li");
    const { response, page } = await send(form, button);
    if (response.status === 401) return false;
    findAll(".notice ~ .notice", place).forEach((old) => old.remove());
    const notice = noticeOf(page);
    if (notice) {
      if (response.ok) place.replaceChildren(notice);
      else place.append(notice);
      notice.focus();
    }
    const [first] = await refresh(page);
    if (notice) return;
    first?.classList.toggle("current", place.matches(".current"));
    place.remove();
    focusItem(first);
  }

  // Send a form as a page, unless the service does not answer a request for a file: then the page
  // with all that was typed stays. Return whether it is sent.
  async function sendAsPage(form, button) {
    findAll(".not-sent", form).forEach((old) => old.remove());
    const isReachable = await request(SCRIPT, { method: "HEAD", cache: "no-store" })
      .then(({ status }) => status < 500, () => false);
    if (!isReachable) {
      const notice = warning(NOT_SENT);
      notice.classList.add("not-sent");
      form.append(notice);
      return false;
    }
    const key = keyOf(form);
    setting("sessionStorage", SENT, key);
    history.replaceState({ sent: key }, "");
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
    const isPutBack = form.closest(".gone") && form.action.endsWith("/-/restore");
    const act = form === bar ? actInPlace : isPutBack ? putBack : null;
    const isDone = act && await act(form, button) !== false;
    if (!isDone && await sendAsPage(form, button)) setTimeout(free, 5000, place);
    else free(place);
  });

  // --- Menus ---

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
    find("h2 a, .notice button, .more, .actions a", next)?.focus();
    next.scrollIntoView({ block: "nearest" });
  }

  // Whether a form has unsaved values: a key that was meant for it must do nothing else. A form
  // below an alert was sent, but not saved.
  // The first focus writes a comma behind the tags.
  const isChanged = ({ type, name, value, defaultValue, checked, defaultChecked }) => {
    if (type === "checkbox") return checked !== defaultChecked;
    return (name === "tags" ? value.replace(/[,\s]+$/, "") : value) !== defaultValue;
  };
  const isUsed = (field) => field === document.activeElement || isChanged(field);
  const isInUse = () => find(".alert + .editor")
    || findAll("form[method=post] :is(input:not([type=hidden]), textarea)").some(isUsed);
  const clickCurrent = (...texts) => findAll(".list > .current .actions > *")
    .find((control) => texts.includes(control.textContent))?.click();

  function tagCurrent() {
    if (!boxes(":checked").length) find(".list > .current [name=selected]")?.click();
    if (!boxes(":checked").length) return;
    if (!find("#selected-tags").checkVisibility()) find("#tagging").showPopover();
    find("#selected-tags").focus();
  }

  // Escape closes what is open, leaves a form in which nothing was typed, or unchecks all.
  function escape({ target }) {
    if (find("dialog[open], .menu[open], :popover-open")) return closeMenus();
    const editor = target.closest?.(".editor");
    if (!editor) return findAll(".bar").forEach((form) => form.reset());
    const isTyped = findAll("input, textarea", editor).some(isChanged);
    if (!isTyped) find(".buttons a", editor)?.click();
  }

  const KEYS = {
    "/": ["search", () => find("#q").focus()],
    j: ["next bookmark", () => move(1)],
    k: ["previous bookmark", () => move(-1)],
    o: ["open in a new tab", () => open(find(".list > .current h2 a").href, "_blank", "noopener")],
    n: ["next page", () => find("a[rel=next]")?.click()],
    p: ["previous page", () => find("a[rel=prev]")?.click()],
    "?": ["these keys", () => find(".keys").showModal()],
  };
  const OWNERS_KEYS = {
    a: ["add", () => find("#add").click()],
    e: ["edit", () => clickCurrent("Edit")],
    d: ["delete", () => clickCurrent("Delete")],
    r: ["mark as read or unread", () => clickCurrent("Mark as read", "Mark as unread")],
    t: ["tag", tagCurrent],
    x: ["select", () => find(".list > .current [name=selected]")?.click()],
  };
  // Visitors' pages do not have this link.
  if (find("#add")) Object.assign(KEYS, OWNERS_KEYS);

  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented) escape(event);
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.target.closest?.(".editor")?.requestSubmit();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (setting("localStorage", KEYS_OFF) || !Object.hasOwn(KEYS, event.key)) return;
    if (event.target.closest?.("form, select, dialog") || isInUse()) return;
    event.preventDefault();
    KEYS[event.key][1]();
  });

  // Speech input can trigger single keys, so users must be able to turn them off (WCAG 2.1.4).
  function keysDialog() {
    const toggle = make("button", { type: "button" });
    const set = (...value) => {
      toggle.textContent = `Turn keys ${setting("localStorage", KEYS_OFF, ...value) ? "on" : "off"}`;
    };
    toggle.onclick = () => set(setting("localStorage", KEYS_OFF) ? "" : "yes");
    set();
    const rows = Object.entries(KEYS).flatMap(([key, [what]]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, what)]);
    const close = make("form", { method: "dialog", className: "buttons" }, toggle, make("button", {}, "Close"));
    return make("dialog", { className: "keys", ariaLabel: "Keys" }, make("h2", {}, "Keys"), make("dl", {}, ...rows), close);
  }

  const dialog = document.body.appendChild(keysDialog());
  const opener = make("button", { type: "button", onclick: () => dialog.showModal() }, "Keys");
  find("#more")?.after(make("p", {}, opener));
})();
