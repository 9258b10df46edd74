"use strict";
// Every page works without this: it adds keys, the theme, details in place, and the progress of a job.
(() => {
  const root = document.documentElement;
  try {
    const theme = localStorage.getItem("theme");
    if (theme) root.dataset.theme = theme;
  } catch {
    // Without storage the theme is the system's.
  }
  const byId = (id) => document.getElementById(id);
  const all = (selector) => [...document.querySelectorAll(selector)];
  let busy = false; // a form is on its way: a second key would decide the next record unseen
  addEventListener("pageshow", () => (busy = false));

  function press(element) {
    if (element.matches("input, select, textarea")) element.focus();
    else element.click();
  }
  function typing(event) {
    const field = event.target.closest("input, select, textarea");
    if (field && event.key === "Escape") field.blur();
    else if (field && event.key === "Enter" && field.dataset.enter) byId(field.dataset.enter).click();
    else if (field && event.key === "Enter" && field.id === "reason") field.blur();
    else return Boolean(field);
    event.preventDefault();
    return true;
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
    if (typing(event) || event.repeat || busy) return;
    if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const element = document.querySelector(`[aria-keyshortcuts="${CSS.escape(key)}"]`);
    if (!element) return;
    event.preventDefault();
    press(element);
  });
  document.addEventListener("submit", (event) => {
    if (event.target.method === "dialog") return;
    if (busy) event.preventDefault();
    busy = true;
    const note = event.target.dataset.busy;
    if (note) event.submitter.textContent = note;
  });

  async function load(details) {
    const address = details.dataset.load;
    if (!details.open || !address) return;
    delete details.dataset.load;
    const answer = await fetch(address);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const content = page.getElementById("details-content");
    if (content) details.lastElementChild.replaceWith(content);
  }

  async function watch() {
    const answer = await fetch("/job");
    const now = answer.ok ? await answer.json() : {};
    if (!now || now.state !== "running") return location.reload();
    for (const place of all("[data-shows]")) {
      const value = now[place.dataset.shows];
      const text = typeof value === "number" ? String(Math.floor(value)) : value;
      if (place.textContent !== text) place.textContent = text; // what is the same is not read out again
    }
    setTimeout(() => watch().catch(() => setTimeout(() => location.reload(), 5000)), 1000);
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const time of all("time")) {
      time.textContent = new Date(time.dateTime).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
    }
    byId("theme").addEventListener("click", () => {
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      try {
        localStorage.setItem("theme", root.dataset.theme);
      } catch {
        // It lasts as long as the page.
      }
    });
    for (const button of all("[data-opens]")) button.addEventListener("click", () => byId(button.dataset.opens).showModal());
    for (const details of all("details[data-load]")) details.addEventListener("toggle", () => load(details));
    const job = byId("job");
    if (job && job.dataset.state === "running") setTimeout(() => watch().catch(() => location.reload()), 1000);
  });
})();
